//! The target run of an undo or redo, and whether it can be reverted.

use std::collections::HashSet;

use engine::{IrreversibleCall, RunChanges, UndoHistory};
use envelope::{EntryKind, RunId, SessionId, Timestamp, VaultChange, VaultPath};
use journal::{JournalError, RunFolder, RunKind, RunState, RunSummary};

use super::{later_runs, sessions};
use crate::display_text::{count, escape_line};
use crate::error::AppError;
use crate::error::ErrorKind;
use crate::vault_context::VaultContext;

/// Runs to revert.
pub struct UndoTarget {
    /// `Undo` or `Redo`.
    pub verb: &'static str,
    /// The run that the user would name.
    pub run_id: RunId,
    /// The session, if all of it is reverted.
    pub session: Option<SessionId>,
    pub goal: String,
    /// Runs whose changes are reverted, newest first.
    pub undoes: Vec<RunId>,
    /// Their changes, in order.
    pub made: Vec<VaultChange>,
    /// Files that another program edited between two of the changes.
    pub edited_between: Vec<String>,
    pub irreversible: Vec<IrreversibleCall>,
    /// When the changes began. A link in a note that was written earlier is not a link to a name that they made.
    pub since: Timestamp,
    /// Folder of any of them: all runs of a vault share one object store.
    pub folder: RunFolder,
    /// True if one of the runs was interrupted, so that its last calls may have left hidden files.
    pub interrupted: bool,
    /// The part that is reverted.
    pub scope: UndoScope,
}

/// The part of a run that is undone. A folder stands for everything below it.
#[derive(Debug, Default, Clone)]
pub struct UndoScope {
    /// If not empty, nothing else is undone.
    pub only: Vec<String>,
    /// Stays as it is.
    pub keep: Vec<String>,
}

impl UndoScope {
    pub fn is_everything(&self) -> bool {
        self.only.is_empty() && self.keep.is_empty()
    }
}

impl UndoTarget {
    /// Returns the words for the target in a message: `run ID` or `session ID`.
    pub fn name(&self) -> String {
        match &self.session {
            Some(session) => format!("session {session}"),
            None => format!("run {}", self.run_id),
        }
    }

    /// Returns the arguments that name the target on the command line.
    pub fn arguments(&self) -> String {
        match &self.session {
            Some(session) => format!("--session {session}"),
            None => self.run_id.to_string(),
        }
    }

    /// Limits the undo to some paths. Fails for a path that the run did not change.
    pub fn limited_to(mut self, scope: UndoScope) -> Result<UndoTarget, AppError> {
        let checked = |paths: Vec<String>| -> Result<Vec<String>, AppError> {
            paths.into_iter().map(|path| self.changed_path(&path)).collect()
        };
        self.scope = UndoScope { only: checked(scope.only)?, keep: checked(scope.keep)? };
        Ok(self)
    }

    fn changed_path(&self, asked: &str) -> Result<String, AppError> {
        let shown = escape_line(asked);
        let path = VaultPath::parse_escaped(asked.trim_end_matches('/'))
            .map_err(|bad| AppError::bad_input("bad_path", format!("`{shown}`: {bad}")))?;
        let folded = path.folded();
        let below = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let changed = |change: &VaultChange| {
            change.paths().any(|changed| below(&VaultPath::fold_name(changed), &folded))
        };
        if self.made.iter().any(changed) {
            return Ok(path.to_string());
        }
        let folder = self.made.iter().find_map(|change| match change {
            VaultChange::Moved { kind: EntryKind::Folder, .. } => {
                change.paths().find(|changed| below(&folded, &VaultPath::fold_name(changed)))
            }
            VaultChange::Moved { kind: EntryKind::File, .. }
            | VaultChange::FolderCreated { .. }
            | VaultChange::FolderRemoved { .. }
            | VaultChange::FileCreated { .. }
            | VaultChange::FileRemoved { .. }
            | VaultChange::FileReplaced { .. } => None,
        });
        Err(match folder {
            Some(folder) => AppError::bad_input(
                "path_not_changed",
                format!("{} moved the folder `{}` as a whole", self.name(), escape_line(folder)),
            )
            .hint(format!("name the folder `{}`", escape_line(folder))),
            None => {
                AppError::bad_input("path_not_changed", format!("{} did not change `{shown}`", self.name()))
                    .hint(format!("`tollgate show {}` lists what it changed", self.run_id))
            }
        })
    }
}

