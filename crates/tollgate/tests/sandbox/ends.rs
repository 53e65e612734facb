//! How a command ends, what it leaves, and what becomes of what it started.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use shell::sandbox::{Launch, Prepared, Wall, command};

use crate::tries::walls;
use crate::works::standing;
use crate::world::{World, launcher};

/// A command that leaves two processes behind in sessions of their own, one of them twice removed, that ignore
/// what can be ignored and hold the output open. It prints the mark by which they can be found, then goes on.
const STRAYS: &str = r#"
    stray() { setsid perl -e '$SIG{TERM} = $SIG{HUP} = $SIG{INT} = "IGNORE"; sleep 600' "stray-$MARK" & }
    stray; (stray &) ; sleep 0.2; echo started"#;

#[test]
fn the_end_of_a_command_is_told_as_a_shell_tells_it() {
    let world = World::new();
    for wall in standing() {
        let code = |script: &str| world.run(wall, script).status.code();
        assert_eq!(code("exit 7"), Some(7), "{wall:?}");
        assert_eq!(code("kill -KILL $$"), Some(128 + 9), "{wall:?}");
        assert_eq!(code("kill -SEGV $$"), Some(128 + 11), "{wall:?}");
        let launch = Launch { argv: vec!["/nowhere".into()], ..world.launch("") };
        let Prepared { mut command, leftovers } =
            command(wall, &world.reach(wall), &launch, &launcher()).unwrap();
        let output = command.output().unwrap();
        drop(leftovers);
        assert_eq!(output.status.code(), Some(127), "{wall:?}");
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            "tollgate: `/nowhere` cannot be started: No such file or directory (os error 2)\n",
            "{wall:?}"
        );
    }
}

#[test]
fn nothing_outlives_a_command_that_ends() {
    for wall in standing() {
        let world = World::new();
        let output = world.run(wall, STRAYS);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "started\n", "{wall:?}");
        assert_eq!(strays(&world), Vec::<String>::new(), "{wall:?}");
    }
}

#[test]
fn nothing_outlives_a_command_that_is_told_to_end() {
    for wall in standing() {
        let world = World::new();
        let (mut child, leftovers) = started(&world, wall);
        let told = Command::new("kill").arg(child.id().to_string()).status().unwrap();
        assert!(told.success());
        // The output ends when nobody holds it open any more.
        let mut rest = String::new();
        child.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
        assert!(!child.wait().unwrap().success(), "{wall:?}");
        drop(leftovers);
        assert_eq!(strays(&world), Vec::<String>::new(), "{wall:?}");
    }
}

/// A command that has started its strays and goes on.
fn started(world: &World, wall: Wall) -> (Child, shell::sandbox::Leftovers) {
    let launch = world.launch(&format!("{STRAYS}\nwhile :; do sleep 1; done"));
    let Prepared { mut command, leftovers } =
        command(wall, &world.reach(wall), &launch, &launcher()).unwrap();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "started\n", "{wall:?}");
    child.stdout = Some(out.into_inner());
    (child, leftovers)
}

/// Processes that carry the mark of this world in their arguments and are not the one that runs the tests.
fn strays(world: &World) -> Vec<String> {
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
    let Ok(wall) = std::env::var(ROLE) else { return };
    let wall = standing().into_iter().find(|it| it.name() == wall).unwrap();
    let world = World::new();
    let (mut child, _leftovers) = started(&world, wall);
    // The test looks for what is left under this number, and for processes under the mark.
    eprintln!("{}", world.launch("").env.iter().find(|(name, _)| name == "MARK").unwrap().1.display());
    child.wait().unwrap();
}

#[test]
fn nothing_outlives_the_one_that_asked_for_a_command() {
    for wall in standing() {
        let mut parent = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "ends::plays_the_parent_of_a_command", "--nocapture"])
            .env(ROLE, wall.name())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(parent.stderr.take().unwrap());
        let mut mark = String::new();
        while !mark.starts_with("tollgate-probe-") {
            mark.clear();
            assert!(told.read_line(&mut mark).unwrap() > 0, "{wall:?}: the parent ended too early");
        }
        let scratch = format!("tollgate-{}-", parent.id());
        parent.kill().unwrap();
        parent.wait().unwrap();
        // Whoever is left of the command holds standard error open.
        let mut rest = String::new();
        told.read_to_string(&mut rest).unwrap();
        let left = Command::new("pgrep").args(["-f", &format!("stray-{}", mark.trim())]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&left.stdout), "", "{wall:?}");
        let entries = fs::read_dir("/tmp").unwrap().map(|entry| entry.unwrap().file_name());
        let kept: Vec<_> = entries.filter(|name| name.to_string_lossy().starts_with(&scratch)).collect();
        assert!(kept.is_empty(), "{wall:?} left {kept:?}");
    }
}

#[test]
fn what_stands_in_for_absent_folders_is_gone_when_the_last_command_has_ended() {
    let world = World::new();
    let reach = world.reach(Wall::Bubblewrap);
    if !standing().contains(&Wall::Bubblewrap) {
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
    let (mut first, first_leftovers) = started(&world, Wall::Bubblewrap);
    // The second sees what stands in for the first, and must be as safe when the first is gone.
    let wait = "read line; mkdir .git; echo x > .git/config; ls -A .git";
    let Prepared { mut command, leftovers } =
        command(Wall::Bubblewrap, &reach, &world.launch(wait), &launcher()).unwrap();
    let second = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    drop(first_leftovers);
    let output = second.wait_with_output().unwrap();
    drop(leftovers);
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
    if let Err(why) = walls().whole_memory {
        eprintln!("skipped, memory is limited for each process only: {why}");
        return;
    }
    for wall in standing().into_iter().filter(|wall| *wall != Wall::Open) {
        let world = World::new();
        let Prepared { mut command, leftovers } =
            command(wall, &world.reach(wall), &world.launch(TOGETHER), &launcher()).unwrap();
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{wall:?}");
        let warnings = leftovers.warnings();
        assert!(
            warnings.iter().any(|said| said.contains("more than 256 MB of memory")),
            "{wall:?}: {warnings:?}"
        );
    }
}

#[test]
fn nothing_private_is_left_of_a_command() {
    let world = World::new();
    for wall in standing().into_iter().filter(|wall| *wall != Wall::Open) {
        let output = world.run(wall, "touch \"$TMPDIR/x\" \"$HOME/y\"; echo \"$HOME\"");
        let home = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert!(!Path::new(&home).exists(), "{wall:?} left {home}");
    }
}
