//! The byte stream of a connection, with a deadline for every wait.
//!
//! hyper sees complete heads only, so it needs no timeouts of its own: a client that drips costs a small buffer and one
//! timer.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep};

use crate::connection_state::ConnectionState;
use crate::metrics::{GaugeGuard, Metrics};
use crate::read_buffer::{ReadAction, ReadBuffer};
use crate::refusal::RefusalReason;
use crate::settings::ConnectionLimits;
use crate::shutdown::ShutdownSignal;

/// Bytes read at once while a head is incomplete.
const READ_BYTES: usize = 4 * 1024;

/// After the last byte of an answer, input is discarded for so long and so far. If the connection were closed at
/// once, the client's system would drop the answer unread.
const LINGER: Duration = Duration::from_millis(500);
const LINGER_BYTES: usize = 1024 * 1024;

/// The input that has a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AwaitedInput {
    FirstByte,
    Head,
    NextHead,
}

pub(super) struct GuardedStream {
    socket: TcpStream,
    buffer: ReadBuffer,
    state: Arc<ConnectionState>,
    limits: Arc<ConnectionLimits>,
    metrics: Arc<Metrics>,
    read_deadline: Option<(AwaitedInput, Pin<Box<Sleep>>)>,
    /// Runs while the client accepts none of the bytes that wait for it.
    write_deadline: Option<Pin<Box<Sleep>>>,
    linger: Option<(Pin<Box<Sleep>>, usize)>,
    /// Ends an upgraded connection, which hyper does not watch any more.
    closed: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    shutdown: ShutdownSignal,
    _counted: GaugeGuard,
    _permit: OwnedSemaphorePermit,
}

impl GuardedStream {
    pub(super) fn new(
        socket: TcpStream,
        state: Arc<ConnectionState>,
        limits: Arc<ConnectionLimits>,
        metrics: Arc<Metrics>,
        shutdown: ShutdownSignal,
        permit: OwnedSemaphorePermit,
    ) -> GuardedStream {
        GuardedStream {
            socket,
            buffer: ReadBuffer::new(),
            state,
            limits,
            read_deadline: None,
            write_deadline: None,
            linger: None,
            closed: None,
            shutdown,
            _counted: metrics.connection_opened(),
            metrics,
            _permit: permit,
        }
    }

    /// Buffers more of a head. Returns true if there will be none: the client is gone, or was silent for too long.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let mut space = [0; READ_BYTES];
        let mut part = ReadBuf::new(&mut space);
        if let Poll::Ready(read) = Pin::new(&mut self.socket).poll_read(cx, &mut part) {
            read?;
            self.buffer.append(part.filled());
            return Poll::Ready(Ok(part.filled().is_empty()));
        }
        match ready!(self.poll_read_deadline(cx)) {
            AwaitedInput::Head => {
                self.state.set_bad_head(RefusalReason::HeadTooSlow);
                self.buffer.replace_head();
                Poll::Ready(Ok(false))
            }
            AwaitedInput::FirstByte => {
                self.metrics.refused("first_byte_too_slow");
                Poll::Ready(Ok(true))
            }
            AwaitedInput::NextHead => Poll::Ready(Ok(true)),
        }
    }

    /// Ready when the client was silent for too long.
    fn poll_read_deadline(&mut self, cx: &mut Context<'_>) -> Poll<AwaitedInput> {
        // A client that waits for an answer, or is taking one, is not idle.
        if self.state.is_answering() || self.write_deadline.is_some() {
            self.read_deadline = None;
            return Poll::Pending;
        }
        let (awaited, limit) = match (self.buffer.is_in_head(), self.buffer.had_head()) {
            (true, _) => (AwaitedInput::Head, self.limits.head),
            (false, false) => (AwaitedInput::FirstByte, self.limits.first_byte),
            (false, true) => (AwaitedInput::NextHead, self.limits.idle),
        };
        // A head has one deadline, however many pieces it arrives in.
        let running = self.read_deadline.take().filter(|(running, _)| *running == awaited);
        let (_, timer) =
            self.read_deadline.insert(running.unwrap_or_else(|| (awaited, Box::pin(sleep(limit)))));
        timer.as_mut().poll(cx).map(|()| awaited)
    }

    /// Reads into hyper's buffer, at most `most` bytes.
    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
        most: usize,
    ) -> Poll<io::Result<()>> {
        let room = most.min(buffer.remaining());
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(room));
        let read = Pin::new(&mut self.socket).poll_read(cx, &mut part);
        let count = part.filled().len();
        buffer.advance(count);
        self.buffer.note_body_bytes(count);
        if read.is_pending() && self.state.is_upgraded() { self.poll_closed(cx).map(Ok) } else { read }
    }

    /// Ready when the server stops waiting for upgraded connections.
    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let shutdown = &self.shutdown;
        let closed = self.closed.get_or_insert_with(|| {
            let mut shutdown = shutdown.clone();
            Box::pin(async move { shutdown.closed().await })
        });
        closed.as_mut().poll(cx)
    }

    /// Fails a write when the client has accepted nothing for too long.
    fn check_write_deadline<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.write_deadline = None;
            return written;
        }
        let limit = self.limits.write_stall;
        let deadline = self.write_deadline.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(deadline.as_mut().poll(cx));
        self.metrics.refused("reader_too_slow");
        tracing::info!("closed a connection whose client takes nothing");
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for GuardedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            let action = match this.buffer.next_action(&this.limits) {
                Ok(action) => action,
                Err(reason) => {
                    this.state.set_bad_head(reason);
                    continue;
                }
            };
            match action {
                ReadAction::PassBuffered => {
                    this.read_deadline = None;
                    this.buffer.pass(buffer);
                    return Poll::Ready(Ok(()));
                }
                ReadAction::PassThrough(most) => return this.poll_body(cx, buffer, most),
                ReadAction::ReadHead => {
                    if ready!(this.poll_head(cx))? {
                        return Poll::Ready(Ok(()));
                    }
                }
                ReadAction::Discard => {
                    let mut space = [0; READ_BYTES];
                    let mut discarded = ReadBuf::new(&mut space);
                    ready!(Pin::new(&mut this.socket).poll_read(cx, &mut discarded))?;
                    if discarded.filled().is_empty() {
                        return Poll::Ready(Ok(()));
                    }
                }
            }
        }
    }
}

impl AsyncWrite for GuardedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.check_write_deadline(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, slices);
        self.check_write_deadline(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.linger.is_none() {
            ready!(Pin::new(&mut this.socket).poll_shutdown(cx))?;
            if !this.buffer.expects_more() {
                return Poll::Ready(Ok(()));
            }
            this.linger = Some((Box::pin(sleep(LINGER)), LINGER_BYTES));
        }
        let Some((deadline, left)) = &mut this.linger else { return Poll::Ready(Ok(())) };
        let mut space = [0; READ_BYTES];
        while *left > 0 {
            let mut discarded = ReadBuf::new(&mut space);
            match Pin::new(&mut this.socket).poll_read(cx, &mut discarded) {
                Poll::Ready(Ok(())) if !discarded.filled().is_empty() => {
                    *left = left.saturating_sub(discarded.filled().len());
                }
                Poll::Ready(_) => break,
                Poll::Pending => {
                    ready!(deadline.as_mut().poll(cx));
                    break;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}