/// Finds the run to undo: an id, a unique prefix of one, or `last`.
pub fn undo_target(context: &VaultContext, wanted: &str) -> Result<UndoTarget, AppError> {
    if wanted == "last" {
        return newest_undoable(context);
    }
    let runs = context.runs()?.list()?;
    let history = UndoHistory::of(&runs);
    undoing(context, &history, undoable_run(context, &runs, &history, wanted)?)
}

/// Finds a run to undo together with every later run that changed the same files.
pub fn undo_target_with_later(context: &VaultContext, wanted: &str) -> Result<UndoTarget, AppError> {
    let runs = context.runs()?.list()?;
    let history = UndoHistory::of(&runs);
    let run = match wanted {
        "last" => {
            let newest = newest_undoable(context)?;
            history.get(&newest.run_id).ok_or_else(|| no_such_run(wanted))?
        }
        wanted => undoable_run(context, &runs, &history, wanted)?,
    };
    let with_later = later_runs::with_later_runs(context, &history, run)?;
    let goal = match with_later.len() {
        1 => goal_of("Undo", run),
        number => format!("Undo run {} and {}", run.run_id, count(number as u64 - 1, "later run")),
    };
    target_of_runs(context, &history, run, with_later, goal)
}

/// Finds the session to undo: its id, the id of one of its runs, a unique prefix of either, or `last`.
pub fn session_undo_target(context: &VaultContext, wanted: &str) -> Result<UndoTarget, AppError> {
    let runs = context.runs()?.list()?;
    let history = UndoHistory::of(&runs);
    let session = match wanted {
        "last" => newest_undoable_session(context, &history)?,
        wanted => sessions::find_session(context, &runs, wanted)?,
    };
    let members = sessions::undoable_runs(&history, &session);
    let Some(newest) = members.first().copied() else {
        let any = runs.iter().find(|run| session.contains(run));
        let undo = any.and_then(|run| history.undone_by(&run.run_id));
        let by = undo.map(|undo| format!(", by run {}", undo.run_id)).unwrap_or_default();
        return Err(AppError::bad_input("already_undone", format!("{session} is undone already{by}"))
            .hint(format!("to redo it: `tollgate redo --session {}`", session.id())));
    };
    let goal = format!("Undo {session}: {}", count(members.len() as u64, "run"));
    let target = target_of_runs(context, &history, newest, members, goal)?;
    Ok(UndoTarget { session: SessionId::parse(session.id()).ok(), ..target })
}

/// Finds a run to undo, for a client: only runs of its own session.
pub fn undo_target_in_session(
    context: &VaultContext,
    wanted: &str,
    session: &SessionId,
) -> Result<UndoTarget, AppError> {
    let runs = context.runs()?.list()?;
    let history = UndoHistory::of(&runs);
    let run = undoable_run(context, &runs, &history, wanted)?;
    if sessions::Session::of(run).is_none_or(|own| own.id() != session.as_str()) {
        return Err(AppError::new(
            ErrorKind::Denied,
            "other_session",
            format!("run {} is not of this session", run.run_id),
        )
        .hint(format!("the user can undo it: `tollgate undo {}`", run.run_id)));
    }
    let target = undoing(context, &history, run)?;
    refuse_other_sessions(context, &target, session)?;
    Ok(target)
}

