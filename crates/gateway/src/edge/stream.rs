//! A connection's bytes, with every wait bounded and one strict head at a time.
//!
//! hyper is given a head only when all of it is there and can be read in one way. A head that cannot is replaced
//! by an empty request, which the service answers with the reason. So the time limits need no help from hyper,
//! and a client that drips costs a small buffer and one timer.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep};

use crate::metrics::{Counted, Metrics};

use super::drain::Drain;
use super::head::{Follows, HeadScan, Progress};
use super::refusal::Refusal;
use super::settings::Limits;
use super::visit::Visit;

/// What hyper reads in place of a head that it should not see.
const STAND_IN: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

/// How much is read at once while a head is incomplete.
const STEP: usize = 4 * 1024;

/// After our last byte, what a client is still sending is thrown away for so long and so far: were the
/// connection closed at once, its system would drop our answer unread.
const LINGER: Duration = Duration::from_millis(500);
const LINGER_BYTES: usize = 1024 * 1024;

/// What the next bytes belong to.
enum Reading {
    Head(HeadScan),
    Body {
        left: u64,
    },
    /// The last request of this connection: nothing is looked at any more.
    Rest,
    /// A head was bad: nothing is passed on any more.
    Nothing,
}

/// What a client is being waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    FirstByte,
    Head,
    NextHead,
}

pub(super) struct GuardedStream {
    socket: TcpStream,
    visit: Arc<Visit>,
    limits: Arc<Limits>,
    metrics: Arc<Metrics>,
    reading: Reading,
    /// Bytes that arrived together with a head.
    held: BytesMut,
    /// How many of them may be passed on.
    passable: usize,
    wait: Option<(Wait, Pin<Box<Sleep>>)>,
    /// Runs while the client takes nothing of what waits for it.
    stall: Option<Pin<Box<Sleep>>>,
    linger: Option<(Pin<Box<Sleep>>, usize)>,
    /// Ends a connection that hyper has given away.
    closed: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    drain: Drain,
    had_a_head: bool,
    _counted: Counted,
    _permit: OwnedSemaphorePermit,
}

impl GuardedStream {
    pub(super) fn new(
        socket: TcpStream,
        visit: Arc<Visit>,
        limits: Arc<Limits>,
        metrics: Arc<Metrics>,
        drain: Drain,
        permit: OwnedSemaphorePermit,
    ) -> GuardedStream {
        GuardedStream {
            socket,
            visit,
            limits,
            reading: Reading::Head(HeadScan::default()),
            held: BytesMut::new(),
            passable: 0,
            wait: None,
            stall: None,
            linger: None,
            closed: None,
            drain,
            had_a_head: false,
            _counted: metrics.connection_opened(),
            metrics,
            _permit: permit,
        }
    }

