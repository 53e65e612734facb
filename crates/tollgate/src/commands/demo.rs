//! `tollgate demo`: all main features on a sample vault in a temporary folder.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use app::plan_service::{PlanWork, check_plan, run_plan};
use clap::Args;
use engine::{
    ApprovalDecision, ApprovalRequest, Approver, ConfirmAnswer, ConfirmRequest, UncertainCall,
    UncertainDecision,
};
use envelope::ApprovalChannel;
use toolkit::BoxFuture;

use shell::ProcessLifetime;

use crate::cli_error::{CliError, CommandResult};
use crate::exit::Exit;
use crate::progress::Progress;
use crate::runtime::{self, InterruptSignal};
use crate::screen::{self};
use crate::summary;
use crate::terminal_observer::TerminalObserver;
use crate::undo_run::{EditedNotes, UndoConsent, UndoOptions, run_undo};
use app::diff::DiffLimits;
use app::display_text::{count, display_path};
use app::preview::{ForecastRules, ForecastRun, OverlayForecaster, SavedPreview};
use app::settings::Settings;
use app::shell_quoting::quote_for_shell;
use app::toolset::{self, Toolset};
use app::undo::undo_target;
use app::vault_context::VaultContext;

/// Shows all main features on a sample vault in a temporary folder; takes a few seconds
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate demo\n  tollgate demo --dir ~/tollgate-demo")]
pub(crate) struct DemoCommand {
    /// Keep the temporary folder
    #[arg(long)]
    keep: bool,
    /// Put the sample vault into this new folder and keep it
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The plan of the demonstration; the same as `examples/inbox-to-notes.json`.
const PLAN: &str = include_str!("../../../../examples/inbox-to-notes.json");

/// The sample vault, file by file.
const SAMPLE_VAULT: [(&str, &str); 5] = [
    ("Inbox.md", include_str!("../../sample-vault/Inbox.md")),
    ("Welcome.md", include_str!("../../sample-vault/Welcome.md")),
    ("Daily/2026-05-04.md", include_str!("../../sample-vault/Daily/2026-05-04.md")),
    ("Projects/Old house.md", include_str!("../../sample-vault/Projects/Old house.md")),
    (".obsidian/app.json", include_str!("../../sample-vault/.obsidian/app.json")),
];

impl DemoCommand {
    pub(crate) fn run(self) -> CommandResult {
        let temporary = tempfile::Builder::new()
            .prefix("tollgate-demo-")
            .tempdir()
            .map_err(|error| CliError::io("make a temporary folder", error))?;
        let vault = self.dir.clone().unwrap_or_else(|| temporary.path().join("vault"));
        write_sample_vault(&vault)?;
        let vault = vault.canonicalize().map_err(|error| CliError::io("find the sample vault", error))?;
        let context = VaultContext { vault, settings: Settings::cautious() };
        let exit = run_demo(&context, temporary.path())?;
        let kept = self.keep || self.dir.is_some();
        print_next_steps(kept.then_some(&*context.vault));
        if self.keep {
            // From here on the folder belongs to the user.
            let _path = temporary.keep();
        }
        Ok(exit)
    }
}

/// Writes the sample vault. Returns an error if the folder is not empty.
fn write_sample_vault(vault: &Path) -> Result<(), CliError> {
    let failed =
        |error| CliError::io(format_args!("write the sample vault into {}", display_path(vault)), error);
    if std::fs::read_dir(vault).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(CliError::bad_input("not_empty", format!("`{}` is not empty", display_path(vault)))
            .hint("give a folder that does not exist yet"));
    }
    for (path, text) in SAMPLE_VAULT {
        let path = vault.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(vault)).map_err(failed)?;
        File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)?;
    }
    Ok(())
}