/// Fails if an undo for a client would take back a run that is not of its session: one that continues a run of it, or is
/// continued by one.
pub fn refuse_other_sessions(
    context: &VaultContext,
    target: &UndoTarget,
    session: &SessionId,
) -> Result<(), AppError> {
    let runs = context.runs()?.list()?;
    let is_other = |run: &&RunSummary| {
        target.undoes.contains(&run.run_id)
            && sessions::Session::of(run).is_none_or(|own| own.id() != session.as_str())
    };
    let Some(other) = runs.iter().find(is_other) else { return Ok(()) };
    let message = format!("run {} would be undone too, and is not of this session", other.run_id);
    Err(AppError::new(ErrorKind::Denied, "other_session", message)
        .hint(format!("the user can undo them: `tollgate undo {}`", target.arguments())))
}

/// Finds the session whose newest undo is undone, named as for [`session_undo_target`]; `last` is the one with the newest undo.
pub fn session_redo_target(context: &VaultContext, wanted: &str) -> Result<UndoTarget, AppError> {
    let runs = context.runs()?.list()?;
    let history = UndoHistory::of(&runs);
    let session = match wanted {
        "last" => {
            let newest = history.undo_runs().find_map(|undo| {
                undo.undoes.iter().filter_map(|undone| history.get(undone)).find_map(sessions::Session::of)
            });
            newest.ok_or_else(|| {
                AppError::bad_input("not_undone", "no session is undone; there is nothing to redo")
                    .hint("`tollgate runs` shows which run undid which")
            })?
        }
        wanted => sessions::find_session(context, &runs, wanted)?,
    };
    let newest = history.undo_runs().find_map(|undo| {
        undo.undoes.iter().filter_map(|undone| history.get(undone)).find(|run| session.contains(run))
    });
    let Some(run) = newest else {
        return Err(AppError::bad_input(
            "not_undone",
            format!("{session} is not undone; there is nothing to redo"),
        )
        .hint(format!("to revert it: `tollgate undo --session {}`", session.id())));
    };
    let target = redoing(context, &history, run)?;
    let goal = format!("Redo {session}");
    Ok(UndoTarget { session: SessionId::parse(session.id()).ok(), goal, ..target })
}

fn undoable_run<'a>(
    context: &VaultContext,
    runs: &'a [RunSummary],
    history: &UndoHistory<'a>,
    wanted: &str,
) -> Result<&'a RunSummary, AppError> {
    let run = find_run(context, runs, wanted)?;
    if let Some(undo) = history.undone_by(&run.run_id) {
        return Err(AppError::bad_input(
            "already_undone",
            format!("run {} is undone already, by run {}", run.run_id, undo.run_id),
        )
        .hint(format!("to redo it: `tollgate redo {}`", run.run_id)));
    }
    if run.kind.is_undo() {
        return Err(undo_of_undo_error(history, run));
    }
    Ok(run)
}

/// Finds the run to redo: an id, a unique prefix of one, or `last`.
pub fn redo_target(context: &VaultContext, wanted: &str) -> Result<UndoTarget, AppError> {
    let runs = context.runs()?.list()?;
    let history = UndoHistory::of(&runs);
    let run = match wanted {
        "last" => history.last_undone().ok_or_else(|| {
            AppError::bad_input("not_undone", "no run is undone; there is nothing to redo")
                .hint("`tollgate runs` shows which run undid which")
        })?,
        wanted => history.root_run(find_run(context, &runs, wanted)?),
    };
    redoing(context, &history, run)
}

