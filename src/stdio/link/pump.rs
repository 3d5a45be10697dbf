//! The two tasks of a link.

use std::{pin::Pin, sync::Arc};

use futures::future::{Either, select};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::Shared;
use crate::stdio::lines::{Line, Lines};

/// Reads lines until there are none. It waits for nothing but the pipe.
pub(super) async fn read<R: AsyncRead>(shared: Arc<Shared>, reader: Pin<Box<R>>) {
    let mut lines = Lines::new(reader, shared.options.max_message_bytes);
    let gone = shared.gone.clone();
    let mut gone = std::pin::pin!(gone.cancelled());
    loop {
        let next = std::pin::pin!(lines.next());
        match select(next, gone.as_mut()).await {
            Either::Left((Ok(Some(Line::Whole(line))), _)) => shared.take_line(&line),
            Either::Left((Ok(Some(Line::TooLong(start))), _)) => shared.take_oversized(&start),
            Either::Left((Ok(None), _)) => break,
            Either::Left((Err(error), _)) => {
                tracing::debug!(server = %shared.options.name, %error, "reading from the server failed");
                break;
            }
            Either::Right(_) => return,
        }
    }
    shared.die(shared.options.gone);
}

/// Writes what is queued until the link closes, then ends the server's input.
pub(super) async fn write<W: AsyncWrite>(shared: Arc<Shared>, mut writer: Pin<Box<W>>) {
    let gone = shared.gone.clone();
    {
        let writing = std::pin::pin!(write_all(&shared, &mut writer));
        if let Either::Left((Err(error), _)) = select(writing, std::pin::pin!(gone.cancelled())).await {
            tracing::debug!(server = %shared.options.name, %error, "writing to the server failed");
            // What it wrote before it went is still read, so calls may yet be answered; new ones fail.
            shared.lock().broken = true;
            shared.budget.close();
        }
    }
    drop(writer);
    let lingering = std::pin::pin!(tokio::time::sleep(shared.options.linger));
    select(std::pin::pin!(gone.cancelled()), lingering).await;
    shared.die(shared.options.gone);
}

async fn write_all<W: AsyncWrite>(shared: &Shared, writer: &mut Pin<Box<W>>) -> std::io::Result<()> {
    loop {
        let (frame, closing) = {
            let mut state = shared.lock();
            (state.out.pop(), state.closing)
        };
        match frame {
            Some(frame) => {
                writer.write_all(&frame.line).await?;
                drop(frame.permit);
            }
            None => {
                writer.flush().await?;
                if closing {
                    return writer.shutdown().await;
                }
                shared.work.notified().await;
            }
        }
    }
}
