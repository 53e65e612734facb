//! What a command needs and must have in every sandbox: people switch off a sandbox in which nothing works.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use shell::sandbox::{CommandWorkdir, LaunchSpec, PreparedCommand, SandboxKind, prepare_command};

use crate::sandbox::tries::sandbox_kinds;
use crate::sandbox::world::{ProbeWorld, launcher};

/// The sandboxes that are available here, and no sandbox.
pub(crate) fn available_kinds() -> Vec<SandboxKind> {
    let sandbox_kinds = sandbox_kinds();
    let found = [
        (SandboxKind::Bubblewrap, sandbox_kinds.bubblewrap),
        (SandboxKind::Landlock, sandbox_kinds.landlock),
    ];
    let mut available_kinds = vec![SandboxKind::Unsandboxed];
    for (kind, found) in found {
        match found {
            Ok(_) => available_kinds.push(kind),
            Err(why) => eprintln!("skipped for {}: {why}", kind.name()),
        }
    }
    available_kinds
}

/// Runs a script behind every sandbox; it must end well and print this.
#[track_caller]
fn check(script: &str, expected: &str) {
    for kind in available_kinds() {
        check_in(kind, script, expected);
    }
}

#[track_caller]
fn check_in(kind: SandboxKind, script: &str, expected: &str) {
    let output = ProbeWorld::new().run(kind, &format!("set -e\n{script}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(
        (output.status.code(), text(&output.stdout).as_str()),
        (Some(0), expected),
        "{kind:?}: {}",
        text(&output.stderr)
    );
}

#[test]
fn notes_can_be_read_written_moved_and_deleted() {
    check(
        "cat notes/a.md; echo more >> notes/a.md; mkdir notes/new; mv notes/a.md notes/new/b.md
         cat notes/new/b.md; ln notes/new/b.md notes/c.md; ln -s c.md notes/d.md; cat notes/d.md
         rm -r notes/new notes/c.md; ls notes; echo - two >> Inbox.md; cat Inbox.md",
        "a note\na note\nmore\na note\nmore\nd.md\n- one\n- two\n",
    );
}

#[test]
fn something_new_at_the_top_can_be_made_where_the_wall_knows_names() {
    for kind in available_kinds().into_iter().filter(|kind| *kind != SandboxKind::Landlock) {
        check_in(kind, "echo new > New.md; mkdir Folder; mv New.md Folder/; ls Folder", "New.md\n");
    }
}

#[test]
fn ordinary_modes_can_be_set_where_the_wall_knows_names() {
    for kind in available_kinds().into_iter().filter(|kind| *kind != SandboxKind::Landlock) {
        check_in(
            kind,
            "chmod 755 notes/a.md; mkdir -m 1700 notes/m; install -m 600 notes/a.md notes/b.md; umask 077; > notes/c
             stat -c %a notes/a.md notes/m notes/b.md notes/c",
            "755\n1700\n600\n600\n",
        );
    }
}

#[test]
fn protected_folders_and_named_folders_outside_can_be_read() {
    check(r#"cat .obsidian/app.json "$READABLE/manual.md""#, "{}\nhow to\n");
}

#[test]
fn programs_find_what_they_expect_of_a_system() {
    check(
        r#"echo lost > /dev/null; head -c 3 /dev/zero | wc -c; [ -n "$(head -c 8 /dev/urandom | od)" ]
           grep -c '^root:' /etc/passwd; perl -e 'print "perl\n"'; bash -c 'cat <(echo substituted)'
           echo x | cat | cat; awk 'BEGIN { print 6 * 7 }'; git --version | cut -c 1-3; uname"#,
        "3\n1\nperl\nsubstituted\nx\n42\ngit\nLinux\n",
    );
}

#[test]
fn home_and_the_temporary_folder_are_private_and_can_be_written() {
    for kind in available_kinds().into_iter().filter(|kind| *kind != SandboxKind::Unsandboxed) {
        check_in(
            kind,
            r#"echo 1 > "$HOME/.rc"; f=$(mktemp); echo 2 > "$f"; cat "$HOME/.rc" "$f"; ls -A "$HOME""#,
            "1\n2\n.rc\n",
        );
    }
}

#[test]
fn the_environment_is_exactly_what_was_given() {
    let world = ProbeWorld::new();
    for kind in available_kinds() {
        let launch = LaunchSpec {
            argv: ["/usr/bin/env", "-0"].map(Into::into).to_vec(),
            // What an order to the linker would do to the programs that build the sandbox: they must not see it.
            env: vec![("A".into(), "1\n2=3".into()), ("LD_PRELOAD".into(), "/nowhere.so".into())],
            ..world.launch("")
        };
        let PreparedCommand { mut command, resources } =
            prepare_command(kind, &world.reach(kind), &launch, &launcher()).unwrap();
        let output = command.output().unwrap();
        drop(resources);
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut names: Vec<&str> = out.split_terminator('\0').collect();
        names.retain(|entry| !entry.starts_with("HOME=") && !entry.starts_with("TMPDIR="));
        assert_eq!(names, ["A=1\n2=3", "LD_PRELOAD=/nowhere.so"], "{kind:?}");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(err.matches("/nowhere.so").count(), 1, "{kind:?} only the command is told: {err}");
    }
}

#[test]
fn nothing_that_is_open_elsewhere_is_handed_on() {
    let world = ProbeWorld::new();
    for kind in available_kinds() {
        let launch = world.launch("cat <&9; echo silence");
        let PreparedCommand { command, resources } =
            prepare_command(kind, &world.reach(kind), &launch, &launcher()).unwrap();
        // Whoever started us had this file open.
        let mut starter = Command::new("sh");
        starter.args(["-c", "exec 9< \"$0\"; exec \"$@\""]).arg(world.path("outside/secret"));
        starter.arg(command.get_program()).args(command.get_args()).current_dir(world.vault());
        starter.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = starter.output().unwrap();
        drop(resources);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "silence\n", "{kind:?}");
    }
}

#[test]
fn a_folder_of_its_own_is_empty_outside_of_the_vault_and_gone_in_the_end() {
    let world = ProbeWorld::new();
    for kind in available_kinds() {
        let launch = LaunchSpec {
            workdir: CommandWorkdir::Private,
            ..world.launch("ls -A; echo 1 > made; cat made; pwd -P")
        };
        let PreparedCommand { mut command, resources } =
            prepare_command(kind, &world.reach(kind), &launch, &launcher()).unwrap();
        let output = command.output().unwrap();
        drop(resources);
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let [made, folder] = out.lines().collect::<Vec<_>>()[..] else { panic!("{kind:?}: {out}") };
        assert_eq!(made, "1", "{kind:?}");
        assert!(
            folder.starts_with("/tmp/") && !std::path::Path::new(folder).starts_with(world.vault()),
            "{folder}"
        );
        assert!(!std::path::Path::new(folder).join("made").exists(), "{kind:?}: {folder}");
    }
}

#[test]
fn standard_input_reaches_the_command_and_the_folder_is_the_one_that_was_asked_for() {
    let world = ProbeWorld::new();
    for kind in available_kinds() {
        let launch = LaunchSpec {
            workdir: CommandWorkdir::Vault(world.vault().join("notes")),
            ..world.launch("basename $PWD; cat")
        };
        let PreparedCommand { mut command, resources } =
            prepare_command(kind, &world.reach(kind), &launch, &launcher()).unwrap();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"from outside").unwrap();
        let output = child.wait_with_output().unwrap();
        drop(resources);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "notes\nfrom outside", "{kind:?}");
    }
}

