//! `tollgate demo`: all main features on a sample vault, in scenes that fit a screen.

mod scenes;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use app::plan_service::{PlanWork, check_plan, run_plan};
use clap::Args;
use engine::{
    ApprovalDecision, ApprovalRequest, Approver, ConfirmAnswer, ConfirmRequest, RunReport, UncertainCall,
    UncertainDecision,
};
use envelope::ApprovalChannel;
use plan::CheckedPlan;
use toolkit::BoxFuture;

use self::scenes::{PagingApprover, Scenes};

use shell::ProcessLifetime;

use crate::cli_error::{CliError, CommandResult};
use crate::exit::Exit;
use crate::progress::Progress;
use crate::prompt::TerminalApprover;
use crate::runtime;
use crate::screen;
use crate::summary;
use crate::terminal_observer::TerminalObserver;
use crate::undo_run::{EditedNotes, UndoConsent, UndoOptions, UndoOutput, run_undo};
use app::diff::DiffLimits;
use app::display_text::{display_path, escape_line};
use app::preview::{ForecastRules, ForecastRun, OverlayForecaster, SavedPreview};
use app::settings::Settings;
use app::shell_quoting::quote_for_shell;
use app::toolset::{self, Toolset};
use app::undo::undo_target;
use app::vault_context::VaultContext;