/// Runs the demonstration, section by section.
fn run_demo(context: &VaultContext, scratch: &Path) -> CommandResult {
    print_title(1, "The vault", "a folder of Markdown notes; a copy, so nothing of yours is touched");
    screen::print(display_path(&context.vault));
    print_indented(SAMPLE_VAULT[0].1);

    print_title(2, "The plan", "what a model would write; `tollgate check` proves it before anything runs");
    print_indented(PLAN);
    let tools = Arc::new(Toolset::open(context, ProcessLifetime::Run)?);
    let report = check_plan(PLAN, &tools.surface, &context.settings);
    super::check::print_findings(&report.findings);
    let plan = report
        .plan
        .ok_or_else(|| CliError::new(Exit::Failures, "demo", "the plan of the demonstration is wrong"))?;
    screen::print(format_args!(
        "{} every reference leads somewhere and has the right type",
        screen::stdout_paint().good("checked")
    ));
    screen::print(format_args!("Order: {}", app::findings::execution_order(&plan).join(", ")));

    print_title(3, "The preview", "the plan is run over an overlay of the vault; nothing is written yet");
    let interrupts = InterruptSignal::new(false);
    let rehearsal = ForecastRun::new(&ForecastRules::of(&context.settings), tools.clone(), &plan);
    let preview =
        runtime::block_on(&interrupts, rehearsal.perform(DiffLimits::screen(), interrupts.cancel()))??;
    for line in preview.render(screen::stdout_paint()) {
        screen::print(line);
    }

    print_title(4, "The question", "one approval for the whole plan, bound to the hash of this question");
    let progress = Arc::new(Progress::new(false));
    let watcher = TerminalObserver::of_run(progress.clone());
    let forecaster = OverlayForecaster::new(&context.settings, &tools);
    let forecaster = Arc::new(forecaster.previewed(Some(SavedPreview::of(&preview))));
    let engine = toolset::build_engine(
        context,
        &tools,
        Arc::new(DemoApprover),
        watcher.clone(),
        Some(forecaster.clone()),
    )?;
    let forecaster = Some(forecaster);
    let work = PlanWork { forecaster, ..PlanWork::new(plan) };
    let report = runtime::block_on(&interrupts, run_plan(&engine, work, context, interrupts.cancel()))??;
    progress.end();

    print_title(5, "The receipts", "each call went through the same twelve phases and ended in one record");
    summary::show(&report, &watcher, context);
    let Some(run) = report.run_dir.as_deref().filter(|_| Exit::of_report(&report) == Exit::Done) else {
        return Ok(Exit::of_report(&report));
    };

    print_title(
        6,
        "The proof",
        "the record is a hash chain: keep its head, and you can prove later that nothing was changed",
    );
    super::verify::show(&journal::verify(run, report.chain_head.as_ref().map(|head| &head.hash))?, false);
    super::replay::show(&journal::replay(run)?);

    print_title(7, "The test", "one byte of a copy of the record is changed");
    let problems = verify_tampered_copy(run, &scratch.join("tampered"))?;
    if problems == 0 {
        return Ok(Exit::Failures);
    }

    print_title(8, "The way back", "the whole run is undone, from what was kept before each change");
    let options =
        UndoOptions { consent: UndoConsent::Approved, edited: EditedNotes::Refuse, full: false, json: false };
    let undone = run_undo(context, undo_target(context, report.run_id.as_str())?, options)?;
    if undone == Exit::Done && !is_restored(&context.vault) {
        return Err(CliError::new(
            Exit::Failures,
            "demo",
            "the sample vault is not as it was before the run",
        ));
    }
    screen::print(format_args!("{} every file is as it was", screen::stdout_paint().good("checked")));
    Ok(undone)
}

/// Returns whether the sample vault has exactly its own files again, beside `.tollgate`.
fn is_restored(vault: &Path) -> bool {
    let same =
        |(path, text): &(&str, &str)| std::fs::read(vault.join(path)).is_ok_and(|now| now == text.as_bytes());
    let is_known = |name: &str| SAMPLE_VAULT.iter().any(|(path, _)| path.split('/').next() == Some(name));
    let names = std::fs::read_dir(vault).into_iter().flatten().flatten();
    let strangers = names
        .filter(|entry| entry.file_name().to_str().is_none_or(|name| name != ".tollgate" && !is_known(name)));
    SAMPLE_VAULT.iter().all(same) && strangers.count() == 0
}