#[test]
fn a_network_that_the_policy_allows_is_there() {
    let script = r#"perl -MIO::Socket::INET -e '
        IO::Socket::INET->new(PeerAddr => "127.0.0.1:$ENV{TCP}", Timeout => 5) and print "connected\n"'
        perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) and
            connect(S, pack("S", 1) . "\0" . $ENV{ABSTRACT}) and print "reached a service by its name\n"'"#;
    let world = ProbeWorld::new();
    for kind in available_kinds().into_iter().filter(|kind| *kind != SandboxKind::Unsandboxed) {
        let mut reach = world.reach(kind);
        reach.network = true;
        let output = world.run_in(kind, &reach, script);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "connected\n", "{kind:?}");
    }
}

#[test]
fn a_terminal_becomes_the_commands_own() {
    let world = ProbeWorld::new();
    for kind in available_kinds() {
        let (master, slave) = terminal();
        let script = "[ -t 0 ] && stty -echo && read line && echo \"$line\" > /dev/tty";
        let launch = LaunchSpec { tty: true, ..world.launch(script) };
        let PreparedCommand { mut command, resources } =
            prepare_command(kind, &world.reach(kind), &launch, &launcher()).unwrap();
        let ends = || Stdio::from(slave.try_clone().unwrap());
        let mut child = command.stdin(ends()).stdout(ends()).stderr(ends()).spawn().unwrap();
        drop((command, slave));
        (&master).write_all(b"hello\n").unwrap();
        let status = child.wait().unwrap();
        drop(resources);
        let mut seen = Vec::new();
        // A terminal that nobody holds any more ends with an error; what was written can still be read.
        let _ended = (&master).read_to_end(&mut seen);
        let seen = String::from_utf8_lossy(&seen).into_owned();
        assert!(status.success() && seen.ends_with("hello\r\n"), "{kind:?}: {status}, {seen:?}");
    }
}

/// A terminal that belongs to no session yet: our end, and the end that a command gets.
fn terminal() -> (File, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = File::options().read(true).write(true).custom_flags(NO_CONTROL).open(name.to_str().unwrap());
    (File::from(master), slave.unwrap())
}

/// `O_NOCTTY`: the terminal must not become that of the tests.
const NO_CONTROL: i32 = 0o400;
