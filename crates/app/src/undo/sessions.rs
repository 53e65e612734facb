//! Sessions as units of undo: which runs belong to one, and how one is named.

use std::fmt;

use engine::UndoHistory;
use journal::{RunKind, RunSummary};

use crate::display_text::escape_line;
use crate::error::AppError;
use crate::vault_context::VaultContext;

/// A group of runs that one client made. Single calls of earlier builds name no session; each run of them is its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Session {
    id: String,
}

impl Session {
    /// Returns the session of a run; `None` for a run that belongs to none.
    pub(super) fn of(run: &RunSummary) -> Option<Session> {
        let own = || (run.kind == RunKind::Session).then(|| run.run_id.to_string());
        let id = run.session.as_ref().map(ToString::to_string).or_else(own)?;
        Some(Session { id })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn contains(&self, run: &RunSummary) -> bool {
        Session::of(run).as_ref() == Some(self)
    }
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {}", escape_line(&self.id))
    }
}

/// Finds a session by its id, the id of one of its runs, or a unique prefix of either.
pub(super) fn find_session(
    context: &VaultContext,
    runs: &[RunSummary],
    wanted: &str,
) -> Result<Session, AppError> {
    let mut found: Vec<Session> = Vec::new();
    for session in runs.iter().filter_map(Session::of) {
        if session.id == wanted {
            return Ok(session);
        }
        if !wanted.is_empty() && session.id.starts_with(wanted) && !found.contains(&session) {
            found.push(session);
        }
    }
    match found.as_slice() {
        [session] => return Ok(session.clone()),
        [] => {}
        several => {
            let ids: Vec<&str> = several.iter().map(Session::id).collect();
            let message =
                format!("`{}` matches {} sessions: {}", escape_line(wanted), ids.len(), ids.join(", "));
            return Err(AppError::bad_input("ambiguous_session", message).hint("give more of the id"));
        }
    }
    let hint = "`tollgate runs` shows the session of each run; `last` is the newest";
    let Ok(dir) = context.run_dir(wanted) else {
        let message = format!("no session and no run is named `{}`", escape_line(wanted));
        return Err(AppError::bad_input("no_such_session", message).hint(hint));
    };
    let run = runs.iter().find(|run| run.dir == dir);
    run.and_then(Session::of).ok_or_else(|| {
        let message = format!("run `{}` belongs to no session", escape_line(wanted));
        AppError::bad_input("no_session", message).hint(format!("to undo it alone: `tollgate undo {wanted}`"))
    })
}

/// Returns the runs of a session that are not undone, and the runs that continue them, newest first.
pub(super) fn undoable_runs<'a>(history: &UndoHistory<'a>, session: &Session) -> Vec<&'a RunSummary> {
    let mut members: Vec<&RunSummary> = Vec::new();
    for run in history.runs().iter().filter(|run| session.contains(run) && !run.kind.is_undo()) {
        for run in history.connected_runs(run) {
            let is_new = !members.iter().any(|known| known.run_id == run.run_id);
            if is_new && history.undone_by(&run.run_id).is_none() {
                members.push(run);
            }
        }
    }
    history.sort_newest_first(&mut members);
    members
}
