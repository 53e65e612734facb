//! `tollgate replay`: derives every call again from plan and recorded results. No tool is run.

use std::path::Path;

use clap::Args;
use journal::Replay as Derived;
use serde_json::json;

use crate::exit::Exit;
use crate::place::Place;
use crate::screen::{self, Paint};
use crate::stop::Outcome;
use crate::visible::{count, one_line};

/// Derives every call of a run again, without running a tool, and compares
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate replay last")]
pub(crate) struct Replay {
    /// The run: an id, the beginning of one, or `last`
    run: String,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Replay {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        let dir = Place::find(vault)?.run_dir(&self.run)?;
        // What follows from a damaged record says nothing.
        if let Some(first) = journal::verify(&dir, None)?.problems.into_iter().next() {
            return Err(journal::JournalError::Damaged(Box::new(first)).into());
        }
        let replay = journal::replay(&dir)?;
        if self.json {
            screen::json(&json!({ "same": replay.divergences.is_empty(), "runDir": dir, "replay": replay }));
        } else {
            show(&replay);
        }
        Ok(if replay.divergences.is_empty() { Exit::Done } else { Exit::Damaged })
    }
}

pub(super) fn show(replay: &Derived) {
    let paint = Paint::stdout();
    for divergence in &replay.divergences {
        screen::say(format_args!("{} {}", paint.bad("differs"), one_line(&divergence.to_string())));
    }
    let calls = count(replay.calls, "call");
    if replay.divergences.is_empty() {
        screen::say(format_args!(
            "{} {calls} derived again from what was recorded; no tool was run",
            paint.good("same")
        ));
    } else {
        screen::say(format_args!(
            "{calls} derived again; {}",
            count(replay.divergences.len() as u64, "difference")
        ));
    }
    if !replay.complete {
        screen::say(format_args!(
            "{} the run has not finished; what is there was compared",
            paint.odd("open")
        ));
    }
}