fn redoing(
    context: &VaultContext,
    history: &UndoHistory<'_>,
    run: &RunSummary,
) -> Result<UndoTarget, AppError> {
    // An undo that failed or stopped may have undone a part, which a redo reverts.
    let takers = history.active_undos(&run.run_id);
    let not_undone = || {
        AppError::bad_input(
            "not_undone",
            format!("run {} is not undone; there is nothing to redo", run.run_id),
        )
        .hint(format!("to revert it: `tollgate undo {}`", run.run_id))
    };
    if takers.is_empty() {
        return Err(not_undone());
    }
    let changes = changes_of(context, takers)?;
    if changes.is_empty() && history.undone_by(&run.run_id).is_none() {
        return Err(not_undone());
    }
    let newest = takers.first().map_or(&run.dir, |taker| &taker.dir);
    Ok(UndoTarget {
        verb: "Redo",
        run_id: run.run_id.clone(),
        session: None,
        goal: goal_of("Redo", run),
        undoes: takers.iter().map(|taker| taker.run_id.clone()).collect(),
        made: changes.changes,
        edited_between: changes.edited_between,
        irreversible: changes.irreversible,
        since: earliest(takers.iter().map(|taker| taker.created_at)),
        folder: RunFolder::open(newest)?,
        interrupted: takers.iter().any(|taker| taker.state == RunState::Interrupted),
        scope: UndoScope::default(),
    })
}

/// Runs that are read at first to find the newest one that can be undone.
const FIRST_READ: usize = 8;

/// Returns the newest run that changed something and is not undone. Undos are skipped: `undo last` twice reverts two
/// runs, and `redo` reverts an undo. A run with unknown changes is never skipped: an older one would be reverted in its
/// place. Reads no run that is older than the one that it returns or continues.
fn newest_undoable(context: &VaultContext) -> Result<UndoTarget, AppError> {
    let folder = context.runs()?;
    let mut unread = folder.newest_first()?;
    let mut runs: Vec<RunSummary> = Vec::new();
    let mut skipped: HashSet<RunId> = HashSet::new();
    loop {
        // Any run that undoes or continues one of these is newer, so it is among them. Twice as many each time, so that
        // their history is built a few times only.
        let number = runs.len().max(FIRST_READ);
        let known = runs.len();
        runs.extend(unread.by_ref().take(number));
        let is_end = runs.len() < known + number;
        while let Some(run) = first_with_changes(&runs, &mut skipped)? {
            // The runs that it continues are older.
            while !is_chain_complete(&runs, &run) {
                let Some(older) = unread.next() else { break };
                runs.push(older);
            }
            let history = UndoHistory::of(&runs);
            let Some(run) = history.get(&run) else { break };
            let target = undoing(context, &history, run)?;
            if !is_taken_back_in_parts(context, &history, &target)? {
                return Ok(target);
            }
            skipped.insert(run.run_id.clone());
        }
        if is_end {
            break;
        }
    }
    Err(AppError::bad_input(
        "nothing_to_undo",
        "nothing to undo: no run here has changes that are not undone",
    )
    .hint("`tollgate runs` lists what there is"))
}

/// Returns the first of the runs that `undo last` can mean and that has changes. Adds those without changes to `skipped`.
fn first_with_changes(runs: &[RunSummary], skipped: &mut HashSet<RunId>) -> Result<Option<RunId>, AppError> {
    let history = UndoHistory::of(runs);
    for run in history.undoable() {
        if skipped.contains(&run.run_id) {
            continue;
        }
        if has_changes(run)? {
            return Ok(Some(run.run_id.clone()));
        }
        skipped.insert(run.run_id.clone());
    }
    Ok(None)
}

/// Whether every run that a run continues is among the runs.
fn is_chain_complete(runs: &[RunSummary], run: &RunId) -> bool {
    let mut wanted = Some(run);
    let mut steps = 0;
    while let Some(id) = wanted {
        let Some(known) = runs.iter().find(|known| known.run_id == *id) else { return false };
        wanted = known.continues.as_ref().filter(|_| steps < runs.len());
        steps += 1;
    }
    true
}

