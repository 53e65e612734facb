//! Verifies that a run folder is unchanged, or names the first record that is not.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use envelope::{Artifact, Confirmation, DataRef, EventType, Hash, canonical_hash};
use serde::{Deserialize, Serialize};

use crate::artifacts;
use crate::disk::FolderHandle;
use crate::error::JournalError;
use crate::log_kind::{ChainHead, LogKind, Seq};
use crate::log_scanner::{CurrentRecord, LogScanner, ScanItem};
use crate::object_folder::{OBJECTS, ObjectFolder, object_path};
use crate::problem::{JournalProblem, ProblemKind, TornTail};
use crate::record_facts::{CallFacts, EventFacts, ResultFacts, ResultRules, compact_id};
use crate::run_folder::RunFolder;
use crate::run_header::{RUN_FILE, RecordedTool, RunFile, RunHeader};
use crate::run_log::io_error;
use crate::wal::{WAL_FILE, WalFile};

/// Limit of reported problems; each can cost a search through the logs.
const MAX_PROBLEMS: usize = 100;

/// The result of verifying a whole run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    pub records: u64,
    pub head: ChainHead,
    /// True if the run ended (`run.finished` is recorded).
    pub finished: bool,
    /// True if the chain ends in the expected head. Without one, records cut off at the end are not detected.
    pub proven: bool,
    /// Empty if nothing was changed.
    pub problems: Vec<JournalProblem>,
    /// A line cut in the middle by a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torn_tail: Option<TornTail>,
    /// True if the run is open or was interrupted: its write-ahead log still exists.
    pub open: bool,
    /// Number of records that only the write-ahead log has; resuming the run restores them.
    pub restorable: u64,
}

impl Verification {
    pub fn is_intact(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Reads a whole run and reports everything that differs from the written record.
///
/// Takes no lock. A run in progress can be verified; a write in flight is not a problem.
pub fn verify(run_dir: &Path, expected_head: Option<&Hash>) -> Result<Verification, JournalError> {
    let first = verify_once(run_dir, expected_head)?;
    if first.problems.is_empty() || !first.open {
        return Ok(first);
    }
    // In a running run a gap can be a write in flight. Real damage is still there on the second read.
    let mut second = verify_once(run_dir, expected_head)?;
    second.problems.retain(|problem| first.problems.contains(problem));
    Ok(second)
}

fn verify_once(run_dir: &Path, expected_head: Option<&Hash>) -> Result<Verification, JournalError> {
    let folder = RunFolder::open(run_dir)?;
    let failed = |source| io_error("read", run_dir, source);
    let has_wal = || folder.dir().open_file(WAL_FILE).map(|wal| wal.is_some()).map_err(failed);
    let open_before = has_wal()?;
    let mut scan = LogScanner::open(folder.dir(), folder.run().start()).map_err(failed)?;
    let mut check = RecordVerifier::new(&folder, ObjectFolder::for_run(run_dir), expected_head);
    while check.problems.len() < MAX_PROBLEMS {
        match scan.next().map_err(failed)? {
            Some(ScanItem::Record) => check.check_record(&scan.current, scan.head())?,
            Some(ScanItem::Problem(problem)) => check.problems.push(problem),
            None => break,
        }
    }
    let (head, torn) = (scan.head(), scan.torn_tails());
    // A writer that started meanwhile created its write-ahead log before it wrote to the three logs.
    let open = has_wal()? || open_before;
    check.problems.extend(WalFile::read(folder.dir()).map_err(failed)?.problem());
    if !open {
        check.problems.extend(torn.iter().map(|torn| JournalProblem {
            file: torn.file.clone(),
            line: Some(torn.line),
            offset: Some(torn.offset),
            seq: Some(head.seq.saturating_add(1)),
            what: ProblemKind::Truncated,
            message: "the log ends in the middle of this line".to_owned(),
        }));
    }
    if !open && !check.finished && check.problems.is_empty() {
        // The write-ahead log is removed only after `run.finished` is recorded.
        check.problems.push(JournalProblem {
            file: LogKind::Event.file().to_owned(),
            line: None,
            offset: None,
            seq: Some(head.seq.saturating_add(1)),
            what: ProblemKind::Truncated,
            message: "the run is neither finished nor open: its end was cut off".to_owned(),
        });
    }
    check.check_open_calls();
    check.check_header();
    check.check_header_objects()?;
    check.check_confirmation();
    let proven = check.expected_head(head);
    Ok(Verification {
        records: check.records,
        head,
        finished: check.finished,
        proven,
        problems: check.problems,
        torn_tail: torn.into_iter().next(),
        open,
        restorable: check.restorable,
    })
}

/// The record of a call that has no result yet.
struct UnansweredCall {
    seq: Seq,
    line: u64,
    offset: u64,
}

/// The artifacts that an event names.
#[derive(Deserialize)]
struct EventArtifacts {
    #[serde(default)]
    artifacts: Vec<Artifact>,
}

/// Checks the rules that hold between records.
struct RecordVerifier<'a> {
    run: &'a RunFile,
    folder: &'a FolderHandle,
    objects: ObjectFolder,
    expected_head: Option<&'a Hash>,
    /// The record with the expected head, if one was found.
    expected_at: Option<Seq>,
    rules: ResultRules,
    /// `None` if the call has its result.
    calls: HashMap<u128, Option<UnansweredCall>>,
    checked_objects: HashSet<Hash>,
    checked_artifacts: HashSet<(String, Hash)>,
    confirmations: Vec<Confirmation>,
    records: u64,
    restorable: u64,
    finished: bool,
    calls_made: bool,
    problems: Vec<JournalProblem>,
}

impl<'a> RecordVerifier<'a> {
    fn new(
        folder: &'a RunFolder,
        objects: ObjectFolder,
        expected_head: Option<&'a Hash>,
    ) -> RecordVerifier<'a> {
        RecordVerifier {
            run: folder.run(),
            folder: folder.dir(),
            objects,
            expected_head,
            expected_at: None,
            rules: ResultRules::new(),
            calls: HashMap::new(),
            checked_objects: HashSet::new(),
            checked_artifacts: HashSet::new(),
            confirmations: Vec::new(),
            records: 0,
            restorable: 0,
            finished: false,
            calls_made: false,
            problems: Vec::new(),
        }
    }

