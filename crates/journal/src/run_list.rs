//! Lists the runs of a state folder, and finds one by the text that a user types.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use envelope::{RunId, SessionId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::disk::FolderHandle;
use crate::error::JournalError;
use crate::log_kind::LogKind;
use crate::pruning::PruningRuns;
use crate::run_header::{RUN_FILE, RunKind};
use crate::run_log::io_error;
use crate::summary_cache::SummaryCache;
use crate::wal::{WAL_FILE, WalContents};

/// Bytes read from the end of a log; enough for the last event of any run.
const TAIL: u64 = 64 << 10;

/// The state of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "state", content = "status")]
pub enum RunState {
    /// A process is writing to it.
    Running,
    /// No process writes to it, and it did not end.
    Interrupted,
    /// Ended, with the status from `run.finished`.
    Finished(Option<String>),
    /// There is a record, but `run.json` is unreadable or belongs to another folder.
    Damaged(Option<String>),
}

/// A run in a list. Read from `run.json` and the last event only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunSummary {
    /// The name of the folder, which is the id of the run.
    pub run_id: RunId,
    pub dir: PathBuf,
    /// From `run.json`; the modification time of the folder if that is unreadable.
    pub created_at: Timestamp,
    pub kind: RunKind,
    /// The runs whose changes it undoes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undoes: Vec<RunId>,
    /// The session that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The run that it continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The vault of the run, as in `run.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vault: Option<String>,
    #[serde(flatten)]
    pub state: RunState,
}

/// The reason why no single run was found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("no run is named `{wanted}`; `tollgate runs` lists them")]
    None { wanted: String },
    #[error("`{wanted}` matches {} runs; give more of the id: {}", matches.len(), matches.join(", "))]
    Ambiguous { wanted: String, matches: Vec<String> },
    #[error("run `{wanted}` belongs to another vault and is not shown here")]
    Foreign { wanted: String },
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Returns all runs, newest first, including damaged ones. Folders without a record are left out.
pub fn list_runs(runs_dir: &Path) -> Result<Vec<RunSummary>, JournalError> {
    let mut cache = SummaryCache::open(runs_dir);
    let mut runs = Vec::new();
    for path in paths(runs_dir)? {
        let known = run_id(&path).zip(cache.as_ref());
        if let Some(known) = known.as_ref().and_then(|(id, cache)| cache.get(id, &path)) {
            runs.push(known);
            continue;
        }
        let stamp = known.and_then(|(id, cache)| cache.stamp(&id));
        // An unreadable run must still be listed. A run that disappears meanwhile is left out.
        let (run, has_end) = match summary(&path) {
            Ok(Some((run, has_end))) => (Some(run), has_end),
            Ok(None) => (None, false),
            Err(error) => (damaged_summary(&path, &error), false),
        };
        let Some(run) = run else { continue };
        if let (true, Some(stamp), Some(cache)) = (has_end, stamp, &mut cache) {
            cache.add(stamp, run.clone());
        }
        runs.push(run);
    }
    if let Some(cache) = cache {
        cache.save();
    }
    sort_newest_first(&mut runs);
    Ok(runs)
}

/// Returns [`list_runs`] after some time. Reads only runs that had not finished or were not there in `known`: of a
/// finished run neither the links nor the age change.
pub(crate) fn list_runs_again(
    runs_dir: &Path,
    known: &[RunSummary],
) -> Result<Vec<RunSummary>, JournalError> {
    let is_finished = |run: &&RunSummary| matches!(run.state, RunState::Finished(_));
    let known: HashMap<&RunId, &RunSummary> =
        known.iter().filter(is_finished).map(|run| (&run.run_id, run)).collect();
    let read = |path: PathBuf| match run_id(&path).and_then(|id| known.get(&id).copied()) {
        Some(run) => Some(run.clone()),
        None => run_summary(&path),
    };
    let mut runs: Vec<RunSummary> = paths(runs_dir)?.into_iter().filter_map(read).collect();
    sort_newest_first(&mut runs);
    Ok(runs)
}

fn sort_newest_first(runs: &mut [RunSummary]) {
    // A new id is greater than those before it, also if the clock was set back; other ids tell no time.
    let millis = |run: &RunSummary| {
        let created = u64::try_from(run.created_at.as_millisecond()).unwrap_or(0);
        run.run_id.millis().unwrap_or(created)
    };
    runs.sort_by_cached_key(|run| Reverse((millis(run), run.created_at, Reverse(run.run_id.clone()))));
}

