//! Messages made here, not received.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{Asked, Id, Kind, Message, Payload, PayloadError};

/// The `error` of a JSON-RPC error answer.
///
/// ```
/// use mcp_interceptors::message::ErrorObject;
///
/// let error = ErrorObject::new(-32602, "no such tool").with_data(&serde_json::json!({"kind": "blocked"}));
/// assert_eq!(error.code(), -32602);
/// ```
#[derive(Debug, Clone, Serialize)]
pub struct ErrorObject {
    code: i64,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Box<RawValue>>,
}

impl ErrorObject {
    /// An error with a code and a text.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// Adds `data`. What does not serialise is left out.
    #[must_use]
    pub fn with_data<T: Serialize + ?Sized>(mut self, data: &T) -> Self {
        self.data = to_raw_value(data).ok();
        self
    }

    /// The code.
    #[must_use]
    pub fn code(&self) -> i64 {
        self.code
    }

    /// The text.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl Message {
    /// A request. `params` must serialise to an object.
    ///
    /// # Errors
    ///
    /// When `params` does not serialise, or not to an object.
    pub fn request<T: Serialize + ?Sized>(id: &Id, method: &str, params: &T) -> Result<Self, PayloadError> {
        let method = serde_json::Value::from(method);
        built(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{}}}"#,
            Payload::from_value(params)?.as_json()
        ))
    }

    /// A request without `params`.
    #[must_use]
    pub fn bare_request(id: &Id, method: &str) -> Self {
        let method = serde_json::Value::from(method);
        sound(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}}}"#))
    }

    /// A notification. `params` must serialise to an object.
    ///
    /// # Errors
    ///
    /// When `params` does not serialise, or not to an object.
    pub fn notification<T: Serialize + ?Sized>(method: &str, params: &T) -> Result<Self, PayloadError> {
        let method = serde_json::Value::from(method);
        built(format!(
            r#"{{"jsonrpc":"2.0","method":{method},"params":{}}}"#,
            Payload::from_value(params)?.as_json()
        ))
    }

    /// A response with a result.
    ///
    /// # Errors
    ///
    /// When `result` does not serialise.
    pub fn response<T: Serialize + ?Sized>(id: &Id, result: &T) -> Result<Self, PayloadError> {
        let result = Payload::from_value(result)?;
        built(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#,
            result.as_json()
        ))
    }

    /// An error answer; without an id it says `"id":null`, as JSON-RPC has it for what could not be read.
    #[must_use]
    pub fn error(id: Option<&Id>, error: &ErrorObject) -> Self {
        // An error object always serialises.
        let error = serde_json::to_string(error).unwrap_or_default();
        sound(format!(
            r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#,
            id.map_or("null", Id::as_json)
        ))
    }

    /// The answer to this request, in its exchange: a result, or an error.
    ///
    /// # Errors
    ///
    /// When the result does not serialise.
    pub fn answer<T: Serialize + ?Sized>(
        &self,
        answer: Result<&T, &ErrorObject>,
    ) -> Result<Self, PayloadError> {
        let id = self.id();
        let mut message = match (answer, &id) {
            (Ok(result), Some(id)) => Self::response(id, result)?,
            (Ok(_), None) => return Err(PayloadError::Decode("what has no id has no answer".into())),
            (Err(error), id) => Self::error(id.as_ref(), error),
        };
        message = message.with_exchange(Arc::clone(self.exchange()));
        Ok(match Asked::of(self) {
            Some(asked) => message.with_in_reply_to(Arc::new(asked)),
            None => message,
        })
    }

    /// The error answer to this request, in its exchange.
    #[must_use]
    pub fn answer_error(&self, error: &ErrorObject) -> Self {
        let answer = Self::error(self.id().as_ref(), error).with_exchange(Arc::clone(self.exchange()));
        match Asked::of(self) {
            Some(asked) => answer.with_in_reply_to(Arc::new(asked)),
            None => answer,
        }
    }

    /// Asks for what nobody has asked for: the stream of notifications and server requests that belong to no
    /// call. HTTP's GET, or what a stdio front opens at its start.
    #[must_use]
    pub fn listen() -> Self {
        Self::without_json(Kind::Listen)
    }

    /// Says that a session or a connection is over: HTTP's DELETE, a closed pipe.
    #[must_use]
    pub fn end() -> Self {
        Self::without_json(Kind::End)
    }
}

fn built(json: String) -> Result<Message, PayloadError> {
    Message::parse(json).map_err(|error| PayloadError::Decode(error.to_string().into()))
}

/// Text put together from an id, an encoded string and serialised JSON: it is always a message.
fn sound(json: String) -> Message {
    Message::parse(json).unwrap_or_else(|_| Message::end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_are_built_with_the_exact_id() {
        let id = Id::from_json("1.0").unwrap();
        let message = Message::request(&id, "tools/call", &json!({"name": "a"})).unwrap();
        assert_eq!(
            message.as_json(),
            r#"{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"a"}}"#
        );
        assert_eq!(
            Message::bare_request(&id, "ping").as_json(),
            r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#
        );
        let answer = message.answer(Ok(&json!({}))).unwrap();
        assert_eq!(answer.as_json(), r#"{"jsonrpc":"2.0","id":1.0,"result":{}}"#);
        assert_eq!(answer.in_reply_to().unwrap().method(), "tools/call");
        let error = ErrorObject::new(-32600, "say \"no\"");
        assert_eq!(
            Message::error(None, &error).as_json(),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"say \"no\""}}"#
        );
    }

    #[test]
    fn params_that_are_no_object_are_refused() {
        assert!(Message::request(&Id::from(1), "m", &[1]).is_err());
        assert!(Message::notification("m", "text").is_err());
    }
}