    fn check_record(&mut self, current: &CurrentRecord, head: ChainHead) -> Result<(), JournalError> {
        self.records += 1;
        self.restorable += u64::from(current.from_wal);
        if self.expected_head == Some(&head.hash) {
            self.expected_at = Some(head.seq);
        }
        let read = match current.kind {
            LogKind::Call => {
                serde_json::from_slice(&current.text).map(|facts| self.check_call(current, &facts))
            }
            LogKind::Event => match serde_json::from_slice(&current.text) {
                Ok(facts) => {
                    self.check_event(current, &facts)?;
                    Ok(())
                }
                Err(error) => Err(error),
            },
            LogKind::Result => match serde_json::from_slice(&current.text) {
                Ok(facts) => {
                    self.check_result(current, &facts)?;
                    Ok(())
                }
                Err(error) => Err(error),
            },
        };
        if let Err(error) = read {
            self.add_problem(current, ProblemKind::Invariant, format!("this line is not a record: {error}"));
        }
        Ok(())
    }

    fn add_problem(&mut self, current: &CurrentRecord, what: ProblemKind, message: String) {
        self.problems.push(current.problem(what, message));
    }

    /// Checks the run that a line names. Lines of [`RunHeader::SHORT_LINES`] name one only if it is another.
    fn check_run_id(&mut self, current: &CurrentRecord, named: Option<&str>) {
        match named {
            Some(named) if named != self.run.header.run_id.as_str() => {
                let message = format!("this record belongs to run `{named}`");
                self.add_problem(current, ProblemKind::Foreign, message);
            }
            None if self.run.header.format < RunHeader::SHORT_LINES => {
                self.add_problem(current, ProblemKind::Invariant, "this line names no run".to_owned());
            }
            Some(_) | None => {}
        }
    }

    fn check_call(&mut self, current: &CurrentRecord, facts: &CallFacts<'_>) {
        self.check_run_id(current, facts.run_id.as_deref());
        self.calls_made = true;
        let open = UnansweredCall { seq: current.seq, line: current.line, offset: current.offset };
        // An open call can be recorded again: a resume after a crash does that.
        if let Some(None) = self.calls.insert(compact_id(&facts.call_id), Some(open)) {
            let message = format!("call `{}` was made again after it had ended", facts.call_id);
            self.add_problem(current, ProblemKind::Invariant, message);
        }
    }