/// Returns the summaries of all runs, newest first. Reads a run when it is asked for, unless an id tells no time.
pub(crate) fn newest_first(runs_dir: &Path) -> Result<Box<dyn Iterator<Item = RunSummary>>, JournalError> {
    let mut found: Vec<(u64, PathBuf)> = Vec::new();
    for path in paths(runs_dir)? {
        let Some(id) = run_id(&path) else { continue };
        let Some(millis) = id.millis() else {
            return Ok(Box::new(list_runs(runs_dir)?.into_iter()));
        };
        found.push((millis, path));
    }
    found.sort_by(|a, b| b.cmp(a));
    let groups: Vec<Vec<PathBuf>> = found
        .chunk_by(|(a, _), (b, _)| a == b)
        .map(|same_time| same_time.iter().map(|(_, path)| path.clone()).collect())
        .collect();
    // Runs of the same millisecond are ordered by what is in them.
    Ok(Box::new(groups.into_iter().flat_map(|same_time| {
        let mut runs: Vec<RunSummary> = same_time.iter().filter_map(|path| run_summary(path)).collect();
        sort_newest_first(&mut runs);
        runs
    })))
}

/// Returns the runs whose ids begin with this text, newest first. Reads only these.
pub(crate) fn runs_with_prefix(runs_dir: &Path, prefix: &str) -> Result<Vec<RunSummary>, JournalError> {
    let fits =
        |path: &PathBuf| !prefix.is_empty() && run_id(path).is_some_and(|id| id.as_str().starts_with(prefix));
    let fitting = paths(runs_dir)?.into_iter().filter(fits);
    let mut runs: Vec<RunSummary> = fitting.filter_map(|path| run_summary(&path)).collect();
    sort_newest_first(&mut runs);
    Ok(runs)
}

/// Returns the ids of all runs, newest first if ids are generated in order of time. Reads no record, so that
/// the newest of many runs are found quickly.
pub fn run_ids(runs_dir: &Path) -> Result<Vec<RunId>, JournalError> {
    let mut ids: Vec<RunId> = paths(runs_dir)?.iter().filter_map(|path| run_id(path)).collect();
    ids.sort_by(|a, b| b.cmp(a));
    Ok(ids)
}

