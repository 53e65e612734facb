//! Undo and redo at the terminal: preview, question, run and report.

use std::sync::Arc;

use app::diff::DiffLimits;
use app::display_text::{count, escape_line};
use app::undo::{
    ConflictChoice, ConflictPolicy, EditConflict, NothingToUndo, PreparedUndo, UndoOutlook, UndoPreview,
    UndoTarget, conflict_words, prepare_undo, remove_leftovers, undo_target,
};
use app::vault_context::VaultContext;
use app::{AppError, ErrorKind};
use engine::{
    ApprovalDecision, ApprovalRequest, Approver, ConfirmAnswer, ConfirmRequest, RunReport, UncertainCall,
    UncertainDecision,
};
use toolkit::BoxFuture;

use crate::cli_error::{CliError, CommandResult};
use crate::exit::Exit;
use crate::progress::Progress;
use crate::prompt::{TerminalApprover, ask_at_terminal};
use crate::runtime::{self, InterruptSignal};
use crate::screen;
use crate::summary;
use crate::terminal_observer::TerminalObserver;

/// The options of an undo.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UndoOptions {
    pub(crate) consent: UndoConsent,
    pub(crate) edited: EditedNotes,
    pub(crate) full: bool,
    pub(crate) output: UndoOutput,
}

/// The output of an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UndoOutput {
    /// Results, and the commands that may follow.
    Text,
    /// Results alone.
    ResultsOnly,
    Json,
}

impl UndoOptions {
    fn is_json(self) -> bool {
        self.output == UndoOutput::Json
    }
}

/// Whether the undo is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UndoConsent {
    /// If the user approves.
    Ask,
    Approved,
    DryRun,
}

/// The policy for notes that were edited since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EditedNotes {
    /// Asks about each of them, if the user can be asked.
    Ask,
    Keep,
    Restore,
    /// Only reports them.
    Report,
    Refuse,
}

/// Undoes the target, or shows what that would do.
pub(crate) fn run_undo(context: &VaultContext, target: UndoTarget, options: UndoOptions) -> CommandResult {
    let policy = match options.edited {
        EditedNotes::Ask => ConflictPolicy::Ask(&ask),
        EditedNotes::Keep => ConflictPolicy::Keep,
        EditedNotes::Restore => ConflictPolicy::Restore,
        EditedNotes::Report => ConflictPolicy::Report,
        EditedNotes::Refuse => ConflictPolicy::Refuse,
    };
    let limits = if options.full { DiffLimits::full() } else { DiffLimits::screen() };
    if options.consent != UndoConsent::DryRun {
        let removed = remove_leftovers(context, &target)?;
        if !removed.is_empty() {
            let number = count(removed.len() as u64, "hidden file");
            screen::notice(format_args!(
                "Removed {number} that the interrupted run had left; no text of yours was in them that is not stored"
            ));
        }
    }
    let prepared = match prepare_undo(context, target, policy, limits, screen::stderr_paint())? {
        UndoOutlook::Nothing(nothing) => return Ok(show_nothing(&nothing, options)),
        UndoOutlook::Ready(prepared) => prepared,
    };
    if options.consent == UndoConsent::DryRun {
        return show_dry_run(&prepared, options);
    }
    // Computed before the undo: afterwards the differences are gone.
    let answer = options.is_json().then(|| prepared.to_json()).transpose()?;
    let report = run(context, &prepared, options)?;
    if let Some(mut answer) = answer {
        answer["report"] = serde_json::to_value(&report).unwrap_or_default();
        screen::json(&answer);
    } else {
        print_outcome(context, &prepared, &report, options.output);
    }
    Ok(Exit::of_report(&report))
}

fn run(context: &VaultContext, prepared: &PreparedUndo, options: UndoOptions) -> Result<RunReport, CliError> {
    let progress = Arc::new(Progress::new(options.is_json()));
    let watcher = TerminalObserver::of_run(progress.clone());
    let interrupts = InterruptSignal::new(options.is_json());
    let approver =
        TerminalApprover::new(options.consent == UndoConsent::Approved, progress.clone(), interrupts.clone());
    let approver = Arc::new(ColouredApprover { approver, preview: prepared.preview.clone() });
    // With an approval in advance no question is shown.
    let forecasts = options.consent == UndoConsent::Ask;
    let undo = prepared.run(context, approver, watcher.clone(), forecasts, interrupts.cancel());
    let report = runtime::block_on(&interrupts, undo)?;
    progress.end();
    let report = report?;
    if !options.is_json() {
        summary::show_results(&report, &watcher);
        summary::show_ending(&report);
    }
    Ok(report)
}

