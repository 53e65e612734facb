//! Notes that were edited since: what to do about each of them.

use std::sync::Arc;

use envelope::Change;
use journal::RunFolder;
use vault::{Restoration, RestoreChoices, RestoreConflict, Vault, foresee_restore};

use super::lookback::{Onlooker, content, stored};
use crate::ask::at_terminal;
use crate::diff::{Changes, FileDiff, Limits};
use crate::exit::Exit;
use crate::screen::{self, Paint};
use crate::stop::Stop;
use crate::visible::one_line;

/// Conflicts that are named in an error; the answer in JSON has them all.
const NAMED: usize = 20;

/// What to do about notes that were edited since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edited {
    /// Asked about one by one, if somebody is there.
    Ask,
    Keep,
    Restore,
    /// Told, and nothing else.
    Tell,
    Refuse,
}

/// What was decided, in the words of the vault.
#[derive(Debug, Default)]
pub(super) struct Decided {
    keep: Vec<String>,
    overwrite: Vec<String>,
}

impl Decided {
    fn foresee(&self, vault: &Vault, changes: &[Change]) -> Result<Restoration, Stop> {
        let choices = RestoreChoices { keep: &self.keep, overwrite: &self.overwrite };
        foresee_restore(vault, changes, choices, &Onlooker)
            .map_err(|fault| Stop::io("look at the vault", fault.message))
    }
}

/// Finds out what is to be done, with a decision about everything that stands in the way. One decision can bring
/// up the next: what is kept under a name keeps others from getting it back.
pub(super) fn decided(
    (vault, folder): (&Arc<Vault>, &RunFolder),
    changes: &[Change],
    edited: Edited,
) -> Result<Restoration, Stop> {
    let mut decided = Decided::default();
    // Each round decides about something that was open, so there are no more rounds than changes.
    for _ in 0..=changes.len() {
        let found = decided.foresee(vault, changes)?;
        if found.conflicts.is_empty() || edited == Edited::Tell {
            return Ok(found);
        }
        for conflict in &found.conflicts {
            match (edited, conflict.can_overwrite) {
                // What cannot be restored is kept, also for those who want all of it: nobody could go on otherwise.
                (Edited::Keep, _) | (Edited::Restore, false) => decided.keep.push(conflict.path.clone()),
                (Edited::Restore, true) => decided.overwrite.push(conflict.path.clone()),
                (Edited::Ask, _) => match ask(conflict, vault, folder)? {
                    Some(Choice::Keep) => decided.keep.push(conflict.path.clone()),
                    Some(Choice::Restore) => decided.overwrite.push(conflict.path.clone()),
                    None => return Err(refused(&found.conflicts)),
                },
                (Edited::Refuse | Edited::Tell, _) => return Err(refused(&found.conflicts)),
            }
        }
    }
    Err(Stop::new(Exit::Failures, "restless", "the vault keeps changing while it is looked at")
        .hint("try again when nothing else writes to it"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Keep,
    Restore,
}

/// Asks about one file; `None` when nobody is there.
fn ask(conflict: &RestoreConflict, vault: &Vault, folder: &RunFolder) -> Result<Option<Choice>, Stop> {
    let paint = Paint::stderr();
    let restore = if conflict.can_overwrite { ", [r]estore" } else { "" };
    let compare = if conflict.current.is_some() { ", [d]iff" } else { "" };
    let question = format!(
        "{} {}\n{}",
        paint.odd("Changed since:"),
        one_line(&conflict.words()),
        paint.bold(format_args!("[k]eep mine{restore}{compare}, [a]bort"))
    );
    loop {
        let Some(answer) = at_terminal(&question) else { return Ok(None) };
        match answer.as_str() {
            "k" | "keep" => return Ok(Some(Choice::Keep)),
            "r" | "restore" if conflict.can_overwrite => return Ok(Some(Choice::Restore)),
            "d" | "diff" => screen::note(difference(conflict, vault, folder)?),
            // The end of the input is no decision.
            "" | "a" | "abort" => {
                return Err(Stop::new(Exit::Denied, "aborted", "nothing was changed: the user said no"));
            }
            _ => {}
        }
    }
}

/// From what is there to what would be there.
fn difference(conflict: &RestoreConflict, vault: &Vault, folder: &RunFolder) -> Result<String, Stop> {
    let before = content(vault, &conflict.path)?;
    let after = conflict.target.as_ref().map(|state| stored(folder, state)).transpose()?;
    let mut changes = Changes::new(Limits::screen());
    changes.add(&FileDiff {
        path: &conflict.path,
        moved_from: None,
        before: before.as_deref(),
        after: after.as_deref(),
    });
    Ok(changes.render(Paint::stderr()).join("\n"))
}

fn refused(conflicts: &[RestoreConflict]) -> Stop {
    let mut lines: Vec<String> = conflicts
        .iter()
        .take(NAMED)
        .map(|conflict| {
            let cannot = if conflict.can_overwrite { "" } else { " (can only be kept)" };
            format!("\n  {}{cannot}", one_line(&conflict.words()))
        })
        .collect();
    if conflicts.len() > NAMED {
        lines.push(format!("\n  and {} more", conflicts.len() - NAMED));
    }
    let number = match conflicts.len() {
        1 => "1 entry is".to_owned(),
        number => format!("{number} entries are"),
    };
    Stop::new(
        Exit::Failures,
        "changed_since",
        format!("nothing was changed: {number} not as it was left{}", lines.concat()),
    )
    .hint(
        "--keep-changed leaves them as they are, --restore-changed restores those that can be and keeps what is \
         there now",
    )
    .details(serde_json::json!({ "conflicts": conflicts }))
}
