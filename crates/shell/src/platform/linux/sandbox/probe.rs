//! Probes which sandboxes work on this system: each is built once, around a command that tests it.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::launcher_spec::LauncherRole;
use super::probe_command::{ABSENT, KEPT, ProbeFolders};
use super::{
    AvailableSandboxes, LAUNCH, LaunchSpec, ResourceLimits, SandboxKind, SandboxProfile, bubblewrap, limits,
    prepare_command, setup_hint,
};
use crate::sandbox::ScratchFolder;
use crate::sandbox::{CommandWorkdir, ExecPolicy};

/// Builds each sandbox once, and checks from inside and outside that it is effective.
pub fn probe_sandboxes(launcher: &Path) -> AvailableSandboxes {
    let bubblewrap = version_of_bubblewrap().and_then(|version| {
        run_probe(SandboxKind::Bubblewrap, Path::new(bubblewrap::LAUNCHER), launcher).map(|_| version)
    });
    let landlock = run_probe(SandboxKind::Landlock, launcher, launcher);
    AvailableSandboxes {
        bubblewrap,
        landlock,
        seccomp: seccomp_actions(),
        cgroup_memory: limits::cgroup_memory(),
        setup_hint: setup_hint::command().to_owned(),
    }
}

/// Runs the probe command in a sandbox. Returns its output if the sandbox is effective, or else the first problem.
fn run_probe(kind: SandboxKind, inside: &Path, launcher: &Path) -> Result<String, String> {
    let scratch = ScratchFolder::new().map_err(|error| format!("no folder to try it in: {error}"))?;
    let folders = ProbeFolders::create_in(scratch.path()).map_err(|error| error.to_string())?;
    let words: [OsString; 5] = [
        inside.into(),
        LAUNCH.into(),
        LauncherRole::ProbeCommand.name().into(),
        folders.vault.clone().into(),
        folders.outside.clone().into(),
    ];
    let launch = LaunchSpec {
        argv: words.to_vec(),
        workdir: CommandWorkdir::Vault(folders.vault.clone()),
        env: Vec::new(),
        tty: false,
        start_notifier: None,
    };
    let prepared =
        prepare_command(kind, &probe_profile(&folders), &launch, launcher).map_err(|fault| fault.message)?;
    let output = output_of(prepared.command)?;
    match folders.find_damage() {
        Some(problem) => Err(problem.to_owned()),
        None => Ok(output),
    }
}

fn probe_profile(folders: &ProbeFolders) -> SandboxProfile {
    let limits =
        ResourceLimits { memory_bytes: 1 << 30, processes: 64, file_bytes: 1 << 20, open_files: 256 };
    SandboxProfile {
        root: folders.vault.clone(),
        protected: vec![KEPT.to_owned(), ABSENT.to_owned()],
        hidden: Vec::new(),
        readable: Vec::new(),
        writable: Vec::new(),
        network: false,
        exec: ExecPolicy::unrestricted(),
        limits,
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "asks a program of the system for its version, with nothing in its environment"
)]
fn version_of_bubblewrap() -> Result<String, String> {
    let program = bubblewrap::program().ok_or("it is not installed")?;
    let mut version = Command::new(program);
    version.arg("--version").env_clear();
    let output = output_of(version)?;
    Ok(output.trim().strip_prefix("bubblewrap ").unwrap_or(output.trim()).to_owned())
}

/// Returns the output of a process that exits with success, or else its error output.
fn output_of(mut command: Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    let complaint = text(&output.stderr);
    Err(if complaint.is_empty() { format!("it ends with {}", output.status) } else { complaint })
}

/// Returns the actions of seccomp filters. Fails if the kernel cannot refuse a call.
fn seccomp_actions() -> Result<String, String> {
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail")
        .map_err(|error| format!("the kernel does not list its seccomp actions: {error}"))?;
    let known = actions.split_ascii_whitespace().any(|action| action == "errno");
    if known { Ok(actions.trim().to_owned()) } else { Err("the kernel cannot refuse a call".to_owned()) }
}
