//! Lists the runs of a state folder and finds one by what a person types.

use std::cmp::Reverse;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use envelope::{RunId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::disk::Dir;
use crate::error::JournalError;
use crate::header::{RUN_FILE, RunKind};
use crate::kind::Kind;
use crate::run_log::io_error;
use crate::wal::WAL_FILE;

/// Enough for the last event of any run.
const TAIL: u64 = 64 << 10;

/// How far a run has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "state", content = "status")]
pub enum RunState {
    /// A process is writing to it.
    Running,
    /// No process writes to it, and it did not come to its end.
    Interrupted,
    /// Over, with the status that `run.finished` tells.
    Finished(Option<String>),
    /// There is a record, but `run.json` cannot be read or is not that of this folder.
    Damaged(Option<String>),
}

/// A run in a list. Read from the head of the folder and the last event only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunSummary {
    /// The name of the folder, which is the id of the run.
    pub run_id: RunId,
    pub dir: PathBuf,
    /// As `run.json` says; when the folder last changed, if that cannot be read.
    pub created_at: Timestamp,
    pub kind: RunKind,
    /// The runs whose changes it takes back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undoes: Vec<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The vault that the run was made in, as `run.json` names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vault: Option<String>,
    #[serde(flatten)]
    pub state: RunState,
}

/// Why no single run was found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("no run is named `{wanted}`; `tollgate runs` lists them")]
    None { wanted: String },
    #[error("`{wanted}` fits {} runs; give more of the id: {}", matches.len(), matches.join(", "))]
    Ambiguous { wanted: String, matches: Vec<String> },
    #[error("run `{wanted}` belongs to another vault and is not shown here")]
    Foreign { wanted: String },
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// All runs, newest first, damaged ones among them. Folders without a record are left out.
pub fn list_runs(runs_dir: &Path) -> Result<Vec<RunSummary>, JournalError> {
    let mut runs = Vec::new();
    for path in paths(runs_dir)? {
        // A run must not be hidden by making it unreadable. One that vanishes while we look is gone.
        runs.extend(run_summary(&path));
    }
    runs.sort_by(|a, b| (Reverse(a.created_at), &a.run_id).cmp(&(Reverse(b.created_at), &b.run_id)));
    Ok(runs)
}

/// The ids of all runs, latest first as far as ids are drawn in the order of time. Reads no record, so that the newest
/// of many runs are found without a look at the others.
pub fn run_ids(runs_dir: &Path) -> Result<Vec<RunId>, JournalError> {
    let mut ids: Vec<RunId> = paths(runs_dir)?.iter().filter_map(|path| run_id(path)).collect();
    ids.sort_by(|a, b| b.cmp(a));
    Ok(ids)
}

/// Everything in the folder. One that is not there has nothing in it.
fn paths(runs_dir: &Path) -> Result<Vec<PathBuf>, JournalError> {
    match Dir::open(runs_dir).and_then(|dir| dir.names()) {
        Ok(names) => Ok(names.into_iter().map(|name| runs_dir.join(name)).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(io_error("list", runs_dir, error)),
    }
}

/// The name of a folder, if it can be that of a run.
fn run_id(path: &Path) -> Option<RunId> {
    path.file_name().and_then(|name| name.to_str()).and_then(|name| RunId::parse(name).ok())
}

/// One run as a list shows it; `None` where there is no record.
pub fn run_summary(run_dir: &Path) -> Option<RunSummary> {
    summary(run_dir).unwrap_or_else(|error| unreadable(run_dir, &error))
}

/// Finds a run of the list by its id, by the beginning of its id if only one fits, or as `last`.
pub(crate) fn find_run(runs: &[RunSummary], wanted: &str) -> Result<PathBuf, FindError> {
    if wanted == "last"
        && let Some(newest) = runs.first()
    {
        return Ok(newest.dir.clone());
    }
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

fn summary(path: &Path) -> io::Result<Option<RunSummary>> {
    let Some(run_id) = run_id(path) else { return Ok(None) };
    let dir = Dir::open(path)?;
    let text = dir.read_all(RUN_FILE)?;
    if text.is_none() && !has_records(&dir)? {
        // Interrupted before the run began: `run.json` is what makes a folder a run.
        return Ok(None);
    }
    let brief = match &text {
        None => Err("run.json is gone".to_owned()),
        Some(text) => {
            serde_json::from_slice::<Brief>(text).map_err(|error| format!("run.json cannot be read: {error}"))
        }
    };
    let brief = brief.and_then(|brief| match brief.run_id == run_id {
        true => Ok(brief),
        false => Err(format!("run.json is that of run {}", brief.run_id)),
    });
    let finished = dir.read(Kind::Event.file())?.map(last_event).transpose()?.flatten();
    Ok(Some(match brief {
        Ok(brief) => RunSummary {
            run_id,
            dir: path.to_owned(),
            created_at: brief.created_at,
            kind: brief.kind,
            undoes: brief.undoes,
            goal: brief.plan.get("goal").and_then(Value::as_str).map(str::to_owned),
            vault: brief.vault,
            state: match finished {
                Some(status) => RunState::Finished(status),
                None if dir.is_locked()? => RunState::Running,
                // The write-ahead log goes away only after the end of the run was recorded.
                None if dir.read(WAL_FILE)?.is_none() => {
                    RunState::Damaged(Some("its end was cut off".to_owned()))
                }
                None => RunState::Interrupted,
            },
        },
        Err(why) => RunSummary {
            run_id,
            dir: path.to_owned(),
            created_at: changed_at(path)?,
            kind: RunKind::Plan,
            undoes: Vec::new(),
            goal: None,
            vault: None,
            state: RunState::Damaged(Some(why)),
        },
    }))
}

fn unreadable(path: &Path, error: &io::Error) -> Option<RunSummary> {
    let run_id = run_id(path)?;
    let created_at = changed_at(path).ok().filter(|_| path.is_dir())?;
    let state = RunState::Damaged(Some(format!("it cannot be read: {error}")));
    Some(RunSummary {
        run_id,
        dir: path.to_owned(),
        created_at,
        kind: RunKind::Plan,
        undoes: Vec::new(),
        goal: None,
        vault: None,
        state,
    })
}

pub(crate) fn has_records(dir: &Dir) -> io::Result<bool> {
    for kind in Kind::ALL {
        if let Some(log) = dir.read(kind.file())?
            && log.metadata()?.len() > 0
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn changed_at(path: &Path) -> io::Result<Timestamp> {
    let changed = std::fs::metadata(path)?.modified()?;
    Ok(Timestamp::try_from(changed).unwrap_or(Timestamp::UNIX_EPOCH))
}

/// The part of `run.json` that a list shows.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Brief {
    run_id: RunId,
    created_at: Timestamp,
    kind: RunKind,
    #[serde(default)]
    undoes: Vec<RunId>,
    #[serde(default)]
    vault: Option<String>,
    plan: Value,
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

/// The status in the last event, if that says that the run is finished.
fn last_event(mut file: File) -> io::Result<Option<Option<String>>> {
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(TAIL)))?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail)?;
    let Some(body) = tail.strip_suffix(b"\n") else { return Ok(None) };
    let line = body.rsplit(|byte| *byte == b'\n').next().unwrap_or(body);
    Ok(serde_json::from_slice::<LastEvent>(line)
        .ok()
        .filter(|event| event.event_type == "run.finished")
        .map(|event| event.payload.and_then(|payload| payload.status)))
}
