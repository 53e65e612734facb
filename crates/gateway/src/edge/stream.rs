//! A connection's bytes, with every wait bounded.
//!
//! The time limits need no help from hyper, which sees whole heads only: a client that drips costs a small buffer
//! and one timer.

use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use crate::metrics::{Counted, Metrics};

use super::drain::Drain;
use super::inbox::{Inbox, Want};
use super::refusal::Refusal;
use super::settings::Limits;
use super::visit::Visit;

/// How much is read at once while a head is incomplete.
const STEP: usize = 4 * 1024;

/// After our last byte, what a client is still sending is thrown away for so long and so far: were the
/// connection closed at once, its system would drop our answer unread.
const LINGER: Duration = Duration::from_millis(500);
const LINGER_BYTES: usize = 1024 * 1024;

/// What a client is being waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    FirstByte,
    Head,
    NextHead,
}

pub(super) struct GuardedStream {
    socket: TcpStream,
    inbox: Inbox,
    visit: Arc<Visit>,
    limits: Arc<Limits>,
    metrics: Arc<Metrics>,
    wait: Option<(Wait, Instant)>,
    /// Rings at the end of a wait, or of an earlier one: a timer that is set anew with every request costs more than one
    /// that rings in vain now and then.
    alarm: Option<Pin<Box<Sleep>>>,
    /// Runs while the client takes nothing of what waits for it.
    stall: Option<Pin<Box<Sleep>>>,
    linger: Option<(Pin<Box<Sleep>>, usize)>,
    /// Ends a connection that hyper has given away.
    closed: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    drain: Drain,
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
            inbox: Inbox::new(),
            visit,
            limits,
            wait: None,
            alarm: None,
            stall: None,
            linger: None,
            closed: None,
            drain,
            _counted: metrics.connection_opened(),
            metrics,
            _permit: permit,
        }
    }

    /// Holds more of a head. True if there will be none: the client is gone, or has been silent for too long.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        // Nearly every poll is for the answer's sake and finds nothing to read.
        if self.socket.poll_read_ready(cx)?.is_ready() {
            let mut space = [const { MaybeUninit::uninit() }; STEP];
            let mut buffer = ReadBuf::uninit(&mut space);
            if let Poll::Ready(read) = Pin::new(&mut self.socket).poll_read(cx, &mut buffer) {
                read?;
                self.inbox.hold(buffer.filled());
                return Poll::Ready(Ok(buffer.filled().is_empty()));
            }
        }
        match ready!(self.poll_wait(cx)) {
            Wait::Head => {
                self.visit.set_bad_head(Refusal::HeadTooSlow);
                self.inbox.replace_head();
                Poll::Ready(Ok(false))
            }
            Wait::FirstByte => {
                self.metrics.refused("first_byte_too_slow");
                Poll::Ready(Ok(true))
            }
            Wait::NextHead => Poll::Ready(Ok(true)),
        }
    }

    /// Ready when the client has been silent for too long.
    fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<Wait> {
        // While an answer is being made or taken, silence is no idleness.
        if self.visit.is_answering() || self.stall.is_some() {
            self.wait = None;
            return Poll::Pending;
        }
        let (wait, limit) = match (self.inbox.has_begun_a_head(), self.inbox.had_a_head()) {
            (true, _) => (Wait::Head, self.limits.head),
            (false, false) => (Wait::FirstByte, self.limits.first_byte),
            (false, true) => (Wait::NextHead, self.limits.idle),
        };
        // A head that drips in is one wait, however many bytes it is made of.
        let until = match self.wait {
            Some((running, until)) if running == wait => until,
            Some(_) | None => Instant::now() + limit,
        };
        self.wait = Some((wait, until));
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if alarm.deadline() > until {
            alarm.as_mut().reset(until);
        }
        loop {
            ready!(alarm.as_mut().poll(cx));
            if alarm.deadline() >= until {
                return Poll::Ready(wait);
            }
            alarm.as_mut().reset(until);
        }
    }

    /// Reads straight into hyper's buffer, at most `most` bytes.
    fn poll_straight(
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
        self.inbox.went_straight(count);
        if read.is_pending() && self.visit.is_upgraded() { self.poll_closed(cx).map(Ok) } else { read }
    }

    /// Ready when the server waits no longer for those who speak another protocol.
    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let drain = &self.drain;
        let closed = self.closed.get_or_insert_with(|| {
            let mut drain = drain.clone();
            Box::pin(async move { drain.closed().await })
        });
        closed.as_mut().poll(cx)
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
            let want = match this.inbox.want(&this.limits) {
                Ok(want) => want,
                Err(refusal) => {
                    this.visit.set_bad_head(refusal);
                    continue;
                }
            };
            match want {
                Want::Pass => {
                    this.wait = None;
                    this.inbox.pass(buffer);
                    return Poll::Ready(Ok(()));
                }
                Want::Straight(most) => return this.poll_straight(cx, buffer, most),
                Want::Head => {
                    if ready!(this.poll_head(cx))? {
                        return Poll::Ready(Ok(()));
                    }
                }
                Want::Discard => {
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
            if !this.inbox.expects_more() {
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
