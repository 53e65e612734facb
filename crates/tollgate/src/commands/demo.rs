//! `tollgate demo`: everything at once, on a sample vault in a temporary folder.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use engine::{Answer, ApprovalRequest, Approver, ConfirmRequest, UncertainCall, UncertainVerdict, Verdict};
use envelope::Channel;
use journal::RunKind;
use toolkit::BoxFuture;

use shell::Lifetime;

use crate::diff::Limits;
use crate::drive::{self, Interrupts};
use crate::exit::Exit;
use crate::findings;
use crate::place::Place;
use crate::preview::{ForecastRules, OverlayForecaster, Rehearsal, SavedPreview};
use crate::progress::Progress;
use crate::quoting::quoted;
use crate::screen::{self, Paint};
use crate::settings::Settings;
use crate::stop::{Outcome, Stop};
use crate::summary;
use crate::takeback::{Act, Edited, Options, perform, undo_target};
use crate::visible::{count, path_words};
use crate::watch::Watcher;
use crate::wiring::{self, Toolset};

/// Shows everything on a sample vault in a temporary folder; takes a few seconds
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate demo\n  tollgate demo --dir ~/tollgate-demo")]
pub(crate) struct Demo {
    /// Keep the temporary folder, to look around in it
    #[arg(long)]
    keep: bool,
    /// Put the sample vault into this new folder and keep it
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The plan of the demonstration; the same as `examples/inbox-to-notes.json`.
const PLAN: &str = include_str!("../../../../examples/inbox-to-notes.json");

/// The sample vault, file by file.
const VAULT: [(&str, &str); 5] = [
    ("Inbox.md", include_str!("../../sample-vault/Inbox.md")),
    ("Welcome.md", include_str!("../../sample-vault/Welcome.md")),
    ("Daily/2026-05-04.md", include_str!("../../sample-vault/Daily/2026-05-04.md")),
    ("Projects/Old house.md", include_str!("../../sample-vault/Projects/Old house.md")),
    (".obsidian/app.json", include_str!("../../sample-vault/.obsidian/app.json")),
];

impl Demo {
    pub(crate) fn run(self) -> Outcome {
        let temporary = tempfile::Builder::new()
            .prefix("tollgate-demo-")
            .tempdir()
            .map_err(|error| Stop::io("make a temporary folder", error))?;
        let vault = self.dir.clone().unwrap_or_else(|| temporary.path().join("vault"));
        fill(&vault)?;
        let vault = vault.canonicalize().map_err(|error| Stop::io("find the sample vault", error))?;
        let place = Place { vault, settings: Settings::cautious() };
        let exit = tour(&place, temporary.path())?;
        let kept = self.keep || self.dir.is_some();
        next(kept.then_some(&*place.vault));
        if self.keep {
            // The folder is the person's from here on.
            let _path = temporary.keep();
        }
        Ok(exit)
    }
}

/// Writes the sample vault into a folder that has nothing in it yet.
fn fill(vault: &Path) -> Result<(), Stop> {
    let failed = |error| Stop::io(format_args!("write the sample vault into {}", path_words(vault)), error);
    if std::fs::read_dir(vault).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Stop::bad_input("not_empty", format!("`{}` is not empty", path_words(vault)))
            .hint("give a folder that does not exist yet"));
    }
    for (path, text) in VAULT {
        let path = vault.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(vault)).map_err(failed)?;
        File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)?;
    }
    Ok(())
}

/// The demonstration itself, as a table of contents.
fn tour(place: &Place, scratch: &Path) -> Outcome {
    title(1, "The vault", "a folder of Markdown notes; a copy, so nothing of yours is touched");
    screen::say(path_words(&place.vault));
    indented(VAULT[0].1);

    title(2, "The plan", "what a model would write; `tollgate check` proves it before anything runs");
    indented(PLAN);
    let tools = Arc::new(Toolset::open(place, Lifetime::Run)?);
    let report = plan::check(PLAN, &*tools.surface, &wiring::check_limits(&place.settings));
    findings::show(&report.findings);
    let plan = report
        .plan
        .ok_or_else(|| Stop::new(Exit::Failures, "demo", "the plan of the demonstration is wrong"))?;
    screen::say(format_args!(
        "{} every reference leads somewhere and has the right type",
        Paint::stdout().good("checked")
    ));
    screen::say(format_args!("Order: {}", findings::order(&plan).join(", ")));

    title(3, "The preview", "the plan is run over an overlay of the vault; nothing is written yet");
    let interrupts = Interrupts::new(false);
    let rehearsal = Rehearsal::new(&ForecastRules::of(&place.settings), tools.clone(), &plan);
    let preview = drive::to_end(&interrupts, rehearsal.perform(Limits::screen(), interrupts.cancel()))??;
    for line in preview.render(Paint::stdout()) {
        screen::say(line);
    }

    title(4, "The question", "one yes for the whole plan, bound to the hash of what is shown");
    let progress = Arc::new(Progress::new(false));
    let watcher = Watcher::of_run(progress.clone());
    let forecaster = OverlayForecaster::new(&place.settings, &tools);
    let forecaster = Arc::new(forecaster.previewed(Some(SavedPreview::of(&preview))));
    let engine = wiring::engine(place, &tools, Arc::new(SaysYes), watcher.clone(), Some(forecaster.clone()))?;
    let forecaster = Some(forecaster);
    let work = super::run::Carried { plan, kind: RunKind::Plan, forecaster, approved: None, budget: None };
    let report = super::run::carry(&engine, work, place, &interrupts)?;
    progress.end();

    title(5, "The receipts", "each call went through the same twelve phases and ended in one record");
    summary::show(&report, &watcher, place);
    let Some(run) = report.run_dir.as_deref().filter(|_| Exit::of_report(&report) == Exit::Done) else {
        return Ok(Exit::of_report(&report));
    };

    title(6, "The proof", "the record is chained: whoever keeps the head can prove it later");
    super::verify::show(&journal::verify(run, report.chain_head.as_ref().map(|head| &head.hash))?, false);
    super::replay::show(&journal::replay(run)?);

    title(7, "The test", "one byte of a copy of the record is changed");
    let problems = tampered(run, &scratch.join("tampered"))?;
    if problems == 0 {
        return Ok(Exit::Failures);
    }

    title(8, "The way back", "the whole run is undone, from what was kept before each change");
    let options = Options { act: Act::SaidYes, edited: Edited::Refuse, full: false, json: false };
    let undone = perform(place, undo_target(place, report.run_id.as_str())?, options)?;
    if undone == Exit::Done && !is_as_it_was(&place.vault) {
        return Err(Stop::new(Exit::Failures, "demo", "the sample vault is not as it was before the run"));
    }
    screen::say(format_args!("{} every file is as it was", Paint::stdout().good("checked")));
    Ok(undone)
}

