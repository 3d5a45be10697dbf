//! Reading the body of a request, within its limit, and reading away what is refused.
//!
//! A client that still sends when the connection is closed gets a broken pipe in place of the answer. So what is
//! refused is read away, up to as much again as is allowed, before the connection goes.

use std::{
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body::Body;

use super::body::Silence;

/// The whole body as it arrives; no more of it is read than the limit allows.
///
/// The body is boxed: one that is refused goes on in another task.
pub(super) struct Read<B> {
    body: Option<Pin<Box<B>>>,
    limit: usize,
    patience: Option<Duration>,
    /// Set while nothing comes.
    silence: Option<Silence>,
    first: Bytes,
    all: BytesMut,
}

/// How long a refused body is read away.
const AWAY_WITHIN: Duration = Duration::from_secs(10);

/// Reads a refused body away in a task of its own, while the answer is on its way.
pub(super) fn read_away<B>(body: B, limit: usize)
where
    B: Body + Send + 'static,
{
    if body.is_end_stream() {
        return;
    }
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return;
    };
    let read = async move {
        let mut body = pin!(body);
        let mut left = limit.saturating_mul(2);
        while let Some(Ok(frame)) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            let len = frame.data_ref().map_or(0, Buf::remaining);
            // What is larger still is not worth it.
            left = match left.checked_sub(len) {
                Some(left) => left,
                None => return,
            };
        }
    };
    runtime.spawn(tokio::time::timeout(AWAY_WITHIN, read));
}

pub(super) enum ReadError {
    TooLarge,
    /// Nothing came for too long.
    TooSlow,
    /// The client broke off.
    Broken,
}

impl<B> Read<B> {
    pub(super) fn new(body: B, limit: usize, patience: Option<Duration>) -> Self {
        Self {
            body: Some(Box::pin(body)),
            limit,
            patience,
            silence: None,
            first: Bytes::new(),
            all: BytesMut::new(),
        }
    }
}

impl<B: Body + Send + 'static> Future for Read<B> {
    type Output = Result<Bytes, ReadError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        loop {
            let Some(body) = &mut this.body else {
                return Poll::Pending;
            };
            let frame = match body.as_mut().poll_frame(cx) {
                Poll::Ready(frame) => frame,
                Poll::Pending => {
                    let Some(limit) = this.patience else {
                        return Poll::Pending;
                    };
                    let silence = this.silence.get_or_insert_with(|| Silence::new(limit));
                    ready!(silence.poll(cx));
                    return Poll::Ready(Err(ReadError::TooSlow));
                }
            };
            this.silence = None;
            match frame {
                None => break,
                Some(Err(_)) => return Poll::Ready(Err(ReadError::Broken)),
                Some(Ok(frame)) => {
                    let Ok(mut data) = frame.into_data() else { continue };
                    let len = data.remaining();
                    if this.first.len() + this.all.len() + len > this.limit {
                        if let Some(body) = this.body.take() {
                            read_away(body, this.limit);
                        }
                        return Poll::Ready(Err(ReadError::TooLarge));
                    }
                    // A body that came in one piece is not copied.
                    if this.first.is_empty() && this.all.is_empty() {
                        this.first = data.copy_to_bytes(len);
                    } else {
                        this.all.put(std::mem::take(&mut this.first));
                        this.all.put(data);
                    }
                }
            }
        }
        Poll::Ready(Ok(if this.all.is_empty() {
            std::mem::take(&mut this.first)
        } else {
            this.all.split().freeze()
        }))
    }
}