/// Shows all main features on a sample vault
///
/// At a terminal you answer its question and go on with Enter. Elsewhere it answers itself and does not stop. The vault is
/// in a temporary folder, unless you keep it.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate demo\n  tollgate demo --dir ~/tollgate-demo")]
pub(crate) struct DemoCommand {
    /// Keep the sample vault in its temporary folder
    #[arg(long, conflicts_with = "dir")]
    keep: bool,
    /// Put the sample vault into this new folder and keep it
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The plan of the demonstration; the same as `examples/inbox-to-notes.json`.
const PLAN: &str = include_str!("../../../../examples/inbox-to-notes.json");

/// The name of the plan in the sample vault.
const PLAN_FILE: &str = "plan.json";

/// The sample vault, file by file.
const SAMPLE_VAULT: [(&str, &str); 6] = [
    ("Inbox.md", include_str!("../../sample-vault/Inbox.md")),
    ("Welcome.md", include_str!("../../sample-vault/Welcome.md")),
    ("Daily/2026-05-04.md", include_str!("../../sample-vault/Daily/2026-05-04.md")),
    ("Projects/Old house.md", include_str!("../../sample-vault/Projects/Old house.md")),
    (".obsidian/app.json", include_str!("../../sample-vault/.obsidian/app.json")),
    (PLAN_FILE, PLAN),
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
        let mut scenes = Scenes::new();
        let exit = Demonstration { context: &context, scratch: temporary.path() }.run(&mut scenes)?;
        if scenes.is_ended() {
            return Ok(Exit::Cancelled);
        }
        if exit != Exit::Done {
            return Ok(exit);
        }
        let kept = self.keep || self.dir.is_some() || scenes.ask("Keep this sample vault? [y/N]");
        print_next_steps(&mut scenes, kept.then_some(&*context.vault));
        if kept && self.dir.is_none() {
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

/// The demonstration of one vault.
struct Demonstration<'a> {
    context: &'a VaultContext,
    /// A folder for a copy of the run.
    scratch: &'a Path,
}

impl Demonstration<'_> {
    /// Shows scene after scene, until the user ends it.
    fn run(&self, scenes: &mut Scenes) -> CommandResult {
        let vault = &self.context.vault;
        scenes.begin("The vault", "a folder of Markdown notes; a sample, so nothing of yours is touched");
        scenes.line(display_path(vault));
        scenes.lines(&file_tree(vault));
        scenes.line("");
        scenes.line("Inbox.md:");
        scenes.lines(&indented(SAMPLE_VAULT[0].1));
        if scenes.end() {
            return Ok(Exit::Cancelled);
        }
        scenes.begin("The plan", "what a model would write; `tollgate check` proves it before anything runs");
        let tools = Arc::new(Toolset::open(self.context, ProcessLifetime::Run)?);
        let plan = self.show_plan(scenes, &tools)?;
        if scenes.end() {
            return Ok(Exit::Cancelled);
        }
        scenes.begin("The preview", "the plan is run over an overlay of the vault; nothing is written yet");
        let interrupts = scenes.interrupts();
        let rehearsal = ForecastRun::new(&ForecastRules::of(&self.context.settings), tools.clone(), &plan);
        let preview =
            runtime::block_on(&interrupts, rehearsal.perform(DiffLimits::screen(), interrupts.cancel()))??;
        scenes.first_lines(&preview.render(screen::stdout_paint()), "`tollgate preview plan.json` shows all");
        if scenes.end() {
            return Ok(Exit::Cancelled);
        }
        let report = self.ask_and_run(scenes, &tools, plan, SavedPreview::of(&preview))?;
        let Some(run) = report.run_dir.as_deref().filter(|_| Exit::of_report(&report) == Exit::Done) else {
            return Ok(Exit::of_report(&report));
        };
        if scenes.end() {
            return Ok(Exit::Cancelled);
        }
        scenes.begin("The vault now", "the notes and folders that the question named, and no others");
        scenes.lines(&file_tree(vault));
        if scenes.end() {
            return Ok(Exit::Cancelled);
        }
        if !self.prove(scenes, &report, run)? {
            return Ok(Exit::Failures);
        }
        if scenes.end() {
            return Ok(Exit::Cancelled);
        }
        self.undo(scenes, &report)
    }

    fn show_plan(&self, scenes: &mut Scenes, tools: &Toolset) -> Result<CheckedPlan, CliError> {
        // The step that makes the notes shows references and `foreach`.
        let start = PLAN.find("    {\n      \"id\": \"notes\"").unwrap_or_default();
        let step = PLAN[start..].split_inclusive("\n    },\n").next().unwrap_or(PLAN);
        scenes.line(format_args!("{PLAN_FILE} has {} lines. One of its steps:", PLAN.lines().count()));
        scenes.lines(&indented(step));
        let report = check_plan(PLAN, &tools.surface, &self.context.settings);
        super::check::print_findings(&report.findings);
        let plan = report
            .plan
            .ok_or_else(|| CliError::new(Exit::Failures, "demo", "the plan of the demonstration is wrong"))?;
        scenes.line(format_args!(
            "{} every reference leads somewhere and has the right type",
            screen::stdout_paint().good("checked")
        ));
        scenes.line(format_args!("Order: {}", app::findings::execution_order(&plan).join(", ")));
        Ok(plan)
    }

    /// Asks about the plan, runs it and shows the receipts.
    fn ask_and_run(
        &self,
        scenes: &mut Scenes,
        tools: &Arc<Toolset>,
        plan: CheckedPlan,
        preview: SavedPreview,
    ) -> Result<RunReport, CliError> {
        scenes.begin("The question", "one approval for the whole plan, bound to the hash of this question");
        let interrupts = scenes.interrupts();
        let progress = Arc::new(Progress::new(!scenes.is_interactive()));
        let watcher = TerminalObserver::of_run(progress.clone());
        let forecaster = OverlayForecaster::new(&self.context.settings, tools);
        let forecaster = Arc::new(forecaster.previewed(Some(preview)));
        let approver: Arc<dyn Approver> = match scenes.is_interactive() {
            true => Arc::new(PagingApprover::new(TerminalApprover::new(
                false,
                progress.clone(),
                interrupts.clone(),
            ))),
            false => Arc::new(DemoApprover),
        };
        let engine =
            toolset::build_engine(self.context, tools, approver, watcher.clone(), Some(forecaster.clone()))?;
        let work = PlanWork { forecaster: Some(forecaster), ..PlanWork::new(plan) };
        let report =
            runtime::block_on(&interrupts, run_plan(&engine, work, self.context, interrupts.cancel()))??;
        progress.end();
        scenes.begin("The receipts", "each call passed the same twelve phases and ended in one record");
        summary::show_results(&report, &watcher);
        summary::show_ending(&report);
        Ok(report)
    }

    /// Verifies and replays the run, and shows that a changed copy is found. Returns false if it is not.
    fn prove(&self, scenes: &mut Scenes, report: &RunReport, run: &Path) -> Result<bool, CliError> {
        scenes.begin(
            "The proof",
            "the record is a hash chain; its head, kept elsewhere, proves that nothing was changed",
        );
        super::verify::show(&journal::verify(run, report.chain_head.as_ref().map(|head| &head.hash))?, false);
        super::replay::show(&journal::replay(run)?);
        scenes.line("");
        scenes.line("Now one byte of a copy of the record is changed:");
        Ok(verify_tampered_copy(run, &self.scratch.join("tampered"))? > 0)
    }

    fn undo(&self, scenes: &mut Scenes, report: &RunReport) -> CommandResult {
        scenes.begin("The way back", "the whole run is undone, from what was stored before each change");
        let options = UndoOptions {
            consent: UndoConsent::Approved,
            edited: EditedNotes::Refuse,
            full: false,
            output: UndoOutput::ResultsOnly,
        };
        let undone = run_undo(self.context, undo_target(self.context, report.run_id.as_str())?, options)?;
        if undone == Exit::Done && !is_restored(&self.context.vault) {
            return Err(CliError::new(
                Exit::Failures,
                "demo",
                "the sample vault is not as it was before the run",
            ));
        }
        scenes.line(format_args!("{} every file is as it was", screen::stdout_paint().good("checked")));
        scenes.lines(&file_tree(&self.context.vault));
        scenes.end();
        Ok(undone)
    }
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

/// Returns the files and folders of the vault as lines, without hidden ones.
fn file_tree(vault: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    add_folder(vault, 1, &mut lines);
    lines
}

fn add_folder(folder: &Path, depth: usize, lines: &mut Vec<String>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<(String, PathBuf)> =
        entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())).collect();
    entries.retain(|(name, _)| !name.starts_with('.'));
    entries.sort();
    for (name, path) in entries {
        let indent = "  ".repeat(depth);
        if path.is_dir() {
            lines.push(format!("{indent}{}/", escape_line(&name)));
            add_folder(&path, depth + 1, lines);
        } else {
            lines.push(format!("{indent}{}", escape_line(&name)));
        }
    }
}

