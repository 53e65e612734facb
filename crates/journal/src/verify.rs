//! Proves that a run folder is what was written, or names the first record that is not.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use envelope::{Artifact, Confirmation, DataRef, EventType, Hash, canonical_hash};
use serde::{Deserialize, Serialize};

use crate::artifacts;
use crate::disk::Dir;
use crate::error::JournalError;
use crate::facts::{CallFacts, EventFacts, ResultFacts, Rules, short};
use crate::folder::RunFolder;
use crate::header::{RUN_FILE, RunFile};
use crate::kind::{ChainHead, Kind, Seq};
use crate::objects::{OBJECTS, Objects, names};
use crate::problem::{Problem, ProblemKind, TornTail};
use crate::run_log::io_error;
use crate::scan::{Current, Found, Scan};
use crate::wal::{Left, WAL_FILE};

/// Behind so many problems nobody looks for more, and each can cost a search through the logs.
const MAX_PROBLEMS: usize = 100;

/// What is known about a run after reading all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    pub records: u64,
    pub head: ChainHead,
    /// The run came to its end (`run.finished` is recorded).
    pub finished: bool,
    /// The chain ends in the head that was given. Without one, records cut off the end go unnoticed.
    pub proven: bool,
    /// Empty: nothing was changed.
    pub problems: Vec<Problem>,
    /// A line cut in the middle by a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torn_tail: Option<TornTail>,
    /// The run is open or was interrupted: its write-ahead log is still there.
    pub open: bool,
    /// How many of the records only the write-ahead log has; continuing the run restores them.
    pub restorable: u64,
}

