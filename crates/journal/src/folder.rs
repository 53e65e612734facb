//! Reads a run folder: what was to be done, and the records in their order.

use std::path::Path;

use envelope::{Confirmation, DataRef, ExecutionEvent, ToolCall, ToolResult};
use serde_json::Value;

use crate::disk::Dir;
use crate::error::JournalError;
use crate::header::{RunFile, RunHeader};
use crate::kind::{ChainHead, Kind, Seq};
use crate::objects::Objects;
use crate::problem::{Problem, ProblemKind};
use crate::recover::read_run;
use crate::run_log::{io_error, open_run};
use crate::scan::{Current, Found, Scan};

/// A run folder, open for reading. Takes no lock and changes nothing, so the run may still be going.
#[derive(Debug)]
pub struct RunFolder {
    dir: Dir,
    run: RunFile,
    objects: Objects,
}

/// One record, as it was appended. Boxed: the three differ much in size.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    Call(Box<ToolCall>),
    Result(Box<ToolResult>),
    Event(Box<ExecutionEvent>),
}

/// A record and its place in the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub seq: Seq,
    pub record: Record,
}

impl RunFolder {
    pub fn open(run_dir: &Path) -> Result<RunFolder, JournalError> {
        let dir = open_run(run_dir)?;
        let run = read_run(&dir)?;
        Ok(RunFolder { objects: Objects::beside(run_dir), dir, run })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn header(&self) -> &RunHeader {
        &self.run.header
    }

    /// The answer to the one question of the run, if it was given.
    pub fn confirmation(&self) -> Option<&Confirmation> {
        self.run.confirmation.as_ref()
    }

    /// All records in order, one at a time. Each is checked against the chain; the first that is not as it
    /// was written ends the reading with [`JournalError::Damaged`].
    pub fn records(&self) -> Result<Records<'_>, JournalError> {
        let scan = Scan::open(&self.dir, self.run.start())
            .map_err(|source| io_error("read", self.path(), source))?;
        Ok(Records { path: self.path(), scan, ended: false })
    }

    /// Reads stored data by its hash, and checks it.
    pub fn object(&self, data: &DataRef) -> Result<Vec<u8>, JournalError> {
        self.objects.get(data)
    }

    /// The complete output of a call, wherever it is kept.
    pub fn data(&self, result: &ToolResult) -> Result<Option<Value>, JournalError> {
        match (&result.data, &result.data_ref) {
            (Some(data), _) => Ok(Some(data.clone())),
            (None, Some(stored)) => {
                serde_json::from_slice(&self.object(stored)?).map(Some).map_err(JournalError::NotJson)
            }
            (None, None) => Ok(None),
        }
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    pub(crate) fn run(&self) -> &RunFile {
        &self.run
    }
}

/// The records of a run, in order.
pub struct Records<'a> {
    path: &'a Path,
    scan: Scan<'a>,
    ended: bool,
}

impl Records<'_> {
    /// The newest record read so far.
    pub fn head(&self) -> ChainHead {
        self.scan.head()
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Entry, JournalError>;

    fn next(&mut self) -> Option<Result<Entry, JournalError>> {
        if self.ended {
            return None;
        }
        let next = match self.scan.next() {
            Ok(Some(Found::Record)) => Some(read(&self.scan.current)),
            Ok(Some(Found::Problem(problem))) => Some(Err(JournalError::Damaged(Box::new(problem)))),
            Ok(None) => None,
            Err(source) => Some(Err(io_error("read", self.path, source))),
        };
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

fn read(current: &Current) -> Result<Entry, JournalError> {
    let record = match current.kind {
        Kind::Call => serde_json::from_slice(&current.text).map(|call| Record::Call(Box::new(call))),
        Kind::Result => serde_json::from_slice(&current.text).map(|result| Record::Result(Box::new(result))),
        Kind::Event => serde_json::from_slice(&current.text).map(|event| Record::Event(Box::new(event))),
    };
    match record {
        Ok(record) => Ok(Entry { seq: current.seq, record }),
        Err(error) => {
            let message = format!("this line is not a record that this build can read: {error}");
            Err(JournalError::Damaged(Box::new(current.problem(ProblemKind::Invariant, message))))
        }
    }
}

impl Current {
    /// A problem with this record.
    pub(crate) fn problem(&self, what: ProblemKind, message: String) -> Problem {
        let place = (!self.from_wal).then_some((self.line, self.offset));
        Problem {
            file: self.kind.file().to_owned(),
            line: place.map(|(line, _)| line),
            offset: place.map(|(_, offset)| offset),
            seq: Some(self.seq),
            what,
            message,
        }
    }
}
