//! `tollgate doctor`: what is set up, what is missing, and the command that mends it.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use journal::{RunState, RunSummary};
use serde::Serialize;
use serde_json::json;

use crate::ask::Asker;
use crate::exit::Exit;
use crate::place::{Place, find_vault, quoted};
use crate::progress::Progress;
use crate::screen::{self, Paint};
use crate::settings::CONFIG_FILE;
use crate::stop::{Outcome, Stop};
use crate::visible::{count, visible};
use crate::watch::Watcher;
use crate::wiring;

/// Checks what is set up and names the command that mends what is not
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate doctor --vault ~/Notes")]
pub(crate) struct Doctor {
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Health {
    Ok,
    Warn,
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    health: Health,
    what: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<String>,
}

impl Finding {
    fn new(health: Health, what: &'static str, message: impl Into<String>) -> Finding {
        Finding { health, what, message: message.into(), mend: None }
    }

    fn ok(what: &'static str, message: impl Into<String>) -> Finding {
        Finding::new(Health::Ok, what, message)
    }

    fn mend(mut self, mend: impl Into<String>) -> Finding {
        self.mend = Some(mend.into());
        self
    }

    fn failed(what: &'static str, stop: Stop) -> Finding {
        let finding = Finding::new(Health::Fail, what, stop.message);
        Finding { mend: stop.hint, ..finding }
    }
}

impl Doctor {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        let findings = examine(vault);
        let healthy = findings.iter().all(|finding| finding.health != Health::Fail);
        if self.json {
            screen::json(
                &json!({ "ok": healthy, "version": env!("CARGO_PKG_VERSION"), "findings": findings }),
            );
        } else {
            findings.iter().for_each(show);
        }
        Ok(if healthy { Exit::Done } else { Exit::Failures })
    }
}

fn show(finding: &Finding) {
    let paint = Paint::stdout();
    let word = match finding.health {
        Health::Ok => paint.good("ok  "),
        Health::Warn => paint.odd("warn"),
        Health::Fail => paint.bad("fail"),
    };
    screen::say(format_args!("{word} {:<9} {}", finding.what, visible(&finding.message)));
    if let Some(mend) = &finding.mend {
        screen::say(format_args!("               {} {}", paint.dim("mend:"), visible(mend)));
    }
}

fn examine(given: Option<&Path>) -> Vec<Finding> {
    let mut findings = vec![Finding::ok("version", format!("tollgate {}", env!("CARGO_PKG_VERSION")))];
    let vault = match find_vault(given) {
        Ok(vault) => vault,
        Err(stop) => {
            findings.push(Finding::failed("vault", stop));
            return findings;
        }
    };
    findings.push(Finding::ok("vault", vault.display().to_string()));
    match Place::find(Some(&vault)) {
        Ok(place) => {
            findings.push(settings(&place));
            findings.extend(state_folder(&place));
            findings.extend(runs(&place));
        }
        Err(stop) => findings.push(Finding::failed("settings", stop)),
    }
    findings
}

fn settings(place: &Place) -> Finding {
    let progress = Arc::new(Progress::Silent);
    let asker = Arc::new(Asker::new(false, progress.clone()));
    let engine = wiring::surface(Some(&place.vault))
        .and_then(|surface| wiring::engine(place, &surface, asker, Watcher::of_run(progress)));
    if let Err(stop) = engine {
        return Finding::failed("settings", stop);
    }
    let policy = &place.settings.policy;
    let mode = serde_json::to_value(policy.mode).unwrap_or_default();
    let message = format!(
        "mode {}, {}, {}",
        mode.as_str().unwrap_or("?"),
        count(policy.rules.len() as u64, "rule"),
        count(place.settings.hooks.len() as u64, "hook")
    );
    if place.settings.written {
        Finding::ok("settings", message)
    } else {
        Finding::new(Health::Warn, "settings", format!("no {CONFIG_FILE}: {message} hold"))
            .mend(format!("tollgate init {}", quoted(&place.vault)))
    }
}

/// The state folder: there or makeable, for the owner only, and able to keep what is written.
fn state_folder(place: &Place) -> Vec<Finding> {
    let state = place.state();
    let Some(folder) = existing(&state) else {
        return vec![Finding::new(Health::Fail, "state", format!("{} cannot be reached", state.display()))];
    };
    let mut findings = Vec::new();
    if folder == state {
        let mode = std::fs::metadata(&state).map(|meta| meta.permissions().mode() & 0o777);
        findings.push(match mode {
            Ok(mode) if mode & 0o077 == 0 => {
                Finding::ok("state", format!("{} (mode {mode:o})", state.display()))
            }
            Ok(mode) => Finding::new(
                Health::Warn,
                "state",
                format!("{} has mode {mode:o}: others can read what runs recorded", state.display()),
            )
            .mend(format!("chmod 700 {}", quoted(&state))),
            Err(error) => Finding::new(Health::Fail, "state", format!("{}: {error}", state.display())),
        });
    } else {
        findings.push(Finding::ok("state", format!("{} is made by the first run", state.display())));
    }
    findings.push(match durable_write(&folder) {
        Ok(()) => Finding::ok("disk", format!("a file in {} can be written and synced", folder.display())),
        Err(error) => Finding::new(
            Health::Fail,
            "disk",
            format!("a file in {} cannot be kept: {error}", folder.display()),
        )
        .mend(format!("chmod u+rwx {}, or set `state` in {CONFIG_FILE}", quoted(&folder))),
    });
    findings
}

/// The folder itself, or the nearest one above it that is there.
fn existing(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|folder| folder.is_dir()).map(Path::to_path_buf)
}

/// A file without a name (`O_TMPFILE` where there is one), written and synced as the journal does it.
fn durable_write(folder: &Path) -> std::io::Result<()> {
    let mut file = tempfile::tempfile_in(folder)?;
    file.write_all(b"tollgate doctor\n")?;
    file.sync_all()
}

fn runs(place: &Place) -> Vec<Finding> {
    let runs = match journal::list_runs(&place.runs()) {
        Ok(runs) => runs,
        Err(error) => return vec![Finding::failed("runs", Stop::from(error))],
    };
    let mut findings = vec![Finding::ok("runs", format!("{} in {}", runs.len(), place.runs().display()))];
    findings.extend(unreadable(place, &runs));
    for run in &runs {
        match run.state {
            RunState::Running => {
                findings.push(Finding::ok(
                    "locks",
                    format!("{} is being written by a running process", run.run_id),
                ));
            }
            RunState::Interrupted => {
                let finding = Finding::new(Health::Warn, "runs", format!("{} was interrupted", run.run_id));
                let resume = format!("tollgate resume {} {}", run.run_id, place.vault_words());
                findings.push(finding.mend(resume));
            }
            RunState::Finished(_) => {}
        }
    }
    findings
}

/// Folders among the runs that are none: what a crash before the first record leaves, or a stranger put there.
fn unreadable(place: &Place, runs: &[RunSummary]) -> Vec<Finding> {
    let Ok(entries) = std::fs::read_dir(place.runs()) else { return Vec::new() };
    let known = |path: &Path| runs.iter().any(|run| run.dir == path);
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| !known(path))
        .map(|path| {
            Finding::new(Health::Warn, "runs", format!("{} is not a run that can be read", path.display()))
                .mend(format!("look at it, then move it away: mv {} /tmp/", quoted(&path)))
        })
        .collect()
}
