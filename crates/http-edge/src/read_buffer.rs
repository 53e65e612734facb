//! Input of a connection, and how much of it hyper may see.
//!
//! hyper is given a head only when it is complete and has one reading. A bad head is replaced by an empty request, which
//! the service answers with the reason. No I/O happens here.

use bytes::{Buf, BytesMut};
use tokio::io::ReadBuf;

use crate::head::{BodyFraming, HeadParser, HeadProgress};
use crate::refusal::RefusalReason;
use crate::settings::ConnectionLimits;

/// The request that replaces a bad head.
const PLACEHOLDER: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

/// The part of a request that the next bytes belong to.
#[derive(Debug)]
enum ReadState {
    Head(HeadParser),
    Body {
        left: u64,
    },
    /// The last request of this connection: everything else passes unread.
    LastRequest,
    /// A head was bad: nothing else is passed on.
    Refused,
}

/// The next step of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadAction {
    /// Pass on buffered bytes.
    PassBuffered,
    /// Buffer more of a head.
    ReadHead,
    /// Read at most so many bytes into hyper's buffer.
    PassThrough(usize),
    /// Discard input.
    Discard,
}

#[derive(Debug)]
pub(super) struct ReadBuffer {
    state: ReadState,
    /// Bytes of a head, and those that arrived together with it.
    buffered: BytesMut,
    /// How many of them may be passed on.
    passable: usize,
    had_head: bool,
}

impl ReadBuffer {
    pub(super) fn new() -> ReadBuffer {
        ReadBuffer {
            state: ReadState::Head(HeadParser::default()),
            buffered: BytesMut::new(),
            passable: 0,
            had_head: false,
        }
    }

    /// Parses buffered bytes and returns the next step. Fails if a head is bad; it has then been replaced.
    pub(super) fn next_action(&mut self, limits: &ConnectionLimits) -> Result<ReadAction, RefusalReason> {
        loop {
            if self.passable > 0 {
                return Ok(ReadAction::PassBuffered);
            }
            match &mut self.state {
                ReadState::Head(_) if self.buffered.is_empty() => return Ok(ReadAction::ReadHead),
                ReadState::Head(parser) => {
                    match parser.advance(&self.buffered, limits.head_bytes, limits.headers) {
                        HeadProgress::NeedsMore => return Ok(ReadAction::ReadHead),
                        HeadProgress::Complete(length, framing) => self.accept_head(length, framing),
                        HeadProgress::Bad(reason) => {
                            self.replace_head();
                            return Err(reason);
                        }
                    }
                }
                ReadState::Body { left: 0 } => self.state = ReadState::Head(HeadParser::default()),
                ReadState::Body { left } => {
                    let most = usize::try_from(*left).unwrap_or(usize::MAX);
                    if self.buffered.is_empty() {
                        return Ok(ReadAction::PassThrough(most));
                    }
                    self.passable = most.min(self.buffered.len());
                    *left = left.saturating_sub(self.passable as u64);
                }
                ReadState::LastRequest if self.buffered.is_empty() => {
                    return Ok(ReadAction::PassThrough(usize::MAX));
                }
                ReadState::LastRequest => self.passable = self.buffered.len(),
                ReadState::Refused => return Ok(ReadAction::Discard),
            }
        }
    }

    fn accept_head(&mut self, length: usize, framing: BodyFraming) {
        self.passable = length;
        self.had_head = true;
        self.state = match framing {
            BodyFraming::Length(left) => ReadState::Body { left },
            BodyFraming::Unbounded => ReadState::LastRequest,
        };
    }

    /// Gives up on the head: hyper sees an empty request in its place, and nothing after it.
    pub(super) fn replace_head(&mut self) {
        self.buffered = BytesMut::from(PLACEHOLDER);
        self.passable = PLACEHOLDER.len();
        self.state = ReadState::Refused;
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.buffered.extend_from_slice(bytes);
    }

    /// Passes on buffered bytes, as far as they may be passed.
    pub(super) fn pass(&mut self, buffer: &mut ReadBuf<'_>) {
        let count = self.passable.min(buffer.remaining());
        buffer.put_slice(self.buffered.get(..count).unwrap_or_default());
        self.buffered.advance(count);
        self.passable -= count;
        if self.buffered.is_empty() {
            // Thousands of streams may be held open for long; an unused buffer is freed.
            self.buffered = BytesMut::new();
        }
    }

    /// Notes that so many bytes of a body bypassed the buffer.
    pub(super) fn note_body_bytes(&mut self, count: usize) {
        if let ReadState::Body { left } = &mut self.state {
            *left = left.saturating_sub(count as u64);
        }
    }

    /// Whether part of a head has arrived.
    pub(super) fn is_in_head(&self) -> bool {
        !self.buffered.is_empty()
    }

    /// Whether there was a complete head before.
    pub(super) fn had_head(&self) -> bool {
        self.had_head
    }

    /// Whether the client may be in the middle of sending something.
    pub(super) fn expects_more(&self) -> bool {
        let between_requests = match self.state {
            ReadState::Head(_) => true,
            ReadState::Body { left } => left == 0,
            ReadState::LastRequest | ReadState::Refused => false,
        };
        !between_requests || !self.buffered.is_empty()
    }
}
