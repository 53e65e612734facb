//! What a connection has sent, and how much of it hyper may see.
//!
//! hyper is given a head only when all of it is there and can be read in one way. A head that cannot is replaced
//! by an empty request, which the service answers with the reason. No I/O happens here.

use bytes::{Buf, BytesMut};
use tokio::io::ReadBuf;

use super::head::{Follows, HeadScan, Progress};
use super::refusal::Refusal;
use super::settings::Limits;

/// What hyper reads in place of a head that it should not see.
const STAND_IN: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

/// What the next bytes belong to.
#[derive(Debug)]
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

/// What is to be done next for hyper to have something to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// Pass on what is held.
    Pass,
    /// Hold more of a head.
    Head,
    /// Let at most so many bytes through without looking.
    Straight(usize),
    /// Throw away what comes.
    Discard,
}

#[derive(Debug)]
pub(super) struct Inbox {
    reading: Reading,
    /// Bytes of a head, and what arrived together with it.
    held: BytesMut,
    /// How many of them may be passed on.
    passable: usize,
    had_a_head: bool,
}

impl Inbox {
    pub(super) fn new() -> Inbox {
        Inbox {
            reading: Reading::Head(HeadScan::default()),
            held: BytesMut::new(),
            passable: 0,
            had_a_head: false,
        }
    }

    /// Looks at what is held and says what to do next. A head that is bad is the error, and has been replaced.
    pub(super) fn want(&mut self, limits: &Limits) -> Result<Want, Refusal> {
        loop {
            if self.passable > 0 {
                return Ok(Want::Pass);
            }
            match &mut self.reading {
                Reading::Head(_) if self.held.is_empty() => return Ok(Want::Head),
                Reading::Head(scan) => match scan.advance(&self.held, limits.head_bytes, limits.headers) {
                    Progress::NeedsMore => return Ok(Want::Head),
                    Progress::Complete(length, follows) => self.accept_head(length, follows),
                    Progress::Bad(refusal) => {
                        self.replace_head();
                        return Err(refusal);
                    }
                },
                Reading::Body { left: 0 } => self.reading = Reading::Head(HeadScan::default()),
                Reading::Body { left } => {
                    let most = usize::try_from(*left).unwrap_or(usize::MAX);
                    if self.held.is_empty() {
                        return Ok(Want::Straight(most));
                    }
                    self.passable = most.min(self.held.len());
                    *left = left.saturating_sub(self.passable as u64);
                }
                Reading::Rest if self.held.is_empty() => return Ok(Want::Straight(usize::MAX)),
                Reading::Rest => self.passable = self.held.len(),
                Reading::Nothing => return Ok(Want::Discard),
            }
        }
    }

    fn accept_head(&mut self, length: usize, follows: Follows) {
        self.passable = length;
        self.had_a_head = true;
        self.reading = match follows {
            Follows::Body(left) => Reading::Body { left },
            Follows::Anything => Reading::Rest,
        };
    }

    /// Gives up on the head: hyper sees an empty request in its place, and nothing after it.
    pub(super) fn replace_head(&mut self) {
        self.held = BytesMut::from(STAND_IN);
        self.passable = STAND_IN.len();
        self.reading = Reading::Nothing;
    }

    pub(super) fn hold(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// Hands on what is held and may be passed.
    pub(super) fn pass(&mut self, buffer: &mut ReadBuf<'_>) {
        let count = self.passable.min(buffer.remaining());
        buffer.put_slice(self.held.get(..count).unwrap_or_default());
        self.held.advance(count);
        self.passable -= count;
        if self.held.is_empty() {
            // Streams live long, and there are many: a buffer that is not needed is given back.
            self.held = BytesMut::new();
        }
    }

    /// So many bytes went straight through.
    pub(super) fn went_straight(&mut self, count: usize) {
        if let Reading::Body { left } = &mut self.reading {
            *left = left.saturating_sub(count as u64);
        }
    }

    /// Whether a part of a head has come.
    pub(super) fn has_begun_a_head(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether there was a whole head before.
    pub(super) fn had_a_head(&self) -> bool {
        self.had_a_head
    }

    /// Whether the client may be in the middle of sending something.
    pub(super) fn expects_more(&self) -> bool {
        let between_requests = match self.reading {
            Reading::Head(_) => true,
            Reading::Body { left } => left == 0,
            Reading::Rest | Reading::Nothing => false,
        };
        !between_requests || !self.held.is_empty()
    }
}
