//! Which files a command may execute: none of the vault beyond those that it names, and no denied programs.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use shell::sandbox::{ExecPolicy, SandboxKind, SandboxProfile, VaultFiles, program_files};

use crate::sandbox::works::available_kinds;
use crate::sandbox::world::ProbeWorld;

/// Ways to execute something that the command itself has put somewhere. Each prints `BROKE` if it works.
const EXECUTES: [&str; 12] = [
    "program notes/t; notes/t",
    "program notes/t; ./notes/t; \"$VAULT/notes/t\"",
    "program notes/t; sh -c notes/t; env notes/t; xargs -a notes/a.md notes/t; find notes -name t -exec {} \\;",
    "program notes/t; perl -e 'exec \"notes/t\"'",
    "program notes/t; PATH=\"$VAULT/notes:$PATH\" t",
    "program notes/t; ln -s t notes/l; notes/l",
    "program notes/t; ln notes/t notes/h; notes/h",
    "program notes/t; cd notes; /proc/self/cwd/t",
    "program notes/t; exec 9< notes/t; perl -e '$p = \"/proc/self/fd/9\"; exec $p'",
    "program \"$TMPDIR/t\"; \"$TMPDIR/t\"",
    "program \"$HOME/t\"; \"$HOME/t\"",
    "program /dev/shm/t; /dev/shm/t",
];

/// A program in a file that may be executed as far as its mode says. The mode is copied, since it cannot be set
/// behind every sandbox.
const PROGRAM: &str = r#"program() { cp /bin/true "$1" && printf '#!/bin/sh\necho BROKE\n' > "$1"; }"#;

/// The sandboxes that hold a command to what it may execute.
fn sandbox_kinds() -> impl Iterator<Item = SandboxKind> {
    available_kinds().into_iter().filter(|kind| *kind != SandboxKind::Unsandboxed)
}

fn reach(world: &ProbeWorld, kind: SandboxKind, exec: ExecPolicy) -> SandboxProfile {
    SandboxProfile { exec, ..world.reach(kind) }
}

fn only(files: Vec<PathBuf>) -> ExecPolicy {
    ExecPolicy { vault_files: VaultFiles::Only(files), denied: Vec::new() }
}

fn printed(world: &ProbeWorld, kind: SandboxKind, exec: ExecPolicy, script: &str) -> String {
    let output = world.run_in(kind, &reach(world, kind, exec), &format!("{PROGRAM}\n{script}"));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_command_executes_nothing_that_it_has_put_somewhere_itself() {
    for kind in sandbox_kinds() {
        for script in EXECUTES {
            let said = printed(&ProbeWorld::new(), kind, only(Vec::new()), script);
            assert_eq!(said, "", "{kind:?}: {script}");
        }
    }
}

#[test]
fn the_same_ways_work_where_every_file_may_be_executed() {
    for kind in sandbox_kinds() {
        for script in EXECUTES {
            // Without bubblewrap there is no shared memory that is the command's own.
            if kind == SandboxKind::Landlock && script.contains("/dev/shm") {
                continue;
            }
            let said = printed(&ProbeWorld::new(), kind, ExecPolicy::unrestricted(), script);
            assert!(said.contains("BROKE"), "this proves nothing: {kind:?}: {script}: {said}");
        }
    }
}

#[test]
fn a_file_that_the_call_names_can_be_executed_and_no_other_one() {
    for kind in sandbox_kinds() {
        let world = ProbeWorld::new();
        for name in ["build.sh", "other.sh"] {
            let path = world.path("vault/notes").join(name);
            fs::write(&path, format!("#!/bin/sh\necho {name}\n")).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        }
        let exec = only(vec![world.vault().join("notes/build.sh")]);
        let script = "notes/build.sh; notes/other.sh; sh notes/other.sh; mv -f notes/other.sh notes/build.sh; notes/build.sh";
        assert_eq!(printed(&world, kind, exec, script), "build.sh\nother.sh\n", "{kind:?}");
    }
}

#[test]
fn a_vault_below_a_readable_folder_is_not_executable_either() {
    for kind in sandbox_kinds() {
        let world = ProbeWorld::new();
        let mut reach = reach(&world, kind, only(Vec::new()));
        let above = world.vault().parent().unwrap().to_owned();
        reach.readable = vec![above.join("outside"), world.vault().join("notes")];
        let script = format!("{PROGRAM}\nprogram notes/t; notes/t; \"$OUT/program\"");
        let output = world.run_in(kind, &reach, &script);
        // What lies in a readable folder outside is the user's own, and may be executed.
        assert_eq!(String::from_utf8_lossy(&output.stdout), "BROKE\n", "{kind:?}");
    }
}

/// Ways to run a denied `rm`. Each would remove the note.
const REMOVES: [&str; 12] = [
    "rm notes/a.md",
    "/bin/rm notes/a.md",
    "/usr/bin/rm notes/a.md",
    "/usr/../usr/bin/./rm notes/a.md",
    "/proc/self/root/usr/bin/rm notes/a.md",
    "echo notes/a.md | xargs rm",
    "find notes -name a.md -exec rm {} +",
    "perl -e 'system(\"rm\", \"notes/a.md\")'",
    "cp /bin/rm notes/r; notes/r notes/a.md",
    "cp /bin/rm \"$TMPDIR/r\"; chmod +x \"$TMPDIR/r\"; \"$TMPDIR/r\" notes/a.md",
    "ln -s /bin/rm notes/l; notes/l notes/a.md",
    "/lib64/ld-linux-x86-64.so.2 /bin/rm notes/a.md",
];

#[test]
fn a_denied_program_cannot_be_executed_by_any_path() {
    let denied = program_files("rm", "/usr/bin");
    assert!(!denied.is_empty());
    for kind in sandbox_kinds() {
        for script in REMOVES {
            let world = ProbeWorld::new();
            // Even where the vault is executable: nothing can be copied from what cannot be read.
            let exec = ExecPolicy { vault_files: VaultFiles::All, denied: denied.clone() };
            world.run_in(kind, &reach(&world, kind, exec), script);
            assert!(world.path("vault/notes/a.md").exists(), "{kind:?}: {script}");
            world.run_in(kind, &reach(&world, kind, ExecPolicy::unrestricted()), script);
            assert!(!world.path("vault/notes/a.md").exists(), "this proves nothing: {kind:?}: {script}");
        }
    }
}

#[test]
fn other_programs_run_as_before_beside_a_denied_one() {
    for kind in sandbox_kinds() {
        let world = ProbeWorld::new();
        let denied = program_files("rm", "");
        let exec = ExecPolicy { denied, ..only(Vec::new()) };
        let script = "cat notes/a.md; ls /usr/bin | grep -c '^rm$'; perl -e 'print 1, \"\\n\"'; git --version | cut -c 1-3
            awk 'BEGIN { print 6 * 7 }'; bash -c 'echo bash'; python3 -c 'print(2)' || echo 2; mv notes/a.md notes/b.md; ls notes";
        assert_eq!(printed(&world, kind, exec, script), "a note\n1\n1\ngit\n42\nbash\n2\nb.md\n", "{kind:?}");
    }
}
