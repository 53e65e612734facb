//! Which walls stand on this system: each is built once, around a command that tries it.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::spec::Role;
use super::trial::{ABSENT, Ground, KEPT};
use super::{LAUNCH, Launch, Limits, Reach, Wall, Walls, bubblewrap, command, limits, mending};
use crate::sandbox::scratch::Scratch;
use crate::sandbox::{ExecPolicy, Workdir};

/// Builds each wall once and looks from both sides whether it holds.
pub fn probe(launcher: &Path) -> Walls {
    let bubblewrap = version_of_bubblewrap().and_then(|version| {
        try_out(Wall::Bubblewrap, Path::new(bubblewrap::LAUNCHER), launcher).map(|_| version)
    });
    let landlock = try_out(Wall::Landlock, launcher, launcher);
    Walls {
        bubblewrap,
        landlock,
        seccomp: filters(),
        whole_memory: limits::whole_memory(),
        mend: mending::command().to_owned(),
    }
}

/// Runs the trial behind a wall. Gives what it says when the wall holds.
fn try_out(wall: Wall, inside: &Path, launcher: &Path) -> Result<String, String> {
    let scratch = Scratch::new().map_err(|error| format!("no folder to try it in: {error}"))?;
    let ground = Ground::made_in(scratch.path()).map_err(|error| error.to_string())?;
    let words: [OsString; 5] = [
        inside.into(),
        LAUNCH.into(),
        Role::Trial.name().into(),
        ground.vault.clone().into(),
        ground.outside.clone().into(),
    ];
    let launch = Launch {
        argv: words.to_vec(),
        workdir: Workdir::Vault(ground.vault.clone()),
        env: Vec::new(),
        tty: false,
        bell: None,
    };
    let prepared = command(wall, &small_reach(&ground), &launch, launcher).map_err(|fault| fault.message)?;
    let said = said_by(prepared.command)?;
    match ground.broken() {
        Some(hole) => Err(hole.to_owned()),
        None => Ok(said),
    }
}

fn small_reach(ground: &Ground) -> Reach {
    let limits = Limits { memory_bytes: 1 << 30, processes: 64, file_bytes: 1 << 20, open_files: 256 };
    Reach {
        root: ground.vault.clone(),
        protected: vec![KEPT.to_owned(), ABSENT.to_owned()],
        hidden: Vec::new(),
        readable: Vec::new(),
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
    let said = said_by(version)?;
    Ok(said.trim().strip_prefix("bubblewrap ").unwrap_or(said.trim()).to_owned())
}

/// What a process says when it ends well, or else what it complains about.
fn said_by(mut command: Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    let complaint = text(&output.stderr);
    Err(if complaint.is_empty() { format!("it ends with {}", output.status) } else { complaint })
}

/// Whether the kernel filters system calls with answers of ours.
fn filters() -> Result<String, String> {
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail")
        .map_err(|error| format!("the kernel does not tell what it can do: {error}"))?;
    let known = actions.split_ascii_whitespace().any(|action| action == "errno");
    if known { Ok(actions.trim().to_owned()) } else { Err("the kernel cannot refuse a call".to_owned()) }
}
