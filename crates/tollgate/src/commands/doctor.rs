//! `tollgate doctor`: what is set up, what is missing, and the command that fixes it.

mod connections;
mod servers;
mod start_policy;

use std::collections::HashSet;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use journal::{RunState, RunsFolder, StateSizes};
use serde::Serialize;
use serde_json::json;
use shell::SandboxRequirement;
use shell::sandbox::{AvailableSandboxes, SandboxKind};

use crate::cli_error::CommandResult;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::prompt::TerminalApprover;
use crate::runtime::InterruptSignal;
use crate::screen::{self};
use app::AppError;
use app::display_text::{count, display_path, display_size, escape_line, escape_text};
use app::leftovers::{LeftoverKind, TempLeftover, temp_leftovers};
use app::settings::CONFIG_FILE;
use app::shell_quoting::quote_for_shell;
use app::toolset;
use app::trust::{self, TrustState};
use app::vault_context::{VaultContext, find_vault};

/// Checks the setup and names the command that fixes each problem
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate doctor --vault ~/Notes\n  tollgate doctor --connections\n  tollgate doctor --fix"
)]
pub(crate) struct DoctorCommand {
    /// Start each server that a client has set up for this vault, and check whether it answers
    #[arg(long)]
    connections: bool,
    /// Remove the hidden files of killed calls from the vault, if they are unfinished or their content is stored
    #[arg(long)]
    fix: bool,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum HealthLevel {
    Ok,
    Warn,
    Fail,
}

/// The result of one check.
#[derive(Debug, Serialize)]
struct HealthFinding {
    health: HealthLevel,
    what: &'static str,
    message: String,
    #[serde(rename = "mend", skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
    /// Number and size of runs and stored contents.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    sizes: Option<StateSizes>,
}

impl HealthFinding {
    fn new(health: HealthLevel, what: &'static str, message: impl Into<String>) -> HealthFinding {
        HealthFinding { health, what, message: message.into(), fix: None, sizes: None }
    }

    fn ok(what: &'static str, message: impl Into<String>) -> HealthFinding {
        HealthFinding::new(HealthLevel::Ok, what, message)
    }

    fn fix(mut self, fix: impl Into<String>) -> HealthFinding {
        self.fix = Some(fix.into());
        self
    }

