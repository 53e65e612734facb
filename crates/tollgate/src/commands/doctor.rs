//! `tollgate doctor`: what is set up, what is missing, and the command that mends it.

mod connections;
mod servers;
mod startable;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use journal::{RunState, RunsFolder};
use serde::Serialize;
use serde_json::json;
use shell::Demand;
use shell::sandbox::{Wall, Walls};

use crate::ask::Asker;
use crate::drive::Interrupts;
use crate::exit::Exit;
use crate::place::{Place, find_vault};
use crate::progress::Progress;
use crate::quoting::quoted;
use crate::screen::{self, Paint};
use crate::settings::CONFIG_FILE;
use crate::stop::{Outcome, Stop};
use crate::trust::{self, TrustState};
use crate::visible::{count, one_line, path_words, visible};
use crate::wiring;

/// Checks what is set up and names the command that mends what is not
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate doctor --vault ~/Notes\n  tollgate doctor --connections")]
pub(crate) struct Doctor {
    /// Start each server that a client is set up with for this vault, and see whether it answers
    #[arg(long)]
    connections: bool,
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
        let findings = examine(vault, self.connections);
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
    screen::say(format_args!("{word} {:<9} {}", finding.what, one_line(&finding.message)));
    if let Some(mend) = &finding.mend {
        screen::say(format_args!("               {} {}", paint.dim("mend:"), visible(mend)));
    }
}

fn examine(given: Option<&Path>, trying: bool) -> Vec<Finding> {
    let mut findings = vec![Finding::ok("version", format!("tollgate {}", env!("CARGO_PKG_VERSION")))];
    let vault = match find_vault(given) {
        Ok(vault) => vault,
        Err(stop) => {
            findings.push(Finding::failed("vault", stop));
            return findings;
        }
    };
    findings.push(Finding::ok("vault", path_words(&vault)));
    match Place::find(Some(&vault)) {
        Ok(place) => {
            findings.push(settings(&place));
            findings.extend(hooks(&place));
            findings.extend(servers::servers(&place));
            findings.extend(walls(&place));
            findings.extend(state_folder(&place));
            findings.extend(runs(&place));
            findings.extend(connections::connections(&place, trying));
        }
        Err(stop) => findings.push(Finding::failed("settings", stop)),
    }
    findings
}