/// Whether undos of parts have taken back everything that a target would take back.
fn is_taken_back_in_parts(
    context: &VaultContext,
    history: &UndoHistory<'_>,
    target: &UndoTarget,
) -> Result<bool, AppError> {
    let mut undos: Vec<&RunSummary> =
        target.undoes.iter().flat_map(|run| history.active_undos(run)).copied().collect();
    undos.sort_by_key(|undo| (undo.created_at, &undo.run_id));
    undos.dedup_by_key(|undo| &undo.run_id);
    let mut undone = Vec::new();
    for undo in &undos {
        undone.extend(changes_of(context, &[undo])?.changes);
    }
    if undos.is_empty() {
        return Ok(false);
    }
    // Without the undos, which the target counts as changes, too.
    let mut own: Vec<&RunSummary> = target.undoes.iter().filter_map(|run| history.get(run)).collect();
    history.sort_newest_first(&mut own);
    Ok(vault::is_taken_back(&changes_of(context, &own)?.changes, &undone))
}

/// Returns the session of the newest run that belongs to one, changed something and is not undone.
fn newest_undoable_session(
    context: &VaultContext,
    history: &UndoHistory<'_>,
) -> Result<sessions::Session, AppError> {
    for run in history.undoable() {
        let Some(session) = sessions::Session::of(run) else { continue };
        if context.is_running(&run.dir)? || has_changes(run)? {
            return Ok(session);
        }
    }
    Err(AppError::bad_input(
        "nothing_to_undo",
        "nothing to undo: no session here has changes that are not undone",
    )
    .hint("`tollgate runs` lists what there is; a run that belongs to no session is undone by its id"))
}

/// Returns whether a run changed something. Fails if that is unknown.
fn has_changes(run: &RunSummary) -> Result<bool, AppError> {
    match &run.state {
        RunState::Running => return Err(running_error(run)),
        RunState::Damaged(why) => {
            let why = why.as_deref().unwrap_or("its record cannot be read");
            return Err(unknown_changes(run, AppError::new(ErrorKind::Damaged, "journal_damaged", why)));
        }
        RunState::Interrupted | RunState::Finished(_) => {}
    }
    // Each record is checked against the chain while it is read, so none is missing between the first and the last.
    let changes = RunFolder::open(&run.dir)
        .and_then(|folder| RunChanges::read(&folder))
        .map_err(|error| unknown_changes(run, error.into()))?;
    Ok(!changes.is_empty())
}

fn undoing(
    context: &VaultContext,
    history: &UndoHistory<'_>,
    run: &RunSummary,
) -> Result<UndoTarget, AppError> {
    let mut connected = history.connected_runs(run);
    connected.retain(|run| history.undone_by(&run.run_id).is_none());
    target_of_runs(context, history, run, connected, goal_of("Undo", run))
}

/// Returns the undo of several runs, newest first, that the user named by `run`. Undos of a part of them count as their
/// changes.
fn target_of_runs(
    context: &VaultContext,
    history: &UndoHistory<'_>,
    run: &RunSummary,
    runs: Vec<&RunSummary>,
    goal: String,
) -> Result<UndoTarget, AppError> {
    for run in &runs {
        refuse_half_undone(history, run)?;
    }
    let mut read = runs.clone();
    for undo in runs.iter().flat_map(|run| history.active_undos(&run.run_id)) {
        if !read.iter().any(|known| known.run_id == undo.run_id) {
            read.push(undo);
        }
    }
    history.sort_newest_first(&mut read);
    let changes = changes_of(context, &read)?;
    Ok(UndoTarget {
        verb: "Undo",
        run_id: run.run_id.clone(),
        session: None,
        goal,
        undoes: runs.iter().map(|run| run.run_id.clone()).collect(),
        made: changes.changes,
        edited_between: changes.edited_between,
        irreversible: changes.irreversible,
        since: earliest(runs.iter().map(|run| history.made_at(run))),
        folder: RunFolder::open(&run.dir)?,
        interrupted: runs.iter().any(|run| run.state == RunState::Interrupted),
        scope: UndoScope::default(),
    })
}

