//! Keeps one stream: a short one in memory, a long one in an artifact from its first byte on.

use std::io;
use std::sync::Arc;

use envelope::{Artifact, Failure, Fault, Hash};
use toolkit::OpenArtifact;

use super::disk::Disk;
use super::event::Flag;
use super::feed::{Feed, Progress, newlines};
use super::flow::{Flow, Tell};
use super::piece::Piece;

/// How much of a stream stays in memory. A stream that is no longer than this leaves no artifact.
pub const HEAD_BYTES: usize = 32 << 10;

/// A stream that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    pub bytes: u64,
    /// The last one counts even if nothing ends it.
    pub lines: u64,
    pub hash: Hash,
    /// All of it, if it is short.
    pub text: Option<Vec<u8>>,
    /// All of it, if it is long. A run that keeps no artifacts has neither.
    pub artifact: Option<Artifact>,
}

impl Stream {
    /// One in which nothing was printed.
    pub(super) fn empty() -> Stream {
        Stream { bytes: 0, lines: 0, hash: Hash::of(b""), text: Some(Vec::new()), artifact: None }
    }
}

/// Why a stream is not kept any further.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Trouble {
    /// It is as long as it may be.
    OverLimit,
    /// It could not be kept.
    Lost(Fault),
}

/// The writers' side of one stream.
pub(super) struct Spool {
    role: &'static str,
    limit: u64,
    feed: Arc<Feed>,
    tell: Option<Tell>,
    broken: Arc<Flag>,
    progress: Progress,
    last: u8,
    stored: Stored,
}

enum Stored {
    InMemory,
    Flowing {
        artifact: Option<OpenArtifact>,
        flow: Flow,
    },
    /// Something went wrong and was told.
    Given,
}

impl Spool {
    /// `tell` hears of every step that others can see.
    pub(super) fn new(role: &'static str, limit: u64, feed: Arc<Feed>, tell: Tell) -> io::Result<Spool> {
        let broken = Arc::new(Flag::new()?);
        let (progress, stored) = (Progress::default(), Stored::InMemory);
        Ok(Spool { role, limit, feed, tell: Some(tell), broken, progress, last: b'\n', stored })
    }

    /// Up when the stream can be kept no further, also while nobody pushes anything.
    pub(super) fn broken(&self) -> &Flag {
        &self.broken
    }

    /// A piece to read into.
    pub(super) fn piece(&mut self) -> Result<Piece, Trouble> {
        let piece = match &mut self.stored {
            Stored::InMemory => Some(Piece::new(HEAD_BYTES)),
            Stored::Flowing { flow, .. } => flow.piece(),
            Stored::Given => None,
        };
        let mut piece = piece.ok_or_else(|| self.give_up())?;
        piece.begin(self.progress.bytes);
        Ok(piece)
    }

    /// Keeps a piece behind those before it.
    pub(super) fn push(&mut self, mut piece: Piece) -> Result<(), Trouble> {
        let room = usize::try_from(self.limit - self.progress.bytes).unwrap_or(usize::MAX);
        let over = piece.bytes().len() > room;
        piece.truncate(room);
        let bytes = piece.bytes();
        let then = Progress {
            bytes: self.progress.bytes + bytes.len() as u64,
            newlines: self.progress.newlines + newlines(bytes),
        };
        self.last = bytes.last().copied().unwrap_or(self.last);
        if matches!(self.stored, Stored::InMemory) && then.bytes <= HEAD_BYTES as u64 {
            self.feed.head().extend_from_slice(bytes);
            if let Some(tell) = &self.tell {
                tell(then);
            }
        } else if !bytes.is_empty() {
            self.flow(piece, then)?;
        }
        self.progress = then;
        if over { Err(Trouble::OverLimit) } else { Ok(()) }
    }

