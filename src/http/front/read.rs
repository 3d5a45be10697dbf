//! Reading the body of a request, within its limit.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body::Body;
use pin_project::pin_project;

use super::body::Silence;

/// The whole body as it arrives; no more of it is read than the limit allows.
#[pin_project]
pub(super) struct Read<B> {
    #[pin]
    body: B,
    limit: usize,
    patience: Option<Duration>,
    /// Set while nothing comes.
    silence: Option<Silence>,
    first: Bytes,
    all: BytesMut,
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
            body,
            limit,
            patience,
            silence: None,
            first: Bytes::new(),
            all: BytesMut::new(),
        }
    }
}

impl<B: Body> Future for Read<B> {
    type Output = Result<Bytes, ReadError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let frame = match this.body.as_mut().poll_frame(cx) {
                Poll::Ready(frame) => frame,
                Poll::Pending => {
                    let Some(limit) = *this.patience else {
                        return Poll::Pending;
                    };
                    let silence = this.silence.get_or_insert_with(|| Silence::new(limit));
                    ready!(silence.poll(cx));
                    return Poll::Ready(Err(ReadError::TooSlow));
                }
            };
            *this.silence = None;
            match frame {
                None => break,
                Some(Err(_)) => return Poll::Ready(Err(ReadError::Broken)),
                Some(Ok(frame)) => {
                    let Ok(mut data) = frame.into_data() else { continue };
                    let len = data.remaining();
                    if this.first.len() + this.all.len() + len > *this.limit {
                        return Poll::Ready(Err(ReadError::TooLarge));
                    }
                    // A body that came in one piece is not copied.
                    if this.first.is_empty() && this.all.is_empty() {
                        *this.first = data.copy_to_bytes(len);
                    } else {
                        this.all.put(std::mem::take(this.first));
                        this.all.put(data);
                    }
                }
            }
        }
        Poll::Ready(Ok(if this.all.is_empty() {
            std::mem::take(this.first)
        } else {
            this.all.split().freeze()
        }))
    }
}
