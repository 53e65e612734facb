//! From what was decided to the end of the run.

use std::sync::Arc;

use engine::{Forecaster, RunPlace, RunReport, RunRequest, restore_plan, taking_back};
use journal::RunKind;
use serde_json::{Value, json};
use vault::Restoration;

use super::decide::{Edited, decided};
use super::lookback::{Lookback, Painted};
use super::target::Target;
use super::words;
use crate::ask::Asker;
use crate::diff::Limits;
use crate::drive::{self, Interrupts};
use crate::exit::Exit;
use crate::findings;
use crate::place::Place;
use crate::progress::Progress;
use crate::screen::{self, Paint};
use crate::stop::{Outcome, Stop};
use crate::summary;
use crate::watch::Watcher;
use crate::wiring::{self, Toolset};

/// How it is to be done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) act: Act,
    pub(crate) edited: Edited,
    pub(crate) full: bool,
    pub(crate) json: bool,
}

/// Whether it is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// If the person says yes.
    Ask,
    SaidYes,
    OnlyTell,
}

/// Takes back what the target says, or only tells what that would do.
pub(crate) fn perform(place: &Place, target: Target, options: Options) -> Outcome {
    if target.made.is_empty() {
        return Ok(nothing(&target, None, options, "changed nothing in the vault"));
    }
    let tools = Toolset::open_with_restore(place)?;
    let Some(vault) = tools.vault().cloned() else {
        return Err(Stop::bad_input("no_vault", "no vault is open"));
    };
    let Target { folder, irreversible, .. } = &target;
    let found = decided((&vault, folder), &taking_back(&target.made), options.edited)?;
    if found.conflicts.is_empty() && found.changes().is_empty() {
        let is_all_so = found.kept.is_empty() && found.missing.is_empty() && found.left.is_empty();
        let why = if is_all_so { "is already as it was before" } else { "has nothing else to take back" };
        return Ok(nothing(&target, Some(&found), options, why));
    }
    let folder = Arc::new(journal::RunFolder::open(target.folder.path())?);
    let limits = if options.full { Limits::full() } else { Limits::screen() };
    let lookback = Arc::new(Lookback::new((&vault, &folder), &found, irreversible, limits));
    if options.act == Act::OnlyTell {
        return told(&lookback, &target, &found, options);
    }
    // Before anything is done: afterwards there is no difference left to tell.
    let answer = options.json.then(|| answer(&target, &found, &lookback)).transpose()?;
    let report = carry(place, &tools, &target, &lookback, options)?;
    if let Some(mut answer) = answer {
        answer["report"] = serde_json::to_value(&report).unwrap_or_default();
        screen::json(&answer);
    } else {
        finish(place, &target, &found, &report);
    }
    Ok(Exit::of_report(&report))
}

/// Runs the plan through the gate, as any other.
fn carry(
    place: &Place,
    tools: &Toolset,
    target: &Target,
    lookback: &Arc<Lookback>,
    options: Options,
) -> Result<RunReport, Stop> {
    let plan = restore_plan(&target.goal, lookback.wanted());
    let report = plan::check(&plan.to_string(), &*tools.surface, &wiring::check_limits(&place.settings));
    let Some(plan) = report.plan else {
        let found = findings::sorted(report.findings);
        return Err(Stop::bad_input(
            "plan_rejected",
            "the plan that would take it back does not pass its check",
        )
        .details(findings::answer(&found, None)));
    };
    let progress = Arc::new(Progress::new(options.json));
    let watcher = Watcher::of_run(progress.clone());
    let interrupts = Interrupts::new(options.json);
    let asker = Asker::new(options.act == Act::SaidYes, progress.clone(), interrupts.clone());
    let approver = Arc::new(Painted { asker, lookback: lookback.clone() });
    let engine = wiring::engine(place, tools, approver, watcher.clone(), None)?;
    let request = RunRequest {
        plan,
        place: RunPlace::Disk(place.prepare_runs()?),
        kind: RunKind::Undo,
        planner_version: None,
        cancel: interrupts.cancel(),
        // Nobody looks at what is answered in advance.
        forecaster: (options.act == Act::Ask).then(|| lookback.clone() as Arc<dyn Forecaster>),
        // A restore names the state that it expects of every file, and leaves alone what is not as the run left it.
        approved: None,
        budget: None,
    };
    let report = drive::to_end(&interrupts, engine.run_undoing(request, target.undoes.clone()))?;
    progress.end();
    let report = report.map_err(|engine::RunError::Journal(error)| Stop::from(error))?;
    if !options.json {
        summary::show(&report, &watcher, place);
    }
    Ok(report)
}

/// Tells what would be done. The exit code is the one that doing it would have.
fn told(lookback: &Lookback, target: &Target, found: &Restoration, options: Options) -> Outcome {
    if options.json {
        screen::json(&answer(target, found, lookback)?);
    } else {
        let paint = Paint::stdout();
        screen::say(paint.bold(crate::visible::one_line(&target.goal)));
        for line in lookback.lines(&lookback.view()?.0, paint) {
            screen::say(line);
        }
        for conflict in &found.conflicts {
            let words = crate::visible::one_line(&conflict.words());
            screen::say(format_args!("{} {words}", paint.bad("in the way:")));
        }
        screen::say("Nothing was changed: this was a dry run.");
    }
    Ok(if found.conflicts.is_empty() { Exit::Done } else { Exit::Failures })
}

/// What a program gets to read.
fn answer(target: &Target, found: &Restoration, lookback: &Lookback) -> Result<Value, Stop> {
    Ok(json!({
        "run": target.run_id,
        "undoes": target.undoes,
        "goal": target.goal,
        "changes": lookback.wanted(),
        "alreadySo": found.already_so,
        "kept": found.kept,
        "missing": found.missing,
        "left": found.left,
        "conflicts": found.conflicts,
        "notUndone": target.irreversible,
        "files": lookback.view()?.0.differences,
    }))
}

fn nothing(target: &Target, found: Option<&Restoration>, options: Options, why: &str) -> Exit {
    if options.json {
        screen::json(&json!({
            "run": target.run_id,
            "undoes": target.undoes,
            "goal": target.goal,
            "changes": [],
            "alreadySo": found.map_or(0, |found| found.already_so),
            "kept": found.map_or(&[][..], |found| &found.kept),
            "missing": found.map_or(&[][..], |found| &found.missing),
            "left": found.map_or(&[][..], |found| &found.left),
            "conflicts": [],
            "notUndone": target.irreversible,
        }));
        return Exit::Done;
    }
    screen::say(format_args!("Nothing to {}: run {} {why}.", target.verb.to_lowercase(), target.run_id));
    let remarks = match found {
        Some(found) => words::remarks(found, &target.irreversible),
        None => words::not_undone(&target.irreversible),
    };
    remarks.iter().for_each(screen::say);
    Exit::Done
}

/// The last words: what stayed, and the way back.
fn finish(place: &Place, target: &Target, found: &Restoration, report: &RunReport) {
    let paint = Paint::stdout();
    for line in words::remarks(found, &target.irreversible) {
        screen::say(paint.odd(line));
    }
    if Exit::of_report(report) == Exit::Done {
        let (done, back) = match target.verb {
            "Redo" => ("Done again", "undo"),
            _ => ("Undone", "redo"),
        };
        screen::say(format_args!("{} by run {}", paint.good(done), report.run_id));
        screen::say(format_args!(
            "To take this back: tollgate {back} {} {}",
            target.run_id,
            place.vault_words()
        ));
    }
}