    fn failed(what: &'static str, error: AppError) -> HealthFinding {
        let finding = HealthFinding::new(HealthLevel::Fail, what, error.message);
        HealthFinding { fix: error.hint, ..finding }
    }
}

impl DoctorCommand {
    pub(crate) fn run(self, vault: Option<&Path>) -> CommandResult {
        let findings = run_checks(vault, self.connections, self.fix);
        let healthy = findings.iter().all(|finding| finding.health != HealthLevel::Fail);
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

fn show(finding: &HealthFinding) {
    let paint = screen::stdout_paint();
    let word = match finding.health {
        HealthLevel::Ok => paint.good("ok  "),
        HealthLevel::Warn => paint.odd("warn"),
        HealthLevel::Fail => paint.bad("fail"),
    };
    screen::print(format_args!("{word} {:<9} {}", finding.what, escape_line(&finding.message)));
    if let Some(fix) = &finding.fix {
        screen::print(format_args!("               {} {}", paint.dim("fix:"), escape_text(fix)));
    }
}

fn run_checks(given: Option<&Path>, trying: bool, fixing: bool) -> Vec<HealthFinding> {
    let mut findings = vec![HealthFinding::ok("version", format!("tollgate {}", env!("CARGO_PKG_VERSION")))];
    let vault = match find_vault(given) {
        Ok(vault) => vault,
        Err(error) => {
            findings.push(HealthFinding::failed("vault", error));
            return findings;
        }
    };
    findings.push(HealthFinding::ok("vault", display_path(&vault)));
    match VaultContext::find(Some(&vault)) {
        Ok(context) => {
            findings.push(check_settings(&context));
            findings.extend(check_hooks(&context));
            findings.extend(servers::check_servers(&context));
            findings.extend(check_sandbox(&context));
            findings.extend(check_state_folder(&context));
            findings.extend(check_runs(&context));
            findings.extend(check_leftovers(&context, fixing));
            findings.extend(connections::check_connections(&context, trying));
        }
        Err(error) => findings.push(HealthFinding::failed("settings", error)),
    }
    findings
}

fn check_settings(context: &VaultContext) -> HealthFinding {
    let approver =
        Arc::new(TerminalApprover::new(false, Arc::new(Progress::Silent), InterruptSignal::new(false)));
    if let Err(error) = toolset::check_rules(context, approver) {
        return HealthFinding::failed("settings", error);
    }
    let policy = &context.settings.policy;
    let mode = serde_json::to_value(policy.mode).unwrap_or_default();
    let message = format!(
        "mode {}, {}, {}",
        mode.as_str().unwrap_or("?"),
        count(policy.rules.len() as u64, "rule"),
        count(context.settings.hooks.len() as u64, "hook")
    );
    if context.settings.written {
        HealthFinding::ok("settings", message)
    } else {
        HealthFinding::new(HealthLevel::Warn, "settings", format!("no {CONFIG_FILE}: {message} apply"))
            .fix(format!("tollgate init {}", quote_for_shell(&context.vault)))
    }
}

/// Checks that the program of each hook exists, and that hooks and settings are trusted.
fn check_hooks(context: &VaultContext) -> Vec<HealthFinding> {
    let hooks = &context.settings.hooks;
    let mut findings = Vec::new();
    for hook in hooks {
        if hook.program(&context.vault).is_none() {
            let program = hook.command.first().map(String::as_str).unwrap_or_default();
            let message = format!("hook `{}`: there is no program `{program}`", hook.name);
            findings.push(
                HealthFinding::new(HealthLevel::Fail, "hooks", message)
                    .fix(format!("install it, make it executable, or fix `command` in {CONFIG_FILE}")),
            );
        }
    }
    findings.extend(trust_findings(context));
    findings
}

/// Reports permissions beyond the defaults, whether the settings are trusted, and how they differ from the trusted
/// ones.
fn trust_findings(context: &VaultContext) -> Vec<HealthFinding> {
    let beyond = trust::loosened_settings(context);
    let to_finding = |difference: &trust::SettingsDifference| {
        HealthFinding::new(HealthLevel::Warn, "settings", difference.what.clone())
    };
    let mut findings: Vec<HealthFinding> = beyond.iter().map(to_finding).collect();
    let what = if context.settings.hooks.is_empty() { "settings" } else { "hooks" };
    let state = match trust::refuse_exposed(context).and_then(|()| trust::trust_state(context)) {
        Ok(state) => state,
        Err(error) => {
            findings.push(HealthFinding::failed(what, error));
            return findings;
        }
    };
    let decide = format!("look at them and decide: tollgate trust {}", context.vault_arguments());
    let lines = state.lines().join("; ");
    findings.extend(match &state {
        TrustState::NotNeeded => None,
        TrustState::Trusted(found) if found.is_empty() => Some(HealthFinding::ok(what, "trusted as they are")),
        TrustState::Trusted(_) => {
            Some(HealthFinding::ok(what, format!("stricter than those that you trusted: {lines}")))
        }
        TrustState::Untrusted(_) => Some(
            HealthFinding::new(HealthLevel::Fail, what, "not trusted, so nothing runs in this vault").fix(decide),
        ),
        TrustState::Outdated(_) => {
            let why = "trusted with an earlier version, which did not keep all of them, so nothing runs in this vault";
            Some(HealthFinding::new(HealthLevel::Fail, what, why).fix(decide))
        }
        TrustState::Changed(_) => {
            let why = format!("not those that you trusted, so nothing runs in this vault: {lines}");
            Some(HealthFinding::new(HealthLevel::Fail, what, why).fix(decide))
        }
    });
    findings
}

/// Reports the available command sandboxes, and which one is used.
fn check_sandbox(context: &VaultContext) -> Vec<HealthFinding> {
    let Ok(launcher) = std::env::current_exe() else { return Vec::new() };
    let sandboxes = shell::sandbox::probe_sandboxes(&launcher);
    let stands = |name: &str, found: &Result<String, String>| match found {
        Ok(version) => format!("{name} {version}"),
        Err(why) => format!("no {name} ({why})"),
    };
    let listed = format!(
        "{}, {}, {}",
        stands("bubblewrap", &sandboxes.bubblewrap),
        stands("landlock", &sandboxes.landlock),
        // The list of seccomp features is left out: it is of no use here.
        stands(
            "seccomp",
            &sandboxes.seccomp.as_ref().map(|_actions| "filters".to_owned()).map_err(Clone::clone)
        )
    );
    let mut findings = vec![match (context.settings.commands.sandbox, sandboxes.require()) {
        (SandboxRequirement::Off, _) => HealthFinding::new(
            HealthLevel::Warn,
            "sandbox",
            format!("switched off: commands run with your permissions; {listed}"),
        )
        .fix(format!("set `sandbox = \"required\"` under [commands] in {CONFIG_FILE}")),
        (SandboxRequirement::Required, Ok(kind)) => {
            HealthFinding::ok("sandbox", format!("commands run behind {}; {listed}", kind.name()))
        }
        (SandboxRequirement::Required, Err(fault)) => HealthFinding::new(
            HealthLevel::Warn,
            "sandbox",
            format!("commands are refused: {}", fault.message),
        )
        .fix(fault.recovery_hint()),
    }];
    findings.push(check_memory_limit(context.settings.commands.memory_mb, &sandboxes.cgroup_memory));
    findings.extend(check_execution_limit(&sandboxes));
    findings
}

/// Reports whether the memory limit holds for a command as a whole.
fn check_memory_limit(megabytes: u64, whole: &Result<(), String>) -> HealthFinding {
    match whole {
        Ok(()) => HealthFinding::ok("memory", format!("a command may use {megabytes} MB, all its processes together")),
        Err(why) => HealthFinding::new(
            HealthLevel::Warn,
            "memory",
            format!("each process of a command may use {megabytes} MB; all of them together are not limited: {why}"),
        )
        .fix("start tollgate in a control group that is yours: systemd-run --user --scope tollgate ..."),
    }
}

/// Reports bubblewrap without Landlock: only Landlock limits which files a command may execute.
fn check_execution_limit(sandboxes: &AvailableSandboxes) -> Option<HealthFinding> {
    let why =
        sandboxes.landlock.as_ref().err().filter(|_| sandboxes.best() == Some(SandboxKind::Bubblewrap))?;
    let message = format!("every command may execute files of the vault, since there is no Landlock ({why})");
    Some(
        HealthFinding::new(HealthLevel::Warn, "sandbox", message)
            .fix("use a kernel with Landlock, Linux 6.12 or newer"),
    )
}

/// Checks that the state folder exists or can be created, is private, and can be written durably.
fn check_state_folder(context: &VaultContext) -> Vec<HealthFinding> {
    let state = context.state();
    let words = display_path(&state);
    if state.exists() && !state.is_dir() {
        return vec![
            HealthFinding::new(HealthLevel::Fail, "state", format!("{words} is a file, not a folder"))
                .fix(format!("move it away, or set `state` in {CONFIG_FILE} to another folder")),
        ];
    }
    // Writes nothing, not even as a test, into a state folder that only the vault names.
    if let Err(error) = trust::require_state(context) {
        return vec![HealthFinding::failed("state", error)];
    }
    let Some(folder) = nearest_existing(&state) else {
        return vec![HealthFinding::new(HealthLevel::Fail, "state", format!("{words} cannot be reached"))];
    };
    let mut findings = Vec::new();
    if folder == state {
        findings.push(HealthFinding::ok("state", words));
        findings.extend(check_permissions(context));
    } else {
        findings.push(HealthFinding::ok("state", format!("{words} is made by the first run")));
    }
    findings.push(match durable_write(&folder) {
        Ok(()) => HealthFinding::ok(
            "disk",
            format!("a file in {} can be written and synced", display_path(&folder)),
        ),
        Err(error) => HealthFinding::new(
            HealthLevel::Fail,
            "disk",
            format!("a file in {} cannot be kept: {error}", display_path(&folder)),
        )
        .fix(format!("make that folder writable for you, or set `state` in {CONFIG_FILE} to another one")),
    });
    findings
}

/// Reports state folders that others can read. A folder that the settings name may hold other data too, so only its
/// subfolders are checked.
fn check_permissions(context: &VaultContext) -> Vec<HealthFinding> {
    let state = context.state();
    let ours = match context.settings.state {
        None => vec![state],
        Some(_) => vec![state.join("runs"), state.join("objects")],
    };
    ours.into_iter()
        .filter_map(|folder| {
            let mode = std::fs::metadata(&folder).ok()?.permissions().mode() & 0o777;
            (mode & 0o077 != 0).then(|| {
                let message = format!(
                    "{} has mode {mode:o}: others can read what runs recorded",
                    display_path(&folder)
                );
                HealthFinding::new(HealthLevel::Warn, "state", message)
                    .fix(format!("chmod 700 {}", quote_for_shell(&folder)))
            })
        })
        .collect()
}

/// Returns the folder itself, or its nearest parent that exists.
fn nearest_existing(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|folder| folder.is_dir()).map(Path::to_path_buf)
}

/// Writes and syncs an unnamed file (`O_TMPFILE` where available), as the journal does.
fn durable_write(folder: &Path) -> std::io::Result<()> {
    let mut file = tempfile::tempfile_in(folder)?;
    file.write_all(b"tollgate doctor\n")?;
    file.sync_all()
}

fn check_runs(context: &VaultContext) -> Vec<HealthFinding> {
    let listed = context.runs().and_then(|folder| {
        let runs = folder.list()?;
        Ok((folder, runs))
    });
    let (folder, runs) = match listed {
        Ok(listed) => listed,
        Err(error) => return vec![HealthFinding::failed("runs", error)],
    };
    let mut findings =
        vec![HealthFinding::ok("runs", format!("{} in {}", runs.len(), display_path(folder.path())))];
    findings.push(check_sizes(context, &folder));
    findings.extend(check_unreadable_runs(&folder));
    for run in &runs {
        match &run.state {
            RunState::Running => {
                findings.push(HealthFinding::ok(
                    "locks",
                    format!("{} is being written by a running process", run.run_id),
                ));
            }
            RunState::Interrupted => {
                let finding =
                    HealthFinding::new(HealthLevel::Warn, "runs", format!("{} was interrupted", run.run_id));
                let resume = format!("tollgate resume {} {}", run.run_id, context.vault_arguments());
                findings.push(finding.fix(resume));
            }
            RunState::Damaged(why) => {
                let why = why.as_deref().unwrap_or("its record is not as it was written");
                let finding = HealthFinding::new(
                    HealthLevel::Fail,
                    "runs",
                    format!("{} is damaged: {why}", run.run_id),
                );
                let verify = format!("tollgate verify {} {}", run.run_id, context.vault_arguments());
                findings.push(finding.fix(verify));
            }
            RunState::Finished(_) => {}
        }
    }
    findings
}

/// Reports hidden files of killed calls in the vault, and removes those that hold nothing of yours that is not stored.
fn check_leftovers(context: &VaultContext, fixing: bool) -> Vec<HealthFinding> {
    let found = match temp_leftovers(context, fixing) {
        Ok(found) => found,
        Err(error) => return vec![HealthFinding::failed("leftovers", error)],
    };
    found.iter().map(|file| leftover_finding(context, file)).collect()
}

fn leftover_finding(context: &VaultContext, file: &TempLeftover) -> HealthFinding {
    let path = display_path(Path::new(&file.path));
    let what = match file.kind {
        LeftoverKind::Unfinished => "a call that was killed has not finished this hidden file",
        LeftoverKind::StoredCopy => "a call that was killed has left this hidden copy; its content is stored",
        LeftoverKind::InUse => "a running call is writing this hidden file",
        LeftoverKind::Unknown => "this hidden file can be the only copy of its content",
    };
    if file.removed {
        return HealthFinding::ok("leftovers", format!("removed {path}: {what}"));
    }
    let message = format!("{path}: {what}");
    match file.kind {
        LeftoverKind::InUse => HealthFinding::ok("leftovers", message),
        LeftoverKind::Unfinished | LeftoverKind::StoredCopy => {
            HealthFinding::new(HealthLevel::Warn, "leftovers", message)
                .fix(format!("tollgate doctor --fix {}", context.vault_arguments()))
        }
        LeftoverKind::Unknown => HealthFinding::new(HealthLevel::Warn, "leftovers", message)
            .fix("`tollgate resume` an interrupted run first; else look at it, then rename or remove it"),
    }
}

/// Reports how much the state folder holds, and how to make it smaller.
fn check_sizes(context: &VaultContext, folder: &RunsFolder) -> HealthFinding {
    match folder.sizes() {
        Ok(sizes) => {
            let message = format!(
                "{} in {}, {} in {}; to remove old runs: tollgate prune {}",
                display_size(sizes.run_bytes),
                count(sizes.runs, "run"),
                display_size(sizes.object_bytes),
                count(sizes.objects, "stored content"),
                context.vault_arguments()
            );
            HealthFinding { sizes: Some(sizes), ..HealthFinding::ok("size", message) }
        }
        Err(error) => HealthFinding::failed("size", error.into()),
    }
}

/// Reports folders among the runs that are not runs: left by a crash before the first record, or put there by another
/// program.
fn check_unreadable_runs(folder: &RunsFolder) -> Vec<HealthFinding> {
    let Ok(entries) = std::fs::read_dir(folder.path()) else { return Vec::new() };
    let all = journal::list_runs(folder.path()).unwrap_or_default();
    let begun = folder.begun_removals().unwrap_or_default();
    let dirs: HashSet<&Path> = all.iter().map(|run| run.dir.as_path()).collect();
    let known = |path: &Path| {
        dirs.contains(path) || path.file_name().is_some_and(|name| name == journal::SUMMARIES_FILE)
    };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| !known(path))
        // A folder that an interrupted prune had begun to remove does not count as a run any more.
        .filter(|path| !begun.iter().any(|run| path.ends_with(run.as_str())))
        .map(|path| {
            HealthFinding::new(
                HealthLevel::Warn,
                "runs",
                format!("{} is not a run that can be read", display_path(&path)),
            )
            .fix(format!("look at it, then move it away: mv {} /tmp/", quote_for_shell(&path)))
        })
        .collect()
}
