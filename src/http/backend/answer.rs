//! From an HTTP response to a reply.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt;
use tokio::time::Instant;

use super::{
    Limits,
    events::EventBody,
    send::{Incoming, by},
};
use crate::{
    BoxError,
    http::headers::{Media, is_encoded, media},
    message::{Exchange, Kind, Message},
    proxy::BackendError,
    reply::{Body, Head, Opaque, Reply},
};

/// What a backend answered.
pub(super) enum Answer {
    /// A stream of events that has just begun.
    Stream(Head, EventBody),
    /// All of it.
    Reply(Reply),
}

pub(super) async fn read(
    response: http::Response<Incoming>,
    kind: Kind,
    exchange: &Arc<Exchange>,
    limits: Limits,
    deadline: Option<Instant>,
) -> Result<Answer, BoxError> {
    let (parts, body) = response.into_parts();
    let status = parts.status;
    let media = media(&parts.headers);
    let encoded = is_encoded(&parts.headers);
    let mut head = Head::new(status).with_headers(parts.headers);
    let whole = |body, head| Ok(Answer::Reply(Reply::new(body).with_head(head)));
    let failed = || {
        let reason = format!("the backend answered with HTTP status {}", status.as_u16());
        Err(BackendError::unavailable(reason).into())
    };

    if status.is_success() && !matches!(kind, Kind::Request | Kind::Listen) {
        if media != Media::EventStream {
            discard(body).await;
        }
        if kind != Kind::End {
            head.status = http::StatusCode::ACCEPTED;
        }
        return whole(Body::Accepted, head);
    }
    match media {
        Media::EventStream if status.is_success() && !encoded => {
            let events = EventBody::new(body, Arc::clone(exchange), limits);
            Ok(Answer::Stream(head, events))
        }
        Media::Json if !encoded => {
            let bytes = by(deadline, collect(body, limits.body)).await??;
            match Message::parse_within(bytes.clone(), limits.body) {
                Ok(message) => whole(Body::One(message.with_exchange(Arc::clone(exchange))), head),
                Err(error) if status.is_success() => {
                    let reason = format!("the backend's answer is no message: {error}");
                    Err(BackendError::garbage(reason).into())
                }
                Err(_) if status.is_server_error() => failed(),
                Err(_) => whole(Body::Opaque(bytes.into()), head),
            }
        }
        _ if status.is_server_error() => failed(),
        _ => whole(Body::Opaque(Opaque::stream(body.into_data_stream())), head),
    }
}

async fn collect(mut body: Incoming, limit: usize) -> Result<Bytes, BackendError> {
    let too_large = || BackendError::garbage(format!("the backend's answer is larger than {limit} bytes"));
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large());
    }
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            BackendError::unavailable("the backend broke off in the middle of its answer").with_source(error)
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + all.len() + data.len() > limit {
            return Err(too_large());
        }
        // An answer that came in one piece is not copied.
        if first.is_empty() && all.is_empty() {
            first = data;
        } else {
            all.extend_from_slice(&first);
            all.extend_from_slice(&data);
            first = Bytes::new();
        }
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}

/// Reads what is left of a body nobody wants, so that its connection can be used again; within bounds, since
/// the peer decides how much that is.
async fn discard(mut body: Incoming) {
    if body.is_end_stream() {
        return;
    }
    let rest = async {
        let mut seen = 0;
        while let Some(Ok(frame)) = body.frame().await {
            seen += frame.data_ref().map_or(0, Bytes::len);
            if seen > 64 * 1024 {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), rest).await;
}
