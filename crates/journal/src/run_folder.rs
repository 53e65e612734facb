//! Reads a run folder: the header, and the records in order.

use std::path::Path;

use envelope::{Confirmation, DataRef, ExecutionEvent, ToolCall, ToolDecl, ToolResult};
use serde_json::Value;

use crate::disk::FolderHandle;
use crate::error::JournalError;
use crate::log_kind::{ChainHead, Seq};
use crate::log_scanner::{CurrentRecord, LogScanner, ScanItem};
use crate::object_folder::ObjectFolder;
use crate::problem::{JournalProblem, ProblemKind};
use crate::record_lines::LineForm;
use crate::recover::read_run;
use crate::run_header::{RecordedTool, RunFile, RunHeader};
use crate::run_log::{io_error, open_run};

/// A run folder, open for reading. Takes no lock and changes nothing, so the run can still be in progress.
#[derive(Debug)]
pub struct RunFolder {
    dir: FolderHandle,
    run: RunFile,
    objects: ObjectFolder,
}

/// One record. Boxed because the variants differ much in size.
#[derive(Debug, Clone, PartialEq)]
pub enum JournalRecord {
    Call(Box<ToolCall>),
    Result(Box<ToolResult>),
    Event(Box<ExecutionEvent>),
}

/// A record with its sequence number.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalEntry {
    pub seq: Seq,
    pub record: JournalRecord,
}

impl RunFolder {
    pub fn open(run_dir: &Path) -> Result<RunFolder, JournalError> {
        let dir = open_run(run_dir)?;
        let run = read_run(&dir)?;
        Ok(RunFolder { objects: ObjectFolder::for_run(run_dir), dir, run })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn header(&self) -> &RunHeader {
        &self.run.header
    }

    /// Returns the confirmation of the run, if it was given.
    pub fn confirmation(&self) -> Option<&Confirmation> {
        self.run.confirmation.as_ref()
    }

    /// Returns all records in order, one at a time. Each is checked against the chain; the first damaged one
    /// ends the iteration with [`JournalError::Damaged`].
    pub fn records(&self) -> Result<RecordReader<'_>, JournalError> {
        let scan = LogScanner::open(&self.dir, self.run.start())
            .map_err(|source| io_error("read", self.path(), source))?;
        Ok(RecordReader { path: self.path(), form: LineForm::of(self.header()), scan, ended: false })
    }

    /// Whether the plan may have been read with [`plan::BraceRule::Everywhere`].
    pub fn may_have_other_braces(&self) -> bool {
        self.run.header.format < RunHeader::BRACES_AROUND_SCOPE
    }

    /// Reads stored data by its hash, and checks it.
    pub fn object(&self, data: &DataRef) -> Result<Vec<u8>, JournalError> {
        self.objects.get(data)
    }

    /// Returns the complete output of a call, inline or from the object store.
    pub fn data(&self, result: &ToolResult) -> Result<Option<Value>, JournalError> {
        match (&result.data, &result.data_ref) {
            (Some(data), _) => Ok(Some(data.clone())),
            (None, Some(stored)) => {
                serde_json::from_slice(&self.object(stored)?).map(Some).map_err(JournalError::NotJson)
            }
            (None, None) => Ok(None),
        }
    }

    /// Returns the policy of the run, from `run.json` or the object store.
    pub fn policy(&self) -> Result<Value, JournalError> {
        match &self.run.header.policy {
            Some(policy) => Ok(policy.clone()),
            None => {
                let bytes = self.objects.get_by_hash(&self.run.header.policy_hash)?;
                serde_json::from_slice(&bytes).map_err(JournalError::NotJson)
            }
        }
    }

    /// Returns the declarations of the tools that the plan uses, from `run.json` or the object store.
    pub fn tools(&self) -> Result<Vec<ToolDecl>, JournalError> {
        let declaration = |tool: &RecordedTool| match tool {
            RecordedTool::Declared(tool) => Ok((**tool).clone()),
            RecordedTool::Stored(tool) => {
                serde_json::from_slice(&self.objects.get_by_hash(&tool.hash)?).map_err(JournalError::NotJson)
            }
        };
        self.run.header.tools.iter().map(declaration).collect()
    }

    pub(crate) fn dir(&self) -> &FolderHandle {
        &self.dir
    }

    pub(crate) fn run(&self) -> &RunFile {
        &self.run
    }
}

/// The records of a run, in order.
pub struct RecordReader<'a> {
    path: &'a Path,
    form: LineForm,
    scan: LogScanner<'a>,
    ended: bool,
}

impl RecordReader<'_> {
    /// Returns the newest record read so far.
    pub fn head(&self) -> ChainHead {
        self.scan.head()
    }
}

impl Iterator for RecordReader<'_> {
    type Item = Result<JournalEntry, JournalError>;

    fn next(&mut self) -> Option<Result<JournalEntry, JournalError>> {
        if self.ended {
            return None;
        }
        let next = match self.scan.next() {
            Ok(Some(ScanItem::Record)) => Some(read(&self.form, &self.scan.current)),
            Ok(Some(ScanItem::Problem(problem))) => Some(Err(JournalError::Damaged(Box::new(problem)))),
            Ok(None) => None,
            Err(source) => Some(Err(io_error("read", self.path, source))),
        };
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

fn read(form: &LineForm, current: &CurrentRecord) -> Result<JournalEntry, JournalError> {
    match form.read(current.kind, &current.text) {
        Ok(record) => Ok(JournalEntry { seq: current.seq, record }),
        Err(error) => {
            let message = format!("this line is not a record that this build can read: {error}");
            Err(JournalError::Damaged(Box::new(current.problem(ProblemKind::Invariant, message))))
        }
    }
}

impl CurrentRecord {
    /// Creates a problem report about this record.
    pub(crate) fn problem(&self, what: ProblemKind, message: String) -> JournalProblem {
        let place = (!self.from_wal).then_some((self.line, self.offset));
        JournalProblem {
            file: self.kind.file().to_owned(),
            line: place.map(|(line, _)| line),
            offset: place.map(|(_, offset)| offset),
            seq: Some(self.seq),
            what,
            message,
        }
    }
}