    /// Reads until a head is whole, bad, or never comes. True at the end of the stream.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        loop {
            let Reading::Head(scan) = &mut self.reading else { return Poll::Ready(Ok(false)) };
            if !self.held.is_empty() {
                match scan.advance(&self.held, self.limits.head_bytes, self.limits.headers) {
                    Progress::NeedsMore => {}
                    Progress::Complete(length, follows) => {
                        self.passable = length;
                        self.had_a_head = true;
                        self.wait = None;
                        self.reading = match follows {
                            Follows::Body(left) => Reading::Body { left },
                            Follows::Anything => Reading::Rest,
                        };
                        return Poll::Ready(Ok(false));
                    }
                    Progress::Bad(refusal) => {
                        self.replace_head(refusal);
                        return Poll::Ready(Ok(false));
                    }
                }
            }
            let mut space = [0; STEP];
            let mut buffer = ReadBuf::new(&mut space);
            match Pin::new(&mut self.socket).poll_read(cx, &mut buffer) {
                Poll::Ready(read) => {
                    read?;
                    if buffer.filled().is_empty() {
                        return Poll::Ready(Ok(true));
                    }
                    self.held.extend_from_slice(buffer.filled());
                }
                Poll::Pending => match ready!(self.poll_wait(cx)) {
                    Wait::Head => self.replace_head(Refusal::HeadTooSlow),
                    Wait::FirstByte => {
                        self.metrics.refused("first_byte_too_slow");
                        return Poll::Ready(Ok(true));
                    }
                    Wait::NextHead => return Poll::Ready(Ok(true)),
                },
            }
        }
    }

    /// Ready when the client has been silent for too long.
    fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<Wait> {
        // While an answer is being made or taken, silence is no idleness.
        if self.visit.is_answering(cx) || self.stall.is_some() {
            self.wait = None;
            return Poll::Pending;
        }
        let (wait, limit) = match (self.held.is_empty(), self.had_a_head) {
            (false, _) => (Wait::Head, self.limits.head),
            (true, false) => (Wait::FirstByte, self.limits.first_byte),
            (true, true) => (Wait::NextHead, self.limits.idle),
        };
        // A head that drips in is one wait, however many bytes it is made of.
        if self.wait.as_ref().is_none_or(|(running, _)| *running != wait) {
            self.wait = Some((wait, Box::pin(sleep(limit))));
        }
        match &mut self.wait {
            Some((_, deadline)) => deadline.as_mut().poll(cx).map(|()| wait),
            None => Poll::Pending,
        }
    }

    fn replace_head(&mut self, refusal: Refusal) {
        self.visit.set_bad_head(refusal);
        self.held = BytesMut::from(STAND_IN);
        self.passable = STAND_IN.len();
        self.reading = Reading::Nothing;
        self.wait = None;
    }

    /// Whether the client may be in the middle of sending something.
    fn is_sending(&self) -> bool {
        let between_requests = match self.reading {
            Reading::Head(_) => true,
            Reading::Body { left } => left == 0,
            Reading::Rest | Reading::Nothing => false,
        };
        !between_requests || !self.held.is_empty()
    }

    /// Hands on what is held and may be passed.
    fn pass(&mut self, buffer: &mut ReadBuf<'_>) {
        let count = self.passable.min(buffer.remaining());
        buffer.put_slice(self.held.get(..count).unwrap_or_default());
        self.held.advance(count);
        self.passable -= count;
        if self.held.is_empty() {
            // Streams live long, and there are many: a buffer that is not needed is given back.
            self.held = BytesMut::new();
        }
    }

    /// Reads straight into hyper's buffer, at most `most` bytes.
    fn poll_direct(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        let room = most.min(buffer.remaining());
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(room));
        let read = Pin::new(&mut self.socket).poll_read(cx, &mut part);
        let count = part.filled().len();
        buffer.advance(count);
        match read {
            Poll::Ready(result) => Poll::Ready(result.map(|()| count)),
            Poll::Pending if self.visit.is_upgraded() => {
                let closed = self.closed.get_or_insert_with(|| {
                    let mut drain = self.drain.clone();
                    Box::pin(async move { drain.closed().await })
                });
                closed.as_mut().poll(cx).map(|()| Ok(0))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    /// Counts the time in which the client takes nothing.
    fn watch_stall<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stall = None;
            return written;
        }
        let limit = self.limits.write_stall;
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(stall.as_mut().poll(cx));
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
            if this.passable > 0 {
                this.pass(buffer);
                return Poll::Ready(Ok(()));
            }
            match &mut this.reading {
                Reading::Head(_) => {
                    if ready!(this.poll_head(cx))? {
                        return Poll::Ready(Ok(()));
                    }
                }
                Reading::Body { left: 0 } => this.reading = Reading::Head(HeadScan::default()),
                Reading::Body { left } => {
                    let most = usize::try_from(*left).unwrap_or(usize::MAX);
                    if this.held.is_empty() {
                        let count = ready!(this.poll_direct(cx, buffer, most))?;
                        if let Reading::Body { left } = &mut this.reading {
                            *left = left.saturating_sub(count as u64);
                        }
                        return Poll::Ready(Ok(()));
                    }
                    this.passable = most.min(this.held.len());
                    *left = left.saturating_sub(this.passable as u64);
                }
                Reading::Rest if this.held.is_empty() => {
                    return this.poll_direct(cx, buffer, usize::MAX).map_ok(|_count| ());
                }
                Reading::Rest => this.passable = this.held.len(),
                Reading::Nothing => {
                    let mut space = [0; STEP];
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
        self.watch_stall(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, slices);
        self.watch_stall(cx, written)
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
            if !this.is_sending() {
                return Poll::Ready(Ok(()));
            }
            this.linger = Some((Box::pin(sleep(LINGER)), LINGER_BYTES));
        }
        let Some((deadline, left)) = &mut this.linger else { return Poll::Ready(Ok(())) };
        let mut space = [0; STEP];
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
