//! One connection to a server: a request goes out, the head of its answer comes in.
//!
//! A connection is polled by whoever reads its answer, in the same task: a body that comes in a hundred chunks costs
//! a hundred polls, not a hundred hand-overs between tasks.
//!
//! There is no general client below this one. All that is asked of a model's server is one request at a time with a
//! body that is known, and a general client keeps two buffers and a channel for each connection that are larger than
//! everything else that a stream takes.

use std::io;
use std::task::{Context, Poll};

use bytes::buf::Chain;
use bytes::{Buf, Bytes};

use super::head::{Head, HeadReader};
use super::lines::LineError;
use super::socket::Socket;

/// A request as it is sent.
#[derive(Clone)]
pub(super) struct Request {
    pub(super) head: Bytes,
    pub(super) body: Bytes,
}

pub(super) struct Line {
    socket: Socket,
    /// What the server has not taken yet of the request.
    unsent: Option<Chain<Bytes, Bytes>>,
}

pub(super) enum Unsent {
    /// The connection was closed before it took any of the request.
    Back,
    Lost(LineError),
}

impl Line {
    pub(super) fn new(socket: Socket) -> Line {
        Line { socket, unsent: None }
    }

    /// Sends a request and reads the head of its answer, and with it what came of its body.
    pub(super) async fn send(&mut self, request: Request) -> Result<(Head, Vec<u8>), Unsent> {
        let whole = request.head.len() + request.body.len();
        self.unsent = Some(request.head.chain(request.body));
        let mut reader = HeadReader::default();
        std::future::poll_fn(|cx| {
            // A server may answer before it has read everything, and hang up: what it said counts.
            let mut failed = self.write_on(cx).err();
            loop {
                let none_went = self.unsent.as_ref().is_some_and(|unsent| unsent.remaining() == whole);
                let read = self.socket.poll_read(cx, |bytes| (!bytes.is_empty()).then(|| reader.read(bytes)));
                let problem = match (read, failed.take()) {
                    (Poll::Ready(Ok(Some(Ok(Some(whole))))), _) => return Poll::Ready(Ok(whole)),
                    (Poll::Ready(Ok(Some(Ok(None)))), _) => continue,
                    (Poll::Ready(Ok(Some(Err(bad)))), _) => {
                        return Poll::Ready(Err(Unsent::Lost(bad.into())));
                    }
                    (Poll::Pending, None) => return Poll::Pending,
                    (Poll::Pending, Some(failed)) | (Poll::Ready(Err(failed)), _) => failed,
                    (Poll::Ready(Ok(None)), _) => io::ErrorKind::UnexpectedEof.into(),
                };
                let back = none_went && reader.is_empty();
                return Poll::Ready(Err(if back { Unsent::Back } else { Unsent::Lost(problem.into()) }));
            }
        })
        .await
    }

    /// Whether nothing has happened while nobody looked. A connection on which something came unasked, or that ended,
    /// is of no use.
    pub(super) fn is_silent(&self) -> bool {
        self.socket.is_silent()
    }

    /// Whether all of the request has gone.
    pub(super) fn is_sent(&self) -> bool {
        self.unsent.is_none()
    }

    /// More of the body, as it is on the wire; nothing at the end of the connection.
    pub(super) fn poll_read<T>(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Poll<io::Result<T>> {
        // A server that answers before it has read everything may go on reading.
        let _it_will_show = self.write_on(cx);
        self.socket.poll_read(cx, take)
    }

    /// Sends as much as the server takes. What is sent is not kept.
    fn write_on(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let Some(unsent) = &mut self.unsent else { return Ok(()) };
        match self.socket.poll_write_all(cx, unsent) {
            Poll::Ready(Ok(())) => self.unsent = None,
            Poll::Ready(Err(error)) => return Err(error),
            Poll::Pending => {}
        }
        Ok(())
    }
}