fn settings(place: &Place) -> Finding {
    let asker = Arc::new(Asker::new(false, Arc::new(Progress::Silent), Interrupts::new(false)));
    if let Err(stop) = wiring::check_rules(place, asker) {
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

/// Each hook: its program is there, and a person has trusted it, as well as what the settings loosen.
fn hooks(place: &Place) -> Vec<Finding> {
    let hooks = &place.settings.hooks;
    let mut findings = Vec::new();
    for hook in hooks {
        if hook.program(&place.vault).is_none() {
            let program = hook.command.first().map(String::as_str).unwrap_or_default();
            let message = format!("hook `{}`: there is no program `{program}`", hook.name);
            findings.push(
                Finding::new(Health::Fail, "hooks", message)
                    .mend(format!("install it, make it executable, or mend `command` in {CONFIG_FILE}")),
            );
        }
    }
    findings.extend(trust_findings(place));
    findings
}

/// What the settings grant, whether you trusted it, and what differs from what you trusted.
fn trust_findings(place: &Place) -> Vec<Finding> {
    let beyond = trust::loosened(place);
    let told =
        |difference: &trust::Difference| Finding::new(Health::Warn, "settings", difference.what.clone());
    let mut findings: Vec<Finding> = beyond.iter().map(told).collect();
    let what = if place.settings.hooks.is_empty() { "settings" } else { "hooks" };
    let state = match trust::refuse_exposed(place).and_then(|()| trust::trust_state(place)) {
        Ok(state) => state,
        Err(stop) => {
            findings.push(Finding::failed(what, stop));
            return findings;
        }
    };
    let decide = format!("look at them and decide: tollgate trust {}", place.vault_words());
    let lines = state.lines().join("; ");
    findings.extend(match &state {
        TrustState::NotNeeded => None,
        TrustState::Trusted(found) if found.is_empty() => Some(Finding::ok(what, "trusted as they are")),
        TrustState::Trusted(_) => {
            Some(Finding::ok(what, format!("stricter than those that you trusted: {lines}")))
        }
        TrustState::Untrusted(_) => Some(
            Finding::new(Health::Fail, what, "not trusted, so nothing runs in this vault").mend(decide),
        ),
        TrustState::Outdated(_) => {
            let why = "trusted with an earlier version, which did not keep all of them, so nothing runs in this vault";
            Some(Finding::new(Health::Fail, what, why).mend(decide))
        }
        TrustState::Changed(_) => {
            let why = format!("not those that you trusted, so nothing runs in this vault: {lines}");
            Some(Finding::new(Health::Fail, what, why).mend(decide))
        }
    });
    findings
}

/// The walls around commands: which stand, and which of them is used.
fn walls(place: &Place) -> Vec<Finding> {
    let Ok(launcher) = std::env::current_exe() else { return Vec::new() };
    let walls = shell::sandbox::probe(&launcher);
    let stands = |name: &str, found: &Result<String, String>| match found {
        Ok(version) => format!("{name} {version}"),
        Err(why) => format!("no {name} ({why})"),
    };
    let listed = format!(
        "{}, {}, {}",
        stands("bubblewrap", &walls.bubblewrap),
        stands("landlock", &walls.landlock),
        // What the kernel can do about a call is a list of words that helps nobody.
        stands("seccomp", &walls.seccomp.as_ref().map(|_actions| "filters".to_owned()).map_err(Clone::clone))
    );
    let mut findings = vec![match (place.settings.commands.sandbox, walls.demand()) {
        (Demand::Off, _) => Finding::new(
            Health::Warn,
            "sandbox",
            format!("switched off: commands run with your rights; {listed}"),
        )
        .mend(format!("set `sandbox = \"required\"` under [commands] in {CONFIG_FILE}")),
        (Demand::Required, Ok(wall)) => {
            Finding::ok("sandbox", format!("commands run behind {}; {listed}", wall.name()))
        }
        (Demand::Required, Err(fault)) => {
            Finding::new(Health::Warn, "sandbox", format!("commands are refused: {}", fault.message))
                .mend(fault.recovery_hint())
        }
    }];
    findings.push(memory(place.settings.commands.memory_mb, &walls.whole_memory));
    findings.extend(unheld_execution(&walls));
    findings
}

/// Whether the limit on memory holds for a command as a whole.
fn memory(megabytes: u64, whole: &Result<(), String>) -> Finding {
    match whole {
        Ok(()) => Finding::ok("memory", format!("a command may use {megabytes} MB, all its processes together")),
        Err(why) => Finding::new(
            Health::Warn,
            "memory",
            format!("each process of a command may use {megabytes} MB; all of them together are not limited: {why}"),
        )
        .mend("start tollgate in a control group that is yours: systemd-run --user --scope tollgate ..."),
    }
}

/// Bubblewrap stands without Landlock, but which files a command may execute is Landlock's to hold.
fn unheld_execution(walls: &Walls) -> Option<Finding> {
    let why = walls.landlock.as_ref().err().filter(|_| walls.best() == Some(Wall::Bubblewrap))?;
    let message = format!("every command may execute files of the vault, since there is no Landlock ({why})");
    Some(
        Finding::new(Health::Warn, "sandbox", message)
            .mend("use a kernel with Landlock, Linux 6.12 or newer"),
    )
}

/// The state folder: there or makeable, for the owner only, and able to keep what is written.
fn state_folder(place: &Place) -> Vec<Finding> {
    let state = place.state();
    let words = path_words(&state);
    if state.exists() && !state.is_dir() {
        return vec![
            Finding::new(Health::Fail, "state", format!("{words} is a file, not a folder"))
                .mend(format!("move it away, or set `state` in {CONFIG_FILE} to another folder")),
        ];
    }
    // Nothing is written, not even to try, where only the vault says so.
    if let Err(stop) = trust::require_state(place) {
        return vec![Finding::failed("state", stop)];
    }
    let Some(folder) = existing(&state) else {
        return vec![Finding::new(Health::Fail, "state", format!("{words} cannot be reached"))];
    };
    let mut findings = Vec::new();
    if folder == state {
        findings.push(Finding::ok("state", words));
        findings.extend(readable_by_others(place));
    } else {
        findings.push(Finding::ok("state", format!("{words} is made by the first run")));
    }
    findings.push(match durable_write(&folder) {
        Ok(()) => Finding::ok("disk", format!("a file in {} can be written and synced", path_words(&folder))),
        Err(error) => Finding::new(
            Health::Fail,
            "disk",
            format!("a file in {} cannot be kept: {error}", path_words(&folder)),
        )
        .mend(format!("make that folder writable for you, or set `state` in {CONFIG_FILE} to another one")),
    });
    findings
}

/// The folders that are ours alone, where others can look into them. One that the settings name may hold more
/// than what we keep, so it is left as it is.
fn readable_by_others(place: &Place) -> Vec<Finding> {
    let state = place.state();
    let ours = match place.settings.state {
        None => vec![state],
        Some(_) => vec![state.join("runs"), state.join("objects")],
    };
    ours.into_iter()
        .filter_map(|folder| {
            let mode = std::fs::metadata(&folder).ok()?.permissions().mode() & 0o777;
            (mode & 0o077 != 0).then(|| {
                let message =
                    format!("{} has mode {mode:o}: others can read what runs recorded", path_words(&folder));
                Finding::new(Health::Warn, "state", message).mend(format!("chmod 700 {}", quoted(&folder)))
            })
        })
        .collect()
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
    let listed = place.runs().and_then(|folder| {
        let runs = folder.list()?;
        Ok((folder, runs))
    });
    let (folder, runs) = match listed {
        Ok(listed) => listed,
        Err(stop) => return vec![Finding::failed("runs", stop)],
    };
    let mut findings = vec![Finding::ok("runs", format!("{} in {}", runs.len(), path_words(folder.path())))];
    findings.extend(unreadable(&folder));
    for run in &runs {
        match &run.state {
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
            RunState::Damaged(why) => {
                let why = why.as_deref().unwrap_or("its record is not as it was written");
                let finding = Finding::new(Health::Fail, "runs", format!("{} is damaged: {why}", run.run_id));
                let verify = format!("tollgate verify {} {}", run.run_id, place.vault_words());
                findings.push(finding.mend(verify));
            }
            RunState::Finished(_) => {}
        }
    }
    findings
}

/// Folders among the runs that are none: what a crash before the first record leaves, or a stranger put there.
fn unreadable(folder: &RunsFolder) -> Vec<Finding> {
    let Ok(entries) = std::fs::read_dir(folder.path()) else { return Vec::new() };
    let all = journal::list_runs(folder.path()).unwrap_or_default();
    let known = |path: &Path| all.iter().any(|run| run.dir == path);
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| !known(path))
        .map(|path| {
            Finding::new(Health::Warn, "runs", format!("{} is not a run that can be read", path_words(&path)))
                .mend(format!("look at it, then move it away: mv {} /tmp/", quoted(&path)))
        })
        .collect()
}