fn indented(text: &str) -> Vec<String> {
    text.lines().map(|line| screen::stdout_paint().dim(format!("  {line}"))).collect()
}

/// Copies the run with everything that it stores, changes one byte of the copy and prints the report of `verify`. Returns
/// the number of problems found.
fn verify_tampered_copy(run: &Path, copy: &Path) -> Result<usize, CliError> {
    let failed = |error| CliError::io("copy the run", error);
    // Same depth and names as in a vault: stored data lies beside the runs, and a folder is named after its run.
    let copied = copy.join("runs").join(run.file_name().unwrap_or_default());
    copy_folder(run, &copied).map_err(failed)?;
    if let Some(state) = run.ancestors().nth(2) {
        copy_folder(&state.join("objects"), &copy.join("objects")).map_err(failed)?;
    }
    let log = copied.join("results.jsonl");
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
    let verification = journal::verify(&copied, None)?;
    super::verify::show(&verification, false);
    Ok(verification.problems.len())
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Prints commands for the vault that was kept, or the one that makes one.
fn print_next_steps(scenes: &mut Scenes, kept: Option<&Path>) {
    scenes.begin("Your turn", "");
    match kept {
        Some(vault) => screen::print_unwrapped(format_args!("  cd {}", quote_for_shell(vault))),
        None => {
            scenes.line(
                "The sample vault was in a temporary folder, which is removed. To make one that stays:",
            );
            screen::print_unwrapped("  tollgate demo --dir ~/tollgate-demo");
            scenes.line("The commands then are:");
            screen::print_unwrapped("  cd ~/tollgate-demo");
        }
    }
    for (command, what) in [
        ("redo last", "asks, and makes the notes again"),
        ("show last --diff", "explains that, with its differences"),
        ("undo last", "asks, and takes it back"),
        ("preview plan.json", "shows what the plan would do"),
        ("runs Inbox", "lists the runs that mention or changed a note"),
        ("call util.slugifyTitle '{\"title\": \"Hello!\"}'", "makes one call"),
        ("doctor", "says what is set up and what is not"),
    ] {
        let what = screen::stdout_paint().dim(format!("# {what}"));
        screen::print_unwrapped(format_args!("  tollgate {command}   {what}"));
    }
    scenes.line("With your own notes: `tollgate init FOLDER`, then `tollgate connect --help`.");
}

/// Shows the question and approves it, where no one can be asked.
struct DemoApprover;

impl Approver for DemoApprover {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer> {
        indented(&request.text).iter().for_each(screen::print);
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