/// Whether the sample vault has exactly its own files, beside what Tollgate keeps.
fn is_as_it_was(vault: &Path) -> bool {
    let same =
        |(path, text): &(&str, &str)| std::fs::read(vault.join(path)).is_ok_and(|now| now == text.as_bytes());
    let is_known = |name: &str| VAULT.iter().any(|(path, _)| path.split('/').next() == Some(name));
    let names = std::fs::read_dir(vault).into_iter().flatten().flatten();
    let strangers = names
        .filter(|entry| entry.file_name().to_str().is_none_or(|name| name != ".tollgate" && !is_known(name)));
    VAULT.iter().all(same) && strangers.count() == 0
}

/// Copies the run, changes one byte of it and shows what `verify` says. Returns how many problems it found.
fn tampered(run: &Path, copy: &Path) -> Result<usize, Stop> {
    let failed = |error| Stop::io("copy the run", error);
    // The same depth and name as in a vault: stored data lies beside the runs, and a folder is named by its run.
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
        // Upper for lower case: the smallest change a letter can have.
        *byte ^= 0x20;
        let (old, new) = (char::from(old), char::from(*byte));
        screen::say(format_args!("results.jsonl, byte {letter}: `{old}` becomes `{new}`"));
    }
    File::create(&log).and_then(|mut file| file.write_all(&bytes)).map_err(failed)?;
    let verification = journal::verify(&copy, None)?;
    super::verify::show(&verification, false);
    Ok(verification.problems.len())
}

fn next(kept: Option<&Path>) {
    title(9, "Your turn", "");
    let vault = match kept {
        Some(vault) => quoted(vault),
        None => {
            screen::say("The temporary folder is gone. Make one that stays:");
            screen::say("  tollgate demo --dir ~/tollgate-demo");
            "~/tollgate-demo".to_owned()
        }
    };
    for (command, what) in [
        ("redo last", "the notes are there again"),
        ("show last", "the run, explained"),
        ("show last --all", "with all twelve phases of every call"),
        ("tools", "what can be called"),
        ("call util.slugifyTitle '{\"title\": \"Hello, World!\"}'", "one call through the gate"),
        ("runs", "the history"),
        ("doctor", "what is set up and what is not"),
    ] {
        screen::say(format_args!(
            "  tollgate {command} --vault {vault}   {}",
            Paint::stdout().dim(format!("# {what}"))
        ));
    }
    screen::say("With your own notes:");
    screen::say("  tollgate init ~/Notes && tollgate run plan.json --vault ~/Notes");
}

fn title(number: usize, name: &str, what: &str) {
    let paint = Paint::stdout();
    let what = if what.is_empty() { String::new() } else { paint.dim(format!("  {what}")) };
    screen::say(format_args!("\n{}{what}", paint.bold(format!("{number}. {name}"))));
}

/// Shows a text a little aside; a long one only from its start.
fn indented(text: &str) {
    const SHOWN: usize = 70;
    let lines: Vec<&str> = text.lines().collect();
    for line in lines.iter().take(SHOWN) {
        screen::say(Paint::stdout().dim(format!("  {line}")));
    }
    if lines.len() > SHOWN {
        screen::say(format_args!("  and {}", count((lines.len() - SHOWN) as u64, "more line")));
    }
}

/// Shows the question and answers it, since a demonstration has nobody to ask.
struct SaysYes;

impl Approver for SaysYes {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, Answer> {
        indented(&request.text);
        screen::say(format_args!(
            "May this run? [y/N] {} {}",
            Paint::stdout().good("y"),
            Paint::stdout().dim("(answered by the demonstration, recorded as --yes)")
        ));
        Box::pin(std::future::ready(Answer::Yes { channel: Channel::YesFlag }))
    }

    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Verdict> {
        Box::pin(std::future::ready(Verdict::Once { channel: Channel::YesFlag }))
    }

    fn settle<'a>(&'a self, _: &'a UncertainCall) -> BoxFuture<'a, UncertainVerdict> {
        Box::pin(std::future::ready(UncertainVerdict::Leave))
    }
}