fn earliest(times: impl Iterator<Item = Timestamp>) -> Timestamp {
    times.min().unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Fails if an undo is running or was interrupted: it must be finished first.
fn refuse_half_undone(history: &UndoHistory<'_>, run: &RunSummary) -> Result<(), AppError> {
    for undo in history.active_undos(&run.run_id) {
        match undo.state {
            RunState::Interrupted => {
                return Err(AppError::bad_input(
                    "undo_interrupted",
                    format!("an undo of run {} was interrupted: run {}", run.run_id, undo.run_id),
                )
                .hint(format!(
                    "to continue it: `tollgate resume {}`; to take back what it did: `tollgate redo {}`",
                    undo.run_id, run.run_id
                )));
            }
            RunState::Running => return Err(running_error(undo)),
            RunState::Finished(_) | RunState::Damaged(_) => {}
        }
    }
    Ok(())
}

fn find_run<'a>(
    context: &VaultContext,
    runs: &'a [RunSummary],
    wanted: &str,
) -> Result<&'a RunSummary, AppError> {
    let dir = context.run_dir(wanted)?;
    runs.iter().find(|run| run.dir == dir).ok_or_else(|| no_such_run(wanted))
}

fn no_such_run(wanted: &str) -> AppError {
    AppError::bad_input("no_such_run", format!("no run is named `{}`", escape_line(wanted)))
        .hint("`tollgate runs` lists them; name one by its id, the beginning of it, or `last`")
}

/// Returns the changes of runs, which come newest first. Fails unless their records are intact and the runs have ended.
pub(super) fn changes_of(context: &VaultContext, runs: &[&RunSummary]) -> Result<RunChanges, AppError> {
    let mut folders = Vec::with_capacity(runs.len());
    for run in runs.iter().rev() {
        if run.state == RunState::Running || context.is_running(&run.dir)? {
            return Err(running_error(run));
        }
        refuse_damaged(run)?;
        folders.push(RunFolder::open(&run.dir)?);
    }
    Ok(RunChanges::read_all(&folders)?)
}

fn refuse_damaged(run: &RunSummary) -> Result<(), AppError> {
    let found = journal::verify(&run.dir, None).map_err(|error| unknown_changes(run, error.into()))?;
    match found.problems.into_iter().next() {
        Some(first) => Err(unknown_changes(run, JournalError::Damaged(Box::new(first)).into())),
        None => Ok(()),
    }
}

pub(super) fn running_error(run: &RunSummary) -> AppError {
    let hint = match run.kind {
        RunKind::Session => "disconnect the client that makes its calls, or ask its model to call `run_undo`",
        RunKind::Plan | RunKind::Call | RunKind::Undo | RunKind::PartialUndo => {
            "wait until it ends, or end it with Ctrl-C where it runs"
        }
    };
    AppError::new(ErrorKind::Failed, "running", format!("run {} is still running", run.run_id)).hint(hint)
}

/// Returns the error for a run with unknown changes.
pub(super) fn unknown_changes(run: &RunSummary, error: AppError) -> AppError {
    let id = &run.run_id;
    let error =
        AppError { message: format!("the record of run {id} cannot be trusted: {}", error.message), ..error };
    error.hint(format!("`tollgate verify {id}` lists every problem; undo another run by its id"))
}

fn undo_of_undo_error(history: &UndoHistory<'_>, run: &RunSummary) -> AppError {
    let undone = run.undoes.first().and_then(|undone| history.get(undone));
    let root = history.root_run(undone.unwrap_or(run));
    let (what, verb) = match undone {
        Some(undone) if undone.kind.is_undo() => ("a redo", "undo"),
        Some(_) | None => ("an undo", "redo"),
    };
    AppError::bad_input("is_an_undo", format!("run {} is itself {what}", run.run_id))
        .hint(format!("to revert it: `tollgate {verb} {}`", root.run_id))
}

fn goal_of(verb: &str, run: &RunSummary) -> String {
    match &run.goal {
        Some(goal) => format!("{verb} run {}: {goal}", run.run_id),
        None => format!("{verb} run {}", run.run_id),
    }
}
