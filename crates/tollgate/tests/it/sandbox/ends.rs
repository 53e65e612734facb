//! How a command ends, what it leaves, and what becomes of what it started.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use shell::sandbox::{LaunchSpec, PreparedCommand, SandboxKind, prepare_command};

use crate::sandbox::tries::sandbox_kinds;
use crate::sandbox::works::available_kinds;
use crate::sandbox::world::{ProbeWorld, launcher};

/// A command that leaves two processes behind in sessions of their own, one of them twice removed, that ignore
/// what can be ignored and hold the output open. It prints the mark by which they can be found, then goes on.
const STRAYS: &str = r#"
    stray() { setsid perl -e '$SIG{TERM} = $SIG{HUP} = $SIG{INT} = "IGNORE"; sleep 600' "stray-$MARK" & }
    stray; (stray &) ; sleep 0.2; echo started"#;

#[test]
fn the_end_of_a_command_is_told_as_a_shell_tells_it() {
    let world = ProbeWorld::new();
    for kind in available_kinds() {
        let code = |script: &str| world.run(kind, script).status.code();
        assert_eq!(code("exit 7"), Some(7), "{kind:?}");
        assert_eq!(code("kill -KILL $$"), Some(128 + 9), "{kind:?}");
        assert_eq!(code("kill -SEGV $$"), Some(128 + 11), "{kind:?}");
        let launch = LaunchSpec { argv: vec!["/nowhere".into()], ..world.launch("") };
        let PreparedCommand { mut command, resources } =
            prepare_command(kind, &world.reach(kind), &launch, &launcher()).unwrap();
        let output = command.output().unwrap();
        drop(resources);
        assert_eq!(output.status.code(), Some(127), "{kind:?}");
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            "tollgate: `/nowhere` cannot be started: No such file or directory (os error 2)\n",
            "{kind:?}"
        );
    }
}

#[test]
fn nothing_outlives_a_command_that_ends() {
    for kind in available_kinds() {
        let world = ProbeWorld::new();
        let output = world.run(kind, STRAYS);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "started\n", "{kind:?}");
        assert_eq!(strays(&world), Vec::<String>::new(), "{kind:?}");
    }
}

#[test]
fn nothing_outlives_a_command_that_is_told_to_end() {
    for kind in available_kinds() {
        let world = ProbeWorld::new();
        let (mut child, resources) = started(&world, kind);
        let told = Command::new("kill").arg(child.id().to_string()).status().unwrap();
        assert!(told.success());
        // The output ends when no process holds it open.
        let mut rest = String::new();
        child.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
        assert!(!child.wait().unwrap().success(), "{kind:?}");
        drop(resources);
        assert_eq!(strays(&world), Vec::<String>::new(), "{kind:?}");
    }
}

/// A command that has started its stray processes and keeps running.
fn started(world: &ProbeWorld, kind: SandboxKind) -> (Child, shell::sandbox::SandboxResources) {
    let launch = world.launch(&format!("{STRAYS}\nwhile :; do sleep 1; done"));
    let PreparedCommand { mut command, resources } =
        prepare_command(kind, &world.reach(kind), &launch, &launcher()).unwrap();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "started\n", "{kind:?}");
    child.stdout = Some(out.into_inner());
    (child, resources)
}

/// Processes that carry the mark of this world in their arguments and are not the one that runs the tests.
fn strays(world: &ProbeWorld) -> Vec<String> {
    let mark = world.launch("").env.iter().find(|(name, _)| name == "MARK").unwrap().1.clone();
    let mark = format!("stray-{}", mark.to_str().unwrap());
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    lines.filter(|line| line.split('\0').any(|word| word == mark)).collect()
}

const ROLE: &str = "SANDBOX_PARENT_OF";

/// The way in for the process that the next test starts and kills; by itself it has no role and ends at once.
#[test]
fn plays_the_parent_of_a_command() {
    let Ok(kind) = std::env::var(ROLE) else { return };
    let kind = available_kinds().into_iter().find(|it| it.name() == kind).unwrap();
    let world = ProbeWorld::new();
    let (mut child, _leftovers) = started(&world, kind);
    // The test looks for what is left under this number, and for processes under the mark.
    eprintln!("{}", world.launch("").env.iter().find(|(name, _)| name == "MARK").unwrap().1.display());
    child.wait().unwrap();
}