/// Copies the run, changes one byte of the copy and prints the report of `verify`. Returns the number of problems
/// found.
fn verify_tampered_copy(run: &Path, copy: &Path) -> Result<usize, CliError> {
    let failed = |error| CliError::io("copy the run", error);
    // Same depth and names as in a vault: stored data lies beside the runs, and a folder is named after its run.
    let copy = copy.join("runs").join(run.file_name().unwrap_or_default());
    std::fs::create_dir_all(&copy).map_err(failed)?;
    for name in ["run.json", "calls.jsonl", "results.jsonl", "events.jsonl"] {
        std::fs::copy(run.join(name), copy.join(name)).map_err(failed)?;
    }
    let log = copy.join("results.jsonl");
    let mut bytes = std::fs::read(&log).map_err(failed)?;
    let middle = bytes.len() / 2;
    let letter =
        bytes.iter().skip(middle).position(u8::is_ascii_alphabetic).map_or(middle, |after| middle + after);
    if let Some(byte) = bytes.get_mut(letter) {
        let old = *byte;
        // Switches the case of a letter: the smallest change.
        *byte ^= 0x20;
        let (old, new) = (char::from(old), char::from(*byte));
        screen::print(format_args!("results.jsonl, byte {letter}: `{old}` becomes `{new}`"));
    }
    File::create(&log).and_then(|mut file| file.write_all(&bytes)).map_err(failed)?;
    let verification = journal::verify(&copy, None)?;
    super::verify::show(&verification, false);
    Ok(verification.problems.len())
}

fn print_next_steps(kept: Option<&Path>) {
    print_title(9, "Your turn", "");
    let vault = match kept {
        Some(vault) => quote_for_shell(vault),
        None => {
            screen::print("The temporary folder is gone. Make one that stays:");
            screen::print("  tollgate demo --dir ~/tollgate-demo");
            "~/tollgate-demo".to_owned()
        }
    };
    for (command, what) in [
        ("redo last", "the notes are there again"),
        ("show last", "the run, explained"),
        ("show last --all", "with all twelve phases of every call"),
        ("tools", "what can be called"),
        ("call util.slugifyTitle '{\"title\": \"Hello, World!\"}'", "one call with the usual checks"),
        ("runs", "the history"),
        ("doctor", "what is set up and what is not"),
    ] {
        screen::print(format_args!(
            "  tollgate {command} --vault {vault}   {}",
            screen::stdout_paint().dim(format!("# {what}"))
        ));
    }
    screen::print("With your own notes:");
    screen::print("  tollgate init ~/Notes && tollgate run plan.json --vault ~/Notes");
}

fn print_title(number: usize, name: &str, what: &str) {
    let paint = screen::stdout_paint();
    let what = if what.is_empty() { String::new() } else { paint.dim(format!("  {what}")) };
    screen::print(format_args!("\n{}{what}", paint.bold(format!("{number}. {name}"))));
}

/// Prints a text indented; a long one only in part.
fn print_indented(text: &str) {
    const SHOWN: usize = 70;
    let lines: Vec<&str> = text.lines().collect();
    for line in lines.iter().take(SHOWN) {
        screen::print(screen::stdout_paint().dim(format!("  {line}")));
    }
    if lines.len() > SHOWN {
        screen::print(format_args!("  and {}", count((lines.len() - SHOWN) as u64, "more line")));
    }
}

/// Shows the question and approves it, since a demonstration cannot ask.
struct DemoApprover;

impl Approver for DemoApprover {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer> {
        print_indented(&request.text);
        screen::print(format_args!(
            "May this run? [y/N] {} {}",
            screen::stdout_paint().good("y"),
            screen::stdout_paint().dim("(answered by the demonstration, recorded as --yes)")
        ));
        Box::pin(std::future::ready(ConfirmAnswer::Approved { channel: ApprovalChannel::YesFlag }))
    }

    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(std::future::ready(ApprovalDecision::ApproveOnce { channel: ApprovalChannel::YesFlag }))
    }

    fn settle<'a>(&'a self, _: &'a UncertainCall) -> BoxFuture<'a, UncertainDecision> {
        Box::pin(std::future::ready(UncertainDecision::Leave))
    }
}