    fn check_result(&mut self, current: &CurrentRecord, facts: &ResultFacts<'_>) -> Result<(), JournalError> {
        self.check_run_id(current, facts.run_id.as_deref());
        let is_short = self.run.header.format >= RunHeader::SHORT_LINES;
        if let Some(rule) = self.rules.broken_invariant(facts, is_short) {
            self.add_problem(current, ProblemKind::Invariant, rule.to_owned());
        }
        match self.calls.insert(compact_id(&facts.call_id), None) {
            Some(Some(_)) => {}
            Some(None) => {
                let message = format!("call `{}` has a result already", facts.call_id);
                self.add_problem(current, ProblemKind::OrphanResult, message);
            }
            None if facts.never_started() => {}
            None => {
                let message = format!("no call `{}` is recorded before it", facts.call_id);
                self.add_problem(current, ProblemKind::OrphanResult, message);
            }
        }
        if let Some(data) = &facts.data_ref {
            self.check_object(current, data, "the data of")?;
        }
        for change in &facts.changes {
            for lost in change.overwritten_states() {
                let path = change.paths().next().unwrap_or_default();
                let kept = DataRef { hash: lost.hash, bytes: lost.bytes };
                self.check_object(current, &kept, &format!("`{path}` before the change, named by"))?;
            }
        }
        for artifact in &facts.artifacts {
            self.check_artifact(current, artifact)?;
        }
        Ok(())
    }

    /// Checks that an artifact listed in a result exists and is unchanged.
    fn check_artifact(&mut self, current: &CurrentRecord, artifact: &Artifact) -> Result<(), JournalError> {
        // A task lists its artifacts each time its end is queried.
        if !self.checked_artifacts.insert((artifact.path.clone(), artifact.hash)) {
            return Ok(());
        }
        let what = match artifacts::check_artifact(self.folder, artifact) {
            Ok(()) => return Ok(()),
            Err(JournalError::ArtifactMissing { .. }) => ProblemKind::ArtifactMissing,
            Err(JournalError::ArtifactChanged { .. }) => ProblemKind::ArtifactChanged,
            Err(other) => return Err(other),
        };
        let message = format!("named in {} line {}", current.kind.file(), current.line);
        let (file, seq) = (artifact.path.clone(), Some(current.seq));
        self.problems.push(JournalProblem { file, line: None, offset: None, seq, what, message });
        Ok(())
    }

    /// Checks that stored content named in a result exists and is unchanged.
    fn check_object(
        &mut self,
        current: &CurrentRecord,
        data: &DataRef,
        what: &str,
    ) -> Result<(), JournalError> {
        if !self.checked_objects.insert(data.hash) {
            return Ok(());
        }
        let (folder, name) = object_path(&data.hash);
        let noun = match current.kind {
            LogKind::Call => "call",
            LogKind::Result => "result",
            LogKind::Event => "event",
        };
        let message = format!("{what} the {noun} in {} line {}", current.kind.file(), current.line);
        let kind = match self.objects.check(data) {
            Ok(()) => return Ok(()),
            Err(JournalError::ObjectMissing { .. }) => ProblemKind::ObjectMissing,
            Err(JournalError::ObjectChanged { .. }) => ProblemKind::ObjectChanged,
            Err(other) => return Err(other),
        };
        let file = format!("{OBJECTS}/{folder}/{name}");
        let seq = Some(current.seq);
        self.problems.push(JournalProblem { file, line: None, offset: None, seq, what: kind, message });
        Ok(())
    }

    fn check_event(&mut self, current: &CurrentRecord, facts: &EventFacts<'_>) -> Result<(), JournalError> {
        self.check_run_id(current, facts.run_id.as_deref());
        self.finished |= facts.event_type == EventType::RunFinished;
        if facts.event_type == EventType::RunConfirmed {
            let given: Option<Confirmation> =
                facts.payload.and_then(|payload| serde_json::from_str(payload.get()).ok());
            if let Some(forecast) = given.as_ref().and_then(|given| given.forecast.as_ref()) {
                self.check_object(current, forecast, "the forecast of the approval in")?;
            }
            self.confirmations.extend(given);
        }
        // Work that ended with the run instead of a call lists its artifacts in an event.
        let left = facts.payload.filter(|payload| payload.get().contains("\"artifacts\""));
        let left = left.and_then(|payload| serde_json::from_str::<EventArtifacts>(payload.get()).ok());
        for artifact in left.into_iter().flat_map(|left| left.artifacts) {
            self.check_artifact(current, &artifact)?;
        }
        Ok(())
    }

