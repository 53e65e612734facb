//! The body of an answer with the connection that it arrives on.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::StatusCode;

use super::framing::{Framing, Went};
use super::head::Head;
use super::line::Line;
use super::lines::{LineError, Lines};

/// Dropping it before its end closes the connection, which is how a server learns that nobody listens.
pub(super) struct Answer {
    status: StatusCode,
    framing: Framing,
    keeps: bool,
    /// Came together with the head.
    begun: Vec<u8>,
    /// Gone when the body is over.
    line: Option<Line>,
    lines: Arc<Lines>,
}

impl Answer {
    pub(super) fn new(head: Head, begun: Vec<u8>, line: Line, lines: Arc<Lines>) -> Answer {
        let Head { status, framing, keeps } = head;
        let mut answer = Answer { status, framing, keeps, begun, line: Some(line), lines };
        if answer.framing == Framing::Length(0) {
            answer.end(answer.begun.is_empty());
        }
        answer
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// Calls `take` with the next parts of the body; says whether there may be more. An error may come behind parts of
    /// the same call, and is the end.
    pub(super) fn poll_more(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnMut(&[u8]),
    ) -> Poll<Result<bool, LineError>> {
        let more = self.poll_parts(cx, take);
        if let Poll::Ready(Err(_)) = more {
            // Nobody knows where on it the next answer would begin.
            self.line = None;
        }
        more
    }

    fn poll_parts(
        &mut self,
        cx: &mut Context<'_>,
        mut take: impl FnMut(&[u8]),
    ) -> Poll<Result<bool, LineError>> {
        loop {
            let Answer { framing, line, begun, .. } = self;
            let Some(line) = line else { return Poll::Ready(Ok(false)) };
            let mut told = false;
            let mut look = |bytes: &[u8]| {
                let went = framing.read(bytes, &mut |part| {
                    told = true;
                    take(part);
                });
                (went, bytes.len())
            };
            let (went, came) = if begun.is_empty() {
                ready!(line.poll_read(cx, look))?
            } else {
                look(&std::mem::take(begun))
            };
            match went? {
                Went::End(used) => {
                    self.end(used == came);
                    return Poll::Ready(Ok(true));
                }
                Went::On if told => return Poll::Ready(Ok(true)),
                // Only what stands between two chunks.
                Went::On if came > 0 => {}
                Went::On => {
                    return Poll::Ready(match self.framing {
                        Framing::UntilClose => {
                            self.line = None;
                            Ok(false)
                        }
                        Framing::Length(_) | Framing::Chunked(_) => {
                            Err("the server closed the connection in the middle of its answer".into())
                        }
                    });
                }
            }
        }
    }

    /// The body is over. What came behind it was not asked for, and makes the connection useless.
    fn end(&mut self, exactly: bool) {
        if let Some(line) = self.line.take()
            && exactly
            && self.keeps
            && line.is_sent()
        {
            self.lines.give_back(line);
        }
    }
}
