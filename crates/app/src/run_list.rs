//! The runs of a vault, newest first.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use engine::UndoHistory;
use envelope::{RunId, SessionId, Timestamp};
use journal::{JournalRecord, RunFolder, RunKind, RunState, RunSummary};
use serde::Serialize;

use crate::changed_notes::runs_that_changed;
use crate::effects;
use crate::error::AppError;
use crate::vault_context::VaultContext;

/// One run of the list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRow {
    pub run_id: RunId,
    pub created_at: Timestamp,
    pub kind: RunKind,
    pub status: String,
    pub goal: String,
    pub calls: u64,
    pub effects: usize,
    /// Runs that it undid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undoes: Vec<RunId>,
    /// The session that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The run that it continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continues: Option<RunId>,
    /// The run that undid it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone_by: Option<RunId>,
    pub run_dir: PathBuf,
}

/// A part of the list.
#[derive(Debug)]
pub struct RunList {
    pub rows: Vec<RunRow>,
    /// Runs that match the query, listed or not.
    pub found: usize,
    /// Runs of the vault.
    pub all: usize,
    /// Characters of an id that are unique.
    pub id_length: usize,
}

/// Returns the newest runs, at most `limit`. With a query, those whose goal, tools, session or id contain it, and those that
/// changed the note of that path or name, also under its other names.
pub fn list_runs(context: &VaultContext, query: Option<&str>, limit: usize) -> Result<RunList, AppError> {
    let runs = context.runs()?.list()?;
    let history = UndoHistory::of(&runs);
    let wanted = query.map(str::to_lowercase);
    let dirs: Vec<&Path> = runs.iter().map(|run| run.dir.as_path()).collect();
    let changed = query.map(|note| runs_that_changed(&dirs, note)).unwrap_or_default();
    let is_wanted = |number: usize, run: &RunSummary| match &wanted {
        Some(wanted) => changed.get(number) == Some(&true) || matches_query(run, wanted),
        None => true,
    };
    let numbered = runs.iter().enumerate().filter(|(number, run)| is_wanted(*number, run));
    let fitting: Vec<&RunSummary> = numbered.map(|(_, run)| run).collect();
    let found = fitting.len();
    let rows = fitting.into_iter().take(limit).map(|run| make_row(run, &history)).collect();
    Ok(RunList { rows, found, all: runs.len(), id_length: unique_prefix_length(&runs) })
}

fn matches_query(run: &RunSummary, wanted: &str) -> bool {
    let holds = |text: &str| text.to_lowercase().contains(wanted);
    run.goal.as_deref().is_some_and(holds)
        || holds(run.run_id.as_str())
        || run.session.as_ref().is_some_and(|session| holds(session.as_str()))
        || RunFolder::open(&run.dir)
            .is_ok_and(|folder| folder.header().tools.iter().any(|tool| holds(tool.name().as_str())))
}

/// Creates a row. Counts are read only for rows that are shown.
fn make_row(run: &RunSummary, history: &UndoHistory<'_>) -> RunRow {
    let (calls, effects) = count_calls(&run.dir).unwrap_or_default();
    RunRow {
        run_id: run.run_id.clone(),
        created_at: run.created_at,
        kind: run.kind,
        status: match &run.state {
            RunState::Running => "running".to_owned(),
            RunState::Interrupted => "interrupted".to_owned(),
            RunState::Damaged(_) => "damaged".to_owned(),
            RunState::Finished(status) => status.clone().unwrap_or_else(|| "finished".to_owned()),
        },
        goal: run.goal.clone().unwrap_or_default(),
        calls,
        effects,
        undoes: run.undoes.clone(),
        session: run.session.clone(),
        continues: run.continues.clone(),
        undone_by: history.undone_by(&run.run_id).map(|undo| undo.run_id.clone()),
        run_dir: run.dir.clone(),
    }
}

/// Counts the calls and artifacts of a run, as far as a damaged one can be read.
fn count_calls(dir: &Path) -> Result<(u64, usize), AppError> {
    let folder = RunFolder::open(dir)?;
    let (mut calls, mut changes) = (0, 0);
    for entry in folder.records()? {
        match entry {
            Ok(entry) => match entry.record {
                JournalRecord::Call(_) => calls += 1,
                JournalRecord::Result(result) => {
                    changes += result.effects.as_ref().map_or(0, effects::count_effects);
                }
                JournalRecord::Event(_) => {}
            },
            Err(_damaged) => break,
        }
    }
    Ok((calls, changes))
}

/// Returns the length of the shortest unique prefix of an id, up to one of its dashes.
fn unique_prefix_length(runs: &[RunSummary]) -> usize {
    // The first thirteen characters of our ids are the millisecond of the start.
    [13, 18, 23]
        .into_iter()
        .find(|length| {
            let short = |run: &RunSummary| {
                run.run_id.as_str().get(..*length).unwrap_or(run.run_id.as_str()).to_owned()
            };
            let names: HashSet<String> = runs.iter().map(short).collect();
            names.len() == runs.len()
        })
        .unwrap_or(usize::MAX)
}