    /// Checks that a finished run has no open call. Skipped after damage: a damaged or missing line may have
    /// been a result, and guesses would hide the real problem.
    fn check_open_calls(&mut self) {
        if !self.finished || self.problems.iter().any(|problem| problem.what.is_damage()) {
            return;
        }
        let open: BTreeMap<Seq, UnansweredCall> =
            self.calls.drain().filter_map(|(_, call)| call.map(|call| (call.seq, call))).collect();
        self.problems.extend(open.into_values().map(|call| JournalProblem {
            file: LogKind::Call.file().to_owned(),
            line: Some(call.line),
            offset: Some(call.offset),
            seq: Some(call.seq),
            what: ProblemKind::CallWithoutResult,
            message: "the run is finished, but this call has no result".to_owned(),
        }));
    }

    fn add_header_problem(&mut self, what: ProblemKind, message: &str) {
        let (file, message) = (RUN_FILE.to_owned(), message.to_owned());
        self.problems.push(JournalProblem { file, line: None, offset: None, seq: None, what, message });
    }

    fn check_header(&mut self) {
        let header = &self.run.header;
        if self.problems.iter().any(|problem| problem.what == ProblemKind::HeaderChanged) {
            return;
        }
        if canonical_hash(&header.plan) != header.plan_hash {
            self.add_header_problem(ProblemKind::HeaderChanged, "`planHash` is not the hash of the plan");
        } else if header.policy.as_ref().is_some_and(|policy| canonical_hash(policy) != header.policy_hash) {
            self.add_header_problem(ProblemKind::HeaderChanged, "`policyHash` is not the hash of the policy");
        }
    }

    /// Checks that the policy and the declarations of the tools are in the store and unchanged.
    fn check_header_objects(&mut self) -> Result<(), JournalError> {
        let header = &self.run.header;
        if header.policy.is_none() {
            self.check_header_object(&header.policy_hash, "the policy")?;
        }
        for tool in &header.tools {
            if let RecordedTool::Stored(tool) = tool {
                self.check_header_object(&tool.hash, &format!("the declaration of `{}`", tool.name))?;
            }
        }
        Ok(())
    }

    fn check_header_object(&mut self, hash: &Hash, what: &str) -> Result<(), JournalError> {
        let kind = match self.objects.check_hash(hash) {
            Ok(()) => return Ok(()),
            Err(JournalError::ObjectMissing { .. }) => ProblemKind::ObjectMissing,
            Err(JournalError::ObjectChanged { .. }) => ProblemKind::ObjectChanged,
            Err(other) => return Err(other),
        };
        let (folder, name) = object_path(hash);
        let (file, message) = (format!("{OBJECTS}/{folder}/{name}"), format!("{what} that {RUN_FILE} names"));
        self.problems.push(JournalProblem { file, line: None, offset: None, seq: None, what: kind, message });
        Ok(())
    }

    /// Checks that the confirmation in `run.json` is for this plan and matches the events. A crash can happen
    /// between the two writes, in either order, but only before the first call.
    fn check_confirmation(&mut self) {
        let header = &self.run.header;
        let started = self.finished || self.calls_made;
        let wrong = match &self.run.confirmation {
            None if header.confirm && self.calls_made => "calls were made, but the confirmation is not here",
            None => return,
            Some(given) => {
                let forecast = given.forecast.as_ref().map(|forecast| &forecast.hash);
                let (plan, policy) = (&header.plan_hash, &header.policy_hash);
                if given.binding != Confirmation::binding(plan, policy, &header.registry_version, forecast) {
                    "the confirmation was given for another plan, policy, registry or forecast"
                } else if (started || !self.confirmations.is_empty()) && !self.confirmations.contains(given) {
                    "no recorded confirmation is the one in here"
                } else {
                    return;
                }
            }
        };
        self.add_header_problem(ProblemKind::ConfirmationMismatch, wrong);
    }

    fn expected_head(&mut self, head: ChainHead) -> bool {
        let Some(expected) = self.expected_head else { return false };
        if *expected == head.hash {
            return self.problems.is_empty();
        }
        let message = match self.expected_at {
            Some(seq) => {
                format!("the expected head belongs to record {seq}; the chain continues to {}", head.seq)
            }
            None => format!("the chain ends in {}, not in {expected}", head.hash),
        };
        let (file, seq) = (LogKind::Event.file().to_owned(), Some(head.seq));
        let what = ProblemKind::HeadDiffers;
        self.problems.push(JournalProblem { file, line: None, offset: None, seq, what, message });
        false
    }
}