    /// Nothing more comes. Makes what was kept durable.
    pub(super) fn finish(mut self) -> Result<Stream, Fault> {
        let lines = self.progress.newlines + u64::from(self.last != b'\n');
        let bytes = self.progress.bytes;
        let (hash, text, artifact) = match std::mem::replace(&mut self.stored, Stored::Given) {
            Stored::InMemory => {
                let text = self.feed.head().clone();
                (Hash::of(&text), Some(text), None)
            }
            Stored::Flowing { artifact, flow } => {
                let hash = flow.finish().map_err(|broken| self.lost(broken.written, &broken.error))?;
                let artifact = artifact.map(|open| self.feed.artifacts().seal(open, bytes, hash));
                (hash, None, artifact.transpose().map_err(|fault| self.not_kept(bytes, &fault.message))?)
            }
            Stored::Given => return Err(self.not_kept(bytes, "it was given up")),
        };
        Ok(Stream { bytes, lines, hash, text, artifact })
    }

    fn flow(&mut self, piece: Piece, then: Progress) -> Result<(), Trouble> {
        if let (Stored::InMemory, Some(tell)) = (&self.stored, self.tell.take()) {
            self.begin_flowing(tell).map_err(Trouble::Lost)?;
        }
        match &self.stored {
            Stored::Flowing { flow, .. } if flow.take(piece, then) => Ok(()),
            Stored::Flowing { .. } | Stored::InMemory | Stored::Given => Err(self.give_up()),
        }
    }

    /// The stream is too long for memory: what is there already is the beginning of the artifact.
    fn begin_flowing(&mut self, tell: Tell) -> Result<(), Fault> {
        let made = self.feed.artifacts().create(self.role, "log");
        let artifact = made.map_err(|fault| self.not_kept(0, &fault.message))?;
        if let Some(open) = &artifact {
            self.feed.is_at(&open.path);
        }
        let disk = artifact.as_ref().map(|open| open.file.try_clone().map(Disk::new)).transpose();
        let flow = disk.and_then(|disk| Flow::start(disk, tell, Arc::clone(&self.broken)));
        let flow = flow.map_err(|error| self.lost(0, &error))?;
        let beginning = Piece::of(&self.feed.head());
        if !beginning.bytes().is_empty() {
            // If it takes nothing any more, it does not take the next piece either.
            flow.take(beginning, self.progress);
        }
        self.stored = Stored::Flowing { artifact, flow };
        Ok(())
    }

    /// Ends the threads and finds out what went wrong.
    pub(super) fn give_up(&mut self) -> Trouble {
        let broken = match std::mem::replace(&mut self.stored, Stored::Given) {
            Stored::Flowing { flow, .. } => flow.finish().err(),
            Stored::InMemory | Stored::Given => None,
        };
        Trouble::Lost(match broken {
            Some(broken) => self.lost(broken.written, &broken.error),
            None => self.not_kept(0, "it was given up"),
        })
    }

    fn lost(&self, kept: u64, error: &io::Error) -> Fault {
        let why = error.to_string();
        if let Some(path) = self.feed.path() {
            self.feed.artifacts().lost(path, &why);
        }
        self.not_kept(kept, &why)
    }

    fn not_kept(&self, kept: u64, why: &str) -> Fault {
        fault_about(self.role, kept, self.feed.path(), why)
    }
}

fn fault_about(role: &str, kept: u64, path: Option<&str>, why: &str) -> Fault {
    let place = match path {
        Some(path) => format!("the first {kept} bytes of {role} are in `{path}`, which is not complete"),
        None => format!("nothing of {role} was kept"),
    };
    let kept = path.map_or(0, |_| kept);
    let fault = Fault::new(Failure::ExecutionFailed, format!("the output could not be kept: {why}; {place}"))
        .hint("Make room where the runs are kept, then run the command again.")
        .detail("stream", role)
        .detail("keptBytes", kept);
    match path {
        Some(path) => fault.detail("path", path),
        None => fault,
    }
}