impl Verification {
    pub fn intact(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Reads a run from its first record to its last and reports everything that is not as it was written.
///
/// Takes no lock. A run that is still going can be verified; a write in flight is not a problem.
pub fn verify(run_dir: &Path, expected_head: Option<&Hash>) -> Result<Verification, JournalError> {
    let first = look(run_dir, expected_head)?;
    if first.problems.is_empty() || !first.open {
        return Ok(first);
    }
    // In a run that is still going, a gap may be a write in flight. Damage is there at the second look too.
    let mut second = look(run_dir, expected_head)?;
    second.problems.retain(|problem| first.problems.contains(problem));
    Ok(second)
}

fn look(run_dir: &Path, expected_head: Option<&Hash>) -> Result<Verification, JournalError> {
    let folder = RunFolder::open(run_dir)?;
    let failed = |source| io_error("read", run_dir, source);
    let has_wal = || folder.dir().read(WAL_FILE).map(|wal| wal.is_some()).map_err(failed);
    let open_before = has_wal()?;
    let mut scan = Scan::open(folder.dir(), folder.run().start()).map_err(failed)?;
    let mut check = Check::new(&folder, Objects::beside(run_dir), expected_head);
    while check.problems.len() < MAX_PROBLEMS {
        match scan.next().map_err(failed)? {
            Some(Found::Record) => check.record(&scan.current, scan.head())?,
            Some(Found::Problem(problem)) => check.problems.push(problem),
            None => break,
        }
    }
    let (head, torn) = (scan.head(), scan.torn());
    // A writer that came in the meantime made its write-ahead log before it touched the three logs.
    let open = has_wal()? || open_before;
    check.problems.extend(Left::read(folder.dir()).map_err(failed)?.problem());
    if !open {
        check.problems.extend(torn.iter().map(|torn| Problem {
            file: torn.file.clone(),
            line: Some(torn.line),
            offset: Some(torn.offset),
            seq: Some(head.seq.saturating_add(1)),
            what: ProblemKind::Truncated,
            message: "the log ends in the middle of this line".to_owned(),
        }));
    }
    if !open && !check.finished && check.problems.is_empty() {
        // The write-ahead log goes away only after `run.finished` is recorded.
        check.problems.push(Problem {
            file: Kind::Event.file().to_owned(),
            line: None,
            offset: None,
            seq: Some(head.seq.saturating_add(1)),
            what: ProblemKind::Truncated,
            message: "the run is neither finished nor open: its end was cut off".to_owned(),
        });
    }
    check.ending();
    check.header();
    check.confirmation();
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

/// Where a call that has no result yet was recorded.
struct OpenCall {
    seq: Seq,
    line: u64,
    offset: u64,
}

/// The artifacts that an event names.
#[derive(Deserialize)]
struct LeftBehind {
    #[serde(default)]
    artifacts: Vec<Artifact>,
}

/// The rules that hold between records.
struct Check<'a> {
    run: &'a RunFile,
    folder: &'a Dir,
    objects: Objects,
    expected_head: Option<&'a Hash>,
    /// Which record bears the expected head, if one does.
    expected_at: Option<Seq>,
    rules: Rules,
    /// `None`: the call has its result.
    calls: HashMap<u128, Option<OpenCall>>,
    checked_objects: HashSet<Hash>,
    checked_artifacts: HashSet<(String, Hash)>,
    confirmations: Vec<Confirmation>,
    records: u64,
    restorable: u64,
    finished: bool,
    calls_made: bool,
    problems: Vec<Problem>,
}

impl<'a> Check<'a> {
    fn new(folder: &'a RunFolder, objects: Objects, expected_head: Option<&'a Hash>) -> Check<'a> {
        Check {
            run: folder.run(),
            folder: folder.dir(),
            objects,
            expected_head,
            expected_at: None,
            rules: Rules::new(),
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

    fn record(&mut self, current: &Current, head: ChainHead) -> Result<(), JournalError> {
        self.records += 1;
        self.restorable += u64::from(current.from_wal);
        if self.expected_head == Some(&head.hash) {
            self.expected_at = Some(head.seq);
        }
        let read = match current.kind {
            Kind::Call => serde_json::from_slice(&current.text).map(|facts| self.call(current, &facts)),
            Kind::Event => match serde_json::from_slice(&current.text) {
                Ok(facts) => {
                    self.event(current, &facts)?;
                    Ok(())
                }
                Err(error) => Err(error),
            },
            Kind::Result => match serde_json::from_slice(&current.text) {
                Ok(facts) => {
                    self.result(current, &facts)?;
                    Ok(())
                }
                Err(error) => Err(error),
            },
        };
        if let Err(error) = read {
            self.found(current, ProblemKind::Invariant, format!("this line is not a record: {error}"));
        }
        Ok(())
    }

    fn found(&mut self, current: &Current, what: ProblemKind, message: String) {
        self.problems.push(current.problem(what, message));
    }

    fn same_run(&mut self, current: &Current, run_id: &str) {
        if run_id != self.run.header.run_id.as_str() {
            self.found(current, ProblemKind::Foreign, format!("this record is of run `{run_id}`"));
        }
    }

    fn call(&mut self, current: &Current, facts: &CallFacts<'_>) {
        self.same_run(current, &facts.run_id);
        self.calls_made = true;
        let open = OpenCall { seq: current.seq, line: current.line, offset: current.offset };
        // A call that is still open may be recorded again: that is how a run goes on after a crash.
        if let Some(None) = self.calls.insert(short(&facts.call_id), Some(open)) {
            let message = format!("call `{}` was made again after it had ended", facts.call_id);
            self.found(current, ProblemKind::Invariant, message);
        }
    }

    fn result(&mut self, current: &Current, facts: &ResultFacts<'_>) -> Result<(), JournalError> {
        self.same_run(current, &facts.run_id);
        if let Some(rule) = self.rules.broken(facts) {
            self.found(current, ProblemKind::Invariant, rule.to_owned());
        }
        match self.calls.insert(short(&facts.call_id), None) {
            Some(Some(_)) => {}
            Some(None) => {
                let message = format!("call `{}` has a result already", facts.call_id);
                self.found(current, ProblemKind::OrphanResult, message);
            }
            None if facts.never_started() => {}
            None => {
                let message = format!("no call `{}` is recorded before it", facts.call_id);
                self.found(current, ProblemKind::OrphanResult, message);
            }
        }
        if let Some(data) = &facts.data_ref {
            self.object(current, data, "the data of")?;
        }
        for change in &facts.changes {
            for lost in change.lost() {
                let path = change.paths().next().unwrap_or_default();
                let kept = DataRef { hash: lost.hash, bytes: lost.bytes };
                self.object(current, &kept, &format!("`{path}` before the change, named by"))?;
            }
        }
        for artifact in &facts.artifacts {
            self.artifact(current, artifact)?;
        }
        Ok(())
    }

    /// That an artifact which a result lists is there and is what was written.
    fn artifact(&mut self, current: &Current, artifact: &Artifact) -> Result<(), JournalError> {
        // A task names its artifacts each time it is asked how it ended.
        if !self.checked_artifacts.insert((artifact.path.clone(), artifact.hash)) {
            return Ok(());
        }
        let what = match artifacts::check(self.folder, artifact) {
            Ok(()) => return Ok(()),
            Err(JournalError::ArtifactMissing { .. }) => ProblemKind::ArtifactMissing,
            Err(JournalError::ArtifactChanged { .. }) => ProblemKind::ArtifactChanged,
            Err(other) => return Err(other),
        };
        let message = format!("named in {} line {}", current.kind.file(), current.line);
        let (file, seq) = (artifact.path.clone(), Some(current.seq));
        self.problems.push(Problem { file, line: None, offset: None, seq, what, message });
        Ok(())
    }

    /// That stored content which a result refers to is there and is what was stored.
    fn object(&mut self, current: &Current, data: &DataRef, what: &str) -> Result<(), JournalError> {
        if !self.checked_objects.insert(data.hash) {
            return Ok(());
        }
        let (folder, name) = names(&data.hash);
        let noun = match current.kind {
            Kind::Call => "call",
            Kind::Result => "result",
            Kind::Event => "event",
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
        self.problems.push(Problem { file, line: None, offset: None, seq, what: kind, message });
        Ok(())
    }

    fn event(&mut self, current: &Current, facts: &EventFacts<'_>) -> Result<(), JournalError> {
        self.same_run(current, &facts.run_id);
        self.finished |= facts.event_type == EventType::RunFinished;
        if facts.event_type == EventType::RunConfirmed {
            let given: Option<Confirmation> =
                facts.payload.and_then(|payload| serde_json::from_str(payload.get()).ok());
            if let Some(forecast) = given.as_ref().and_then(|given| given.forecast.as_ref()) {
                self.object(current, forecast, "the forecast of the yes told by")?;
            }
            self.confirmations.extend(given);
        }
        // What ended with the run and not with a call left its artifacts in an event.
        let left = facts.payload.filter(|payload| payload.get().contains("\"artifacts\""));
        let left = left.and_then(|payload| serde_json::from_str::<LeftBehind>(payload.get()).ok());
        for artifact in left.into_iter().flat_map(|left| left.artifacts) {
            self.artifact(current, &artifact)?;
        }
        Ok(())
    }

    /// A finished run has no open call. Where lines are damaged or gone, a result may be among them, and the
    /// one true problem should not stand in a crowd of guesses.
    fn ending(&mut self) {
        if !self.finished || self.problems.iter().any(|problem| problem.what.is_damage()) {
            return;
        }
        let open: BTreeMap<Seq, OpenCall> =
            self.calls.drain().filter_map(|(_, call)| call.map(|call| (call.seq, call))).collect();
        self.problems.extend(open.into_values().map(|call| Problem {
            file: Kind::Call.file().to_owned(),
            line: Some(call.line),
            offset: Some(call.offset),
            seq: Some(call.seq),
            what: ProblemKind::CallWithoutResult,
            message: "the run is finished, but this call has no result".to_owned(),
        }));
    }

    fn in_run_file(&mut self, what: ProblemKind, message: &str) {
        let (file, message) = (RUN_FILE.to_owned(), message.to_owned());
        self.problems.push(Problem { file, line: None, offset: None, seq: None, what, message });
    }

    fn header(&mut self) {
        let header = &self.run.header;
        if self.problems.iter().any(|problem| problem.what == ProblemKind::HeaderChanged) {
            return;
        }
        if canonical_hash(&header.plan) != header.plan_hash {
            self.in_run_file(ProblemKind::HeaderChanged, "`planHash` is not the hash of the plan");
        } else if canonical_hash(&header.policy) != header.policy_hash {
            self.in_run_file(ProblemKind::HeaderChanged, "`policyHash` is not the hash of the policy");
        }
    }

    /// The yes in `run.json` is for this plan and is the one that the events tell of. A crash can come
    /// between the two, in either order, but only before the first call.
    fn confirmation(&mut self) {
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
        self.in_run_file(ProblemKind::ConfirmationMismatch, wrong);
    }

    fn expected_head(&mut self, head: ChainHead) -> bool {
        let Some(expected) = self.expected_head else { return false };
        if *expected == head.hash {
            return self.problems.is_empty();
        }
        let message = match self.expected_at {
            Some(seq) => {
                format!("the head you gave is that of record {seq}; the chain goes on to {}", head.seq)
            }
            None => format!("the chain ends in {}, not in {expected}", head.hash),
        };
        let (file, seq) = (Kind::Event.file().to_owned(), Some(head.seq));
        let what = ProblemKind::HeadDiffers;
        self.problems.push(Problem { file, line: None, offset: None, seq, what, message });
        false
    }
}