/// Returns the paths of the entries that can be runs; none if the folder does not exist. Names that begin with a
/// dot belong to files beside the runs, such as the cached summaries.
fn paths(runs_dir: &Path) -> Result<Vec<PathBuf>, JournalError> {
    match FolderHandle::open(runs_dir).and_then(|dir| dir.entry_names()) {
        Ok(mut names) => {
            // Runs that a killed prune had begun to remove are gone, also if their folders are still there.
            let pruning = PruningRuns::read(runs_dir).map_err(|source| io_error("list", runs_dir, source))?;
            names.retain(|name| {
                !name.starts_with('.') && !pruning.runs.iter().any(|run| run.as_str() == name)
            });
            Ok(names.into_iter().map(|name| runs_dir.join(name)).collect())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(io_error("list", runs_dir, error)),
    }
}

/// Returns the folder's name as a run id, if it is valid.
fn run_id(path: &Path) -> Option<RunId> {
    path.file_name().and_then(|name| name.to_str()).and_then(|name| RunId::parse(name).ok())
}

/// Returns the summary of one run; `None` without a record.
pub fn run_summary(run_dir: &Path) -> Option<RunSummary> {
    match summary(run_dir) {
        Ok(found) => found.map(|(run, _)| run),
        Err(error) => damaged_summary(run_dir, &error),
    }
}

/// Finds a run in the list by its id, or by a unique prefix of its id.
pub(crate) fn find_run(runs: &[RunSummary], wanted: &str) -> Result<PathBuf, FindError> {
    if let Some(run) = runs.iter().find(|run| run.run_id.as_str() == wanted) {
        return Ok(run.dir.clone());
    }
    let fitting: Vec<&RunSummary> =
        runs.iter().filter(|run| !wanted.is_empty() && run.run_id.as_str().starts_with(wanted)).collect();
    match fitting.as_slice() {
        [] => Err(FindError::None { wanted: wanted.to_owned() }),
        [run] => Ok(run.dir.clone()),
        several => Err(FindError::Ambiguous {
            wanted: wanted.to_owned(),
            matches: several.iter().map(|run| run.run_id.to_string()).collect(),
        }),
    }
}

/// Returns the summary of a run, and whether its log of events ends with the end of the run.
fn summary(path: &Path) -> io::Result<Option<(RunSummary, bool)>> {
    let Some(run_id) = run_id(path) else { return Ok(None) };
    let dir = FolderHandle::open(path)?;
    let text = dir.read_file(RUN_FILE)?;
    if text.is_none() && !has_records(&dir)? {
        // Interrupted before the run began: a folder is a run once it has `run.json`.
        return Ok(None);
    }
    let brief = match &text {
        None => Err("run.json is gone".to_owned()),
        Some(text) => serde_json::from_slice::<RunFileHead>(text)
            .map_err(|error| format!("run.json cannot be read: {error}")),
    };
    let brief = brief.and_then(|brief| match brief.run_id == run_id {
        true => Ok(brief),
        false => Err(format!("run.json is that of run {}", brief.run_id)),
    });
    let is_running = dir.is_locked()?;
    let logged = dir.open_file(LogKind::Event.file())?.map(last_event).transpose()?.flatten();
    let has_end = logged.is_some() && brief.is_ok();
    let finished = match logged {
        // The process may have been killed before it copied the last record from the write-ahead log.
        None if !is_running => last_record_in_wal(&dir)?,
        finished => finished,
    };
    let run = match brief {
        Ok(brief) => RunSummary {
            run_id,
            dir: path.to_owned(),
            created_at: brief.created_at,
            kind: brief.kind,
            undoes: brief.undoes,
            session: brief.session,
            continues: brief.continues.map(|continued| continued.run_id),
            goal: brief.plan.get("goal").and_then(Value::as_str).map(str::to_owned),
            vault: brief.vault,
            state: match finished {
                Some(status) => RunState::Finished(status),
                None if is_running => RunState::Running,
                // The write-ahead log is removed only after the end of the run was recorded.
                None if dir.open_file(WAL_FILE)?.is_none() => {
                    RunState::Damaged(Some("its end was cut off".to_owned()))
                }
                None => RunState::Interrupted,
            },
        },
        Err(why) => RunSummary {
            run_id,
            dir: path.to_owned(),
            created_at: modified_at(path)?,
            kind: RunKind::Plan,
            undoes: Vec::new(),
            session: None,
            continues: None,
            goal: None,
            vault: None,
            state: RunState::Damaged(Some(why)),
        },
    };
    Ok(Some((run, has_end)))
}

fn damaged_summary(path: &Path, error: &io::Error) -> Option<RunSummary> {
    let run_id = run_id(path)?;
    let created_at = modified_at(path).ok().filter(|_| path.is_dir())?;
    let state = RunState::Damaged(Some(format!("it cannot be read: {error}")));
    Some(RunSummary {
        run_id,
        dir: path.to_owned(),
        created_at,
        kind: RunKind::Plan,
        undoes: Vec::new(),
        session: None,
        continues: None,
        goal: None,
        vault: None,
        state,
    })
}

pub(crate) fn has_records(dir: &FolderHandle) -> io::Result<bool> {
    for kind in LogKind::ALL {
        if let Some(log) = dir.open_file(kind.file())?
            && log.metadata()?.len() > 0
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn modified_at(path: &Path) -> io::Result<Timestamp> {
    let changed = std::fs::metadata(path)?.modified()?;
    Ok(Timestamp::try_from(changed).unwrap_or(Timestamp::UNIX_EPOCH))
}

/// The part of `run.json` that a list shows.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RunFileHead {
    run_id: RunId,
    created_at: Timestamp,
    kind: RunKind,
    #[serde(default)]
    undoes: Vec<RunId>,
    #[serde(default)]
    session: Option<SessionId>,
    #[serde(default)]
    continues: Option<ContinuedRunHead>,
    #[serde(default)]
    vault: Option<String>,
    plan: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContinuedRunHead {
    run_id: RunId,
}

#[derive(Deserialize)]
struct LastEvent {
    #[serde(rename = "type")]
    event_type: String,
    #[serde(default)]
    payload: Option<LastPayload>,
}

#[derive(Deserialize)]
struct LastPayload {
    #[serde(default)]
    status: Option<String>,
}

/// Returns the status in the last event, if that event is `run.finished`.
fn last_event(mut file: File) -> io::Result<Option<Option<String>>> {
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(TAIL)))?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail)?;
    let Some(body) = tail.strip_suffix(b"\n") else { return Ok(None) };
    let line = body.rsplit(|byte| *byte == b'\n').next().unwrap_or(body);
    Ok(end_status(line))
}

/// Returns the status in the last record of the write-ahead log, if that record is `run.finished`.
fn last_record_in_wal(dir: &FolderHandle) -> io::Result<Option<Option<String>>> {
    let wal = WalContents::read(dir)?;
    let last = wal.as_ref().and_then(|wal| wal.records.last());
    Ok(last.filter(|record| record.kind == LogKind::Event).and_then(|record| end_status(&record.line)))
}

/// Returns the status in an event, if that event is `run.finished`.
fn end_status(line: &[u8]) -> Option<Option<String>> {
    serde_json::from_slice::<LastEvent>(line)
        .ok()
        .filter(|event| event.event_type == "run.finished")
        .map(|event| event.payload.and_then(|payload| payload.status))
}
