//! Ids, progress tokens, `cancelled.requestId` and `subscriptionId`: rewritten together, by splice.

use serde_json::value::RawValue;

use crate::message::{Id, Message, PayloadError};

const TOKEN: &str = "/progressToken";
const REQUEST_ID: &str = "/requestId";
const SUBSCRIPTION_ID: &str = "/_meta/io.modelcontextprotocol~1subscriptionId";

/// The request as the server sees it. A token that is neither string nor number is none: it passes as it is.
pub(super) fn request(message: Message, minted: &Id) -> Result<Message, PayloadError> {
    let has_token = token_of_request(&message).is_some();
    let message = message.with_id(minted)?;
    if has_token {
        message.with_progress_token(minted.as_json())
    } else {
        Ok(message)
    }
}

pub(super) fn token_of_request(message: &Message) -> Option<Id> {
    message.progress_token().and_then(Id::from_json)
}

pub(super) fn token(progress: &Message) -> Option<Id> {
    member(progress, TOKEN)
}

pub(super) fn request_id(cancelled: &Message) -> Option<Id> {
    member(cancelled, REQUEST_ID)
}

pub(super) fn subscription_id(message: &Message) -> Option<Id> {
    member(message, SUBSCRIPTION_ID)
}

pub(super) fn with_token(progress: Message, token: &Id) -> Result<Message, PayloadError> {
    replace(progress, TOKEN, token)
}

pub(super) fn with_request_id(cancelled: Message, id: &Id) -> Result<Message, PayloadError> {
    replace(cancelled, REQUEST_ID, id)
}

pub(super) fn with_subscription_id(message: Message, id: &Id) -> Result<Message, PayloadError> {
    replace(message, SUBSCRIPTION_ID, id)
}

/// The line that tells the server that nobody wants a reply any more.
pub(super) fn cancel_line(minted: &Id) -> Vec<u8> {
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{minted}}}}}\n")
        .into_bytes()
}

fn member(message: &Message, pointer: &str) -> Option<Id> {
    Id::from_json(message.payload().peek(pointer)?.raw())
}

fn replace(message: Message, pointer: &str, id: &Id) -> Result<Message, PayloadError> {
    let raw = RawValue::from_string(id.as_json().to_owned())
        .map_err(|_| PayloadError::Decode("an id is always JSON".into()))?;
    let mut payload = message.payload().clone();
    payload.replace(pointer, &*raw)?;
    message.with_payload(&payload)
}