#[test]
fn nothing_outlives_the_one_that_asked_for_a_command() {
    for kind in available_kinds() {
        let mut parent = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sandbox::ends::plays_the_parent_of_a_command", "--nocapture"])
            .env(ROLE, kind.name())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(parent.stderr.take().unwrap());
        let mut mark = String::new();
        while !mark.starts_with("tollgate-probe-") {
            mark.clear();
            assert!(told.read_line(&mut mark).unwrap() > 0, "{kind:?}: the parent ended too early");
        }
        let scratch = format!("tollgate-{}-", parent.id());
        parent.kill().unwrap();
        parent.wait().unwrap();
        // Any process that is left of the command holds standard error open.
        let mut rest = String::new();
        told.read_to_string(&mut rest).unwrap();
        let left = Command::new("pgrep").args(["-f", &format!("stray-{}", mark.trim())]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&left.stdout), "", "{kind:?}");
        let entries = fs::read_dir("/tmp").unwrap().map(|entry| entry.unwrap().file_name());
        let kept: Vec<_> = entries.filter(|name| name.to_string_lossy().starts_with(&scratch)).collect();
        assert!(kept.is_empty(), "{kind:?} left {kept:?}");
    }
}

#[test]
fn what_stands_in_for_absent_folders_is_gone_when_the_last_command_has_ended() {
    let world = ProbeWorld::new();
    let reach = world.reach(SandboxKind::Bubblewrap);
    if !available_kinds().contains(&SandboxKind::Bubblewrap) {
        return;
    }
    let present = || {
        let mut names: Vec<String> = fs::read_dir(world.vault())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with('.'))
            .collect();
        names.sort();
        names
    };
    let before = present();
    let (mut first, first_leftovers) = started(&world, SandboxKind::Bubblewrap);
    // The second sees what stands in for the first, and must be as safe when the first is gone.
    let wait = "read line; mkdir .git; echo x > .git/config; ls -A .git";
    let PreparedCommand { mut command, resources } =
        prepare_command(SandboxKind::Bubblewrap, &reach, &world.launch(wait), &launcher()).unwrap();
    let second = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    drop(first_leftovers);
    let output = second.wait_with_output().unwrap();
    drop(resources);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    assert_eq!(present(), before);
}

/// Four processes that have 100 MB each at the same time, where a command may have 256 MB.
const TOGETHER: &str = r#"perl -e '
    pipe(R, W); pipe(HOLD, GO);
    for (1 .. 4) {
        next if fork;
        close GO; $x = "a" x (100 << 20); syswrite(W, "x"); sysread(HOLD, $y, 1); exit;
    }
    close W; $n = 0; $n += $r while $n < 4 and $r = sysread(R, $z, 1);
    print "all of them\n" if $n == 4'"#;

#[test]
fn all_processes_of_a_command_together_are_held_to_its_memory_where_the_system_can() {
    if let Err(why) = sandbox_kinds().cgroup_memory {
        eprintln!("skipped, memory is limited for each process only: {why}");
        return;
    }
    for kind in available_kinds().into_iter().filter(|kind| *kind != SandboxKind::Unsandboxed) {
        let world = ProbeWorld::new();
        let PreparedCommand { mut command, resources } =
            prepare_command(kind, &world.reach(kind), &world.launch(TOGETHER), &launcher()).unwrap();
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{kind:?}");
        let warnings = resources.warnings();
        assert!(
            warnings.iter().any(|said| said.contains("more than 256 MB of memory")),
            "{kind:?}: {warnings:?}"
        );
    }
}

#[test]
fn nothing_private_is_left_of_a_command() {
    let world = ProbeWorld::new();
    for kind in available_kinds().into_iter().filter(|kind| *kind != SandboxKind::Unsandboxed) {
        let output = world.run(kind, "touch \"$TMPDIR/x\" \"$HOME/y\"; echo \"$HOME\"");
        let home = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert!(!Path::new(&home).exists(), "{kind:?} left {home}");
    }
}
