//! Keeps one stream: a short one in memory, a long one in an artifact from its first byte on.

use std::io::{self, Write};
use std::sync::Arc;

use envelope::{Artifact, Failure, Fault, Hash};
use toolkit::OpenArtifact;

use super::digest::Digest;
use super::feed::{Feed, Progress, newlines};

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
    progress: Progress,
    last: u8,
    stored: Stored,
}

enum Stored {
    InMemory,
    Flowing {
        artifact: Option<OpenArtifact>,
        digest: Digest,
    },
    /// Something went wrong and was told.
    Given,
}

impl Spool {
    pub(super) fn new(role: &'static str, limit: u64, feed: Arc<Feed>) -> Spool {
        Spool { role, limit, feed, progress: Progress::default(), last: b'\n', stored: Stored::InMemory }
    }

    pub(super) fn progress(&self) -> Progress {
        self.progress
    }

    /// An empty piece to read into. Its capacity is how much may be read.
    pub(super) fn piece(&mut self) -> Result<Vec<u8>, Trouble> {
        let piece = match &mut self.stored {
            Stored::InMemory => Some(Vec::with_capacity(HEAD_BYTES)),
            Stored::Flowing { digest, .. } => digest.piece(),
            Stored::Given => None,
        };
        piece.ok_or_else(|| self.give_up(None))
    }

    /// Keeps a piece behind those before it. When this returns, everyone who looks can see it.
    pub(super) fn push(&mut self, mut piece: Vec<u8>) -> Result<(), Trouble> {
        let room = usize::try_from(self.limit - self.progress.bytes).unwrap_or(usize::MAX);
        let over = piece.len() > room;
        piece.truncate(room);
        let counted = Progress {
            bytes: self.progress.bytes + piece.len() as u64,
            newlines: self.progress.newlines + newlines(&piece),
        };
        let last = piece.last().copied().unwrap_or(self.last);
        if matches!(self.stored, Stored::InMemory) {
            if counted.bytes <= HEAD_BYTES as u64 {
                self.feed.head().extend_from_slice(&piece);
                piece.clear();
            } else {
                self.begin_flowing()?;
            }
        }
        if !piece.is_empty() {
            self.flow(piece)?;
        }
        (self.progress, self.last) = (counted, last);
        if over { Err(Trouble::OverLimit) } else { Ok(()) }
    }

    /// Nothing more comes. Makes what was kept durable.
    pub(super) fn finish(mut self) -> Result<Stream, Fault> {
        let lines = self.progress.newlines + u64::from(self.last != b'\n');
        let bytes = self.progress.bytes;
        let stored = std::mem::replace(&mut self.stored, Stored::Given);
        let (hash, text, artifact) = match stored {
            Stored::InMemory => {
                let text = self.feed.head().clone();
                (Hash::of(&text), Some(text), None)
            }
            Stored::Flowing { artifact, digest } => {
                let hash = digest.finish().map_err(|error| self.lost(&error))?;
                let artifact = artifact.map(|open| self.feed.artifacts().seal(open, bytes, hash));
                (hash, None, artifact.transpose().map_err(|fault| self.not_kept(&fault.message))?)
            }
            Stored::Given => return Err(self.not_kept("it was given up")),
        };
        Ok(Stream { bytes, lines, hash, text, artifact })
    }

    /// The stream is too long for memory: what is there already is the beginning of the artifact.
    fn begin_flowing(&mut self) -> Result<(), Trouble> {
        let made = self.feed.artifacts().create(self.role, "log");
        let artifact = made.map_err(|fault| Trouble::Lost(self.not_kept(&fault.message)))?;
        let copy = artifact.as_ref().map(|open| open.file.try_clone()).transpose();
        let digest = copy.and_then(Digest::start).map_err(|error| Trouble::Lost(self.lost(&error)))?;
        let path = artifact.as_ref().map(|open| open.path.clone());
        self.stored = Stored::Flowing { artifact, digest };
        let beginning = self.feed.head().clone();
        // Nobody is told of the artifact before it holds what could be read in memory until now.
        self.progress.bytes = 0;
        let bytes = beginning.len() as u64;
        if bytes > 0 {
            self.flow(beginning)?;
        }
        self.progress.bytes = bytes;
        if let Some(path) = path {
            self.feed.is_at(&path);
        }
        Ok(())
    }

    fn flow(&mut self, piece: Vec<u8>) -> Result<(), Trouble> {
        let Stored::Flowing { artifact, digest } = &mut self.stored else { return Err(self.give_up(None)) };
        if let Some(open) = artifact
            && let Err((written, error)) = write_all(&mut open.file, &piece)
        {
            self.progress.bytes += written;
            return Err(self.give_up(Some(error)));
        }
        if digest.take(piece) { Ok(()) } else { Err(self.give_up(None)) }
    }

    /// Ends the thread and finds out what went wrong, unless that is known.
    fn give_up(&mut self, known: Option<io::Error>) -> Trouble {
        let path = self.path();
        let error = match std::mem::replace(&mut self.stored, Stored::Given) {
            Stored::Flowing { digest, .. } => known.or(digest.finish().err()),
            Stored::InMemory | Stored::Given => known,
        };
        let error = error.unwrap_or_else(|| io::Error::other("the stream was given up"));
        Trouble::Lost(fault_about(self.role, self.progress.bytes, path.as_deref(), &error.to_string()))
    }

    fn lost(&self, error: &io::Error) -> Fault {
        self.not_kept(&error.to_string())
    }

    fn not_kept(&self, why: &str) -> Fault {
        fault_about(self.role, self.progress.bytes, self.path().as_deref(), why)
    }

    fn path(&self) -> Option<String> {
        match &self.stored {
            Stored::Flowing { artifact: Some(open), .. } => Some(open.path.clone()),
            Stored::Flowing { artifact: None, .. } | Stored::InMemory | Stored::Given => {
                self.feed.path().map(str::to_owned)
            }
        }
    }
}

/// Says how much was written when it could not be all.
pub(super) fn write_all(file: &mut impl Write, bytes: &[u8]) -> Result<(), (u64, io::Error)> {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        match file.write(rest) {
            Ok(0) => return Err((written as u64, io::ErrorKind::WriteZero.into())),
            Ok(some) => written += some,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err((written as u64, error)),
        }
    }
    Ok(())
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