/// Asks about one file. Returns `None` if the user cannot be asked.
fn ask(edited: &EditConflict<'_>) -> Result<Option<ConflictChoice>, AppError> {
    let (conflict, paint) = (edited.conflict, screen::stderr_paint());
    let restore = if conflict.can_overwrite { ", [r]estore" } else { "" };
    let compare = if conflict.current.is_some() { ", [d]iff" } else { "" };
    let together = match edited.command_with_later() {
        Some(command) => format!("To undo the later runs of these notes too: {command}\n"),
        None => String::new(),
    };
    let question = format!(
        "{} {}\n{together}{}",
        paint.odd("Changed since:"),
        escape_line(&edited.words()),
        paint.bold(format_args!("[k]eep mine{restore}{compare}, [a]bort"))
    );
    loop {
        let Some(answer) = ask_at_terminal(&question) else { return Ok(None) };
        match answer.as_str() {
            "k" | "keep" => return Ok(Some(ConflictChoice::Keep)),
            "r" | "restore" if conflict.can_overwrite => return Ok(Some(ConflictChoice::Restore)),
            "d" | "diff" => screen::notice(edited.difference(paint)?),
            // The end of the input decides nothing.
            "" | "a" | "abort" => {
                let message = "nothing was changed: you declined";
                return Err(AppError::new(ErrorKind::Denied, "aborted", message));
            }
            _ => {}
        }
    }
}

/// Shows what would be done. The exit code is that of the real undo.
fn show_dry_run(prepared: &PreparedUndo, options: UndoOptions) -> CommandResult {
    if options.is_json() {
        screen::json(&prepared.to_json()?);
    } else {
        let paint = screen::stdout_paint();
        screen::print(paint.bold(escape_line(&prepared.target.goal)));
        prepared.preview.render(paint)?.iter().for_each(screen::print);
        for conflict in prepared.conflicts() {
            screen::print(format_args!(
                "{} {}",
                paint.bad("in the way:"),
                escape_line(&conflict_words(&prepared.target, conflict))
            ));
        }
        screen::print("Nothing was changed: this was a dry run.");
    }
    Ok(if prepared.conflicts().is_empty() { Exit::Done } else { Exit::Failures })
}

fn show_nothing(nothing: &NothingToUndo, options: UndoOptions) -> Exit {
    if options.is_json() {
        screen::json(&nothing.to_json());
        return Exit::Done;
    }
    let target = &nothing.target;
    let why = nothing.why;
    screen::print(format_args!("Nothing to {}: {} {why}.", target.verb.to_lowercase(), target.name()));
    nothing.remarks().iter().for_each(screen::print);
    Exit::Done
}

/// Prints what was left as it is, and how to reverse the undo.
fn print_outcome(context: &VaultContext, prepared: &PreparedUndo, report: &RunReport, output: UndoOutput) {
    let (paint, target) = (screen::stdout_paint(), &prepared.target);
    for line in prepared.remarks() {
        screen::print(paint.odd(line));
    }
    if output == UndoOutput::ResultsOnly {
        return;
    }
    if Exit::of_report(report) != Exit::Done {
        summary::show_next(&["show last".to_owned()], context);
        summary::show_record_hint(report, context);
        return;
    }
    let (back, reverts_last) = match target.verb {
        // An undo that has just ended is the newest one.
        "Undo" => ("redo", true),
        _ => ("undo", undo_target(context, "last").is_ok_and(|last| last.run_id == target.run_id)),
    };
    let run = if reverts_last && target.session.is_none() { "last".to_owned() } else { target.arguments() };
    summary::show_next(&[format!("{back} {run}"), "show last".to_owned()], context);
}

/// Asks at the terminal, with coloured differences.
struct ColouredApprover {
    approver: TerminalApprover,
    preview: Arc<UndoPreview>,
}

impl Approver for ColouredApprover {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer> {
        Box::pin(async {
            let text = self.preview.coloured(&request.text);
            let (run_id, binding, whole_plan) = (request.run_id.clone(), request.binding, request.whole_plan);
            let (risk, client) = (request.risk, request.client.clone());
            let painted = ConfirmRequest { run_id, text, binding, whole_plan, risk, client };
            self.approver.confirm(&painted).await
        })
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        self.approver.approve(request)
    }

    fn settle<'a>(&'a self, uncertain: &'a UncertainCall) -> BoxFuture<'a, UncertainDecision> {
        self.approver.settle(uncertain)
    }
}
