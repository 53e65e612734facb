//! Paths that were made to lead a tool out of the vault or into a protected folder, for every tool.
//!
//! Whatever the path: nothing outside the vault and nothing in a protected folder is read or changed, a call
//! that fails changes nothing at all, and no call panics.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use envelope::Failure;
use expect_test::expect;

use crate::calls::{Call, every, writing};
use crate::dice::Dice;
use crate::gate::{Gate, Outcome};
use crate::scaled;
use crate::support::{CANARY, World, put};
use crate::tree::tree;

/// Base64 of the first letters of the canary.
const CANARY_BASE64: &str = "Y2FuYXJ5";
const SEED: u64 = 0x70_6c_67;

/// A vault full of traps, and a gate before it.
struct Trapped {
    world: World,
    gate: Gate,
}

impl Trapped {
    fn new() -> Trapped {
        let world = World::new();
        let gate = Gate::new(&world.inside(""), &world.temp.path().join("store"));
        let trapped = Trapped { world, gate };
        trapped.set();
        trapped
    }

    /// Everything anew, but for the protected folders.
    fn reset(&self) {
        for entry in fs::read_dir(self.world.inside("")).unwrap() {
            let entry = entry.unwrap();
            let is_folder = entry.file_type().unwrap().is_dir();
            match entry.file_name().to_str().unwrap() {
                ".obsidian" | ".git" => {}
                _ if is_folder => fs::remove_dir_all(entry.path()).unwrap(),
                _ => fs::remove_file(entry.path()).unwrap(),
            }
        }
        fs::create_dir(self.world.inside("Notes")).unwrap();
        self.set();
    }

    fn set(&self) {
        let world = &self.world;
        put(&world.inside("Notes/real.md"), "real");
        put(&world.inside("Notes/spare.md"), "# H\nspare [[real]]\n");
        put(&world.inside("Notes/Cafe\u{301}.md"), "# H\nnfd\n");
        put(&world.inside("Stra\u{df}e.md"), "# H\nsharp s\n");
        let outside = world.temp.path().join("outside").to_str().unwrap().to_owned();
        for (target, link) in [
            ("../outside", "out"),
            (outside.as_str(), "absolute"),
            ("../vault-evil", "sibling"),
            ("../vault", "back"),
            ("/proc/self/root", "magic"),
            ("/proc/self/cwd", "cwd"),
            ("Notes/../../outside", "winding"),
            ("../outside/secret.md", "file.md"),
            ("../outside/created.md", "dangling.md"),
            (".obsidian", "settings"),
            ("../.obsidian/app.json", "Notes/app.md"),
            (".TRASH", "bin"),
            (".tollgate/runs", "runs"),
            ("loop2", "loop1"),
            ("loop1", "loop2"),
            (".", "self"),
            ("Notes", "inside"),
            ("Notes/real.md", "inside.md"),
            ("out", "chain1"),
        ] {
            world.link(target, link);
        }
        for n in 2..=10 {
            world.link(&format!("chain{}", n - 1), &format!("chain{n}"));
        }
    }

    /// Makes a call and checks what holds for every call.
    fn call(&self, call: &Call) -> Outcome {
        let before = tree(&self.world.inside(""));
        let outcome = self.gate.call(call.tool, &call.args);
        let (what, said) = (format!("{} {}", call.name, call.args), outcome.said());
        assert!(
            !said.contains(CANARY) && !said.contains(CANARY_BASE64),
            "{what} shows what is outside: {said}"
        );
        assert!(!said.contains("deep"), "{what} shows a name from outside: {said}");
        assert!(
            !said.chars().any(|c| c.is_control() && c != '\n'),
            "{what} is told with control characters: {said:?}"
        );
        if let Some(failure) = outcome.failure() {
            assert!(is_expected(failure), "{what}: {failure}: {said}");
            assert!(outcome.changes.is_empty(), "{what} failed and reports {:?}", outcome.changes);
            assert!(tree(&self.world.inside("")) == before, "{what} failed and changed something: {said}");
        } else {
            assert_eq!(outcome.changes, outcome.intent, "{what} did what it had written down");
        }
        self.world.assert_outside_untouched();
        assert!(!self.world.inside(".tollgate").exists(), "{what} made .tollgate");
        outcome
    }
}

/// What a call may end with, whatever its path.
fn is_expected(failure: Failure) -> bool {
    matches!(
        failure,
        Failure::SchemaValidationFailed
            | Failure::InvalidArguments
            | Failure::SandboxViolation
            | Failure::NotFound
            | Failure::Conflict
            | Failure::PreconditionFailed
    )
}

/// How every call ends for a path, each in a vault as it was; calls that end alike stand together. Where a
/// listing goes on is no place that anyone goes to.
fn verdicts(trapped: &Trapped, path: &str) -> String {
    let mut by_verdict: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let calls = every(path, "Notes/spare.md", "Moved/free.md");
    let calls: Vec<_> = calls.into_iter().filter(|call| call.name != "list after").collect();
    let count = calls.len();
    for call in calls {
        let outcome = trapped.call(&call);
        by_verdict.entry(outcome.verdict()).or_default().push(call.name);
        if !outcome.changes.is_empty() {
            trapped.reset();
        }
    }
    let shown = by_verdict.iter().map(|(verdict, calls)| match calls.len() {
        all if all == count => format!("{verdict}: all"),
        _ => format!("{verdict}: {}", calls.join(", ")),
    });
    shown.collect::<Vec<_>>().join("; ")
}

fn table(paths: &[(&str, &str)]) -> String {
    let trapped = Trapped::new();
    paths.iter().map(|(id, path)| format!("{id} {path:?}\n    {}\n", verdicts(&trapped, path))).collect()
}

#[test]
fn what_is_no_path_inside_a_vault_is_refused_by_every_tool() {
    let long = format!("Notes/{}.md", "n".repeat(253));
    let deep = vec!["d"; 600].join("/");
    let trapped = Trapped::new();
    for path in [
        // PATH-01 and PATH-07: a sibling, the root, ways up, each spelling of them.
        "../vault-evil/secret.md",
        "../outside/secret.md",
        "Notes/../../outside/secret.md",
        "Notes/../real.md",
        "./Notes/real.md",
        "Notes//real.md",
        "/etc/passwd",
        "//outside/secret.md",
        "..",
        ".",
        // Another system's separators, drives and shares.
        "..\\outside\\secret.md",
        "Notes\\real.md",
        "C:\\outside\\secret.md",
        "C:/outside/secret.md",
        "\\\\server\\share\\a.md",
        "\\\\?\\C:\\a.md",
        "file:///etc/passwd",
        // PATH-08: streams.
        "Notes/real.md:payload",
        "Notes/real.md::$DATA",
        "Notes:x/real.md",
        // PATH-09: devices, and what Windows strips.
        "con",
        "Notes/NUL.md",
        "aux.tar.gz",
        "COM\u{b9}.md",
        "lpt\u{b2}",
        "LPT9.md",
        "Notes/real.md.",
        "Notes/real.md ",
        "Notes./real.md",
        "Notes /real.md",
        " Notes/real.md",
        // Characters that end a name for somebody, or hide what it says.
        "Notes/real.md\0.png",
        "Notes/a\nb.md",
        "Notes/a\u{1b}[2J.md",
        "Notes/a\u{85}.md",
        "Notes/a\u{202e}dm.exe",
        long.as_str(),
        deep.as_str(),
    ] {
        let ends = verdicts(&trapped, path);
        assert!(ends == "invalid_arguments: all" || is_schema(&ends), "{path:?}: {ends}");
    }
}

/// Too long for the schema already.
fn is_schema(ends: &str) -> bool {
    ends.split("; ")
        .all(|end| end.starts_with("schema_validation_failed") || end.starts_with("invalid_arguments"))
}

#[test]
fn links_that_leave_the_vault_and_protected_folders_are_refused_by_every_tool() {
    let trapped = Trapped::new();
    for path in [
        // PATH-02: through a link to a folder, a chain of them, the system's own magic.
        "out/secret.md",
        "out/new/note.md",
        "absolute/secret.md",
        "sibling/secret.md",
        "back/Notes/real.md",
        "winding/secret.md",
        "chain10/secret.md",
        "magic/etc/passwd",
        "cwd/Cargo.toml",
        "self/out/secret.md",
        // PATH-15 and PATH-16: protected, in every spelling, there or not, directly or through a link.
        ".obsidian/app.json",
        ".obsidian/plugins/evil/main.js",
        ".OBSIDIAN/app.json",
        ".Obsidian",
        ".obs\u{131}dian/app.json",
        ".OBS\u{130}DIAN/app.json",
        "\u{ff0e}obsidian/app.json",
        ".obsi\u{200b}dian/app.json",
        "OBSIDI~1/app.json",
        ".git/config",
        "Notes/.git/hooks/post-checkout",
        ".GIT/config",
        "GIT~1/config",
        ".g\u{ad}it/config",
        ".trash/real.md",
        ".Trash/real.md",
        ".tollgate/config.toml",
        ".TollGate/config.toml",
        "TOLLGA~1/config.toml",
        ".tollgate-tmp-1-0",
        "Notes/.Tollgate-Tmp-removed-1",
        // Hidden from Obsidian, and so from us.
        "..%2Foutside%2Fsecret.md",
        "..\u{2215}outside.md",
        "Notes/.hidden.md",
        ".config/app.md",
        "settings/app.json",
        "settings/plugins/evil.js",
        "bin/real.md",
        "runs/1/run.json",
    ] {
        let ends = verdicts(&trapped, path);
        assert_eq!(ends, "sandbox_violation: all", "{path:?}");
    }
}

#[test]
fn a_link_in_the_last_place_is_never_followed_out_and_is_moved_only_as_a_link() {
    let shown = table(&[
        ("PATH-02", "file.md"),
        ("PATH-03", "dangling.md"),
        ("PATH-02", "loop1"),
        ("PATH-02", "out"),
        ("PATH-15", "settings"),
        ("PATH-15", "Notes/app.md"),
    ]);
    expect![[r#"
        PATH-02 "file.md"
            conflict: move over; done: create unique, move from, trash; precondition_failed: delete; sandbox_violation: list, read, read base64, search, search regex, links, folder, create, create over, write, append, patch, replace, frontmatter, section, move to
        PATH-03 "dangling.md"
            conflict: move over; done: create unique, move from, trash; precondition_failed: delete; sandbox_violation: list, read, read base64, search, search regex, links, folder, create, create over, write, append, patch, replace, frontmatter, section, move to
        PATH-02 "loop1"
            conflict: create, move to, move over; done: links, create unique, move from, trash; precondition_failed: list, read, read base64, search, search regex, folder, create over, write, append, patch, replace, frontmatter, section, delete
        PATH-02 "out"
            conflict: move over; done: links, create unique, move from, trash; precondition_failed: delete; sandbox_violation: list, read, read base64, search, search regex, folder, create, create over, write, append, patch, replace, frontmatter, section, move to
        PATH-15 "settings"
            conflict: move over; done: links, create unique, move from, trash; precondition_failed: delete; sandbox_violation: list, read, read base64, search, search regex, folder, create, create over, write, append, patch, replace, frontmatter, section, move to
        PATH-15 "Notes/app.md"
            conflict: move over; done: create unique, move from, trash; precondition_failed: delete; sandbox_violation: list, read, read base64, search, search regex, links, folder, create, create over, write, append, patch, replace, frontmatter, section, move to
    "#]].assert_eq(&shown);
}

#[test]
fn a_trash_that_is_a_link_takes_nothing_out_of_the_vault() {
    let trapped = Trapped::new();
    for target in ["../outside", "Notes", "nowhere"] {
        trapped.reset();
        trapped.world.link(target, ".trash");
        for call in writing("Notes/real.md", "", "").into_iter().filter(|call| call.name == "trash") {
            assert_eq!(trapped.call(&call).verdict(), "sandbox_violation", "{target}");
        }
    }
}

#[test]
fn encoded_and_odd_names_are_taken_as_they_are_written() {
    let names = [
        "a..%2Foutside%2Fsecret.md",
        "%2e%2e%2foutside%2fsecret.md",
        "%2e%2e%252foutside.md",
        "%c0%ae%c0%ae%c0%afoutside.md",
        "a..\u{2215}outside.md",
        "a..\u{ff0f}outside.md",
        "\u{2025}outside.md",
        "~root",
        "$HOME.md",
        "`id`.md",
        "-rf.md",
        "*.md",
        "Why? \"Because\" <so> | not.md",
        "vault-evil.md",
    ];
    let trapped = Trapped::new();
    for name in names {
        trapped.reset();
        let before = tree(&trapped.world.inside(""));
        let call = writing(name, "Notes/spare.md", "free.md").swap_remove(1);
        let outcome = trapped.call(&call);
        assert_eq!(outcome.verdict(), "done", "{name}: {}", outcome.said());
        let mut after = tree(&trapped.world.inside(""));
        assert!(after.remove(name).is_some(), "{name}");
        assert!(after == before, "{name} made more than one file");
    }
}

#[test]
fn links_inside_the_vault_and_twins_end_as_they_should_for_every_tool() {
    let shown = table(&[
        ("inside", "inside/real.md"),
        ("inside", "inside.md"),
        ("PATH-14 case", "NOTES/real.md"),
        ("PATH-14 case", "Notes/REAL.md"),
        ("PATH-14 encoding", "Notes/Caf\u{e9}.md"),
        ("PATH-14 sharp s", "STRASSE.md"),
        ("PATH-14 zero width", "Notes/re\u{200b}al.md"),
    ]);
    expect![[r#"
        inside "inside/real.md"
            conflict: folder, create, move to; done: read, read base64, search, search regex, links, create unique, create over, write, append, patch, replace, frontmatter, move over, move from, trash, delete; not_found: section; precondition_failed: list
        inside "inside.md"
            conflict: folder, create, move to, move over; done: read, read base64, search, search regex, links, create unique, create over, write, append, patch, replace, frontmatter, move from, trash; not_found: section; precondition_failed: list, delete
        PATH-14 case "NOTES/real.md"
            conflict: folder, create, create unique, create over, write, append, move to, move over; not_found: list, read, read base64, search, search regex, links, patch, replace, frontmatter, section, move from, trash, delete
        PATH-14 case "Notes/REAL.md"
            conflict: folder, create, create over, write, append, move to, move over; done: create unique; not_found: list, read, read base64, search, search regex, links, patch, replace, frontmatter, section, move from, trash, delete
        PATH-14 encoding "Notes/Café.md"
            conflict: folder, create, move to; done: read, read base64, search, search regex, links, create unique, create over, write, append, patch, frontmatter, section, move over, move from, trash, delete; not_found: replace; precondition_failed: list
        PATH-14 sharp s "STRASSE.md"
            conflict: folder, create, create over, write, append, move to, move over; done: create unique; not_found: list, read, read base64, search, search regex, links, patch, replace, frontmatter, section, move from, trash, delete
        PATH-14 zero width "Notes/re\u{200b}al.md"
            conflict: folder, create, create over, write, append, move to, move over; done: create unique; not_found: list, read, read base64, search, search regex, links, patch, replace, frontmatter, section, move from, trash, delete
    "#]].assert_eq(&shown);
}

const PARTS: [&str; 56] = [
    "..",
    ".",
    "",
    "Notes",
    "Notes",
    "notes",
    "real.md",
    "real.md",
    "REAL.md",
    "spare.md",
    "Cafe\u{301}.md",
    "Caf\u{e9}.md",
    "out",
    "absolute",
    "sibling",
    "back",
    "magic",
    "cwd",
    "winding",
    "chain10",
    "file.md",
    "dangling.md",
    "settings",
    "bin",
    "runs",
    "loop1",
    "self",
    "self",
    "inside",
    "inside",
    "inside.md",
    "app.md",
    ".obsidian",
    ".OBSIDIAN",
    ".git",
    "GIT~1",
    ".trash",
    ".tollgate",
    ".tollgate-tmp-1-0",
    "secret.md",
    "app.json",
    "con",
    "COM\u{b9}",
    "real.md:x",
    "C:",
    "%2e%2e",
    "..%2f",
    "a\0b",
    "a\nb",
    "x ",
    "x.",
    "new",
    "new.md",
    "~",
    "vault",
    "proc",
];

fn generated_path(dice: &mut Dice) -> String {
    let mut path = dice.of(&["", "", "", "", "", "", "/", "./", "\\\\?\\", "../"]).to_owned();
    for n in 0..=dice.below(4) {
        if n > 0 {
            path.push_str(dice.of(&["/", "/", "/", "/", "/", "/", "//", "\\"]));
        }
        path.push_str(dice.of(&PARTS));
    }
    path
}

#[test]
fn generated_paths_lead_no_tool_out_of_the_vault() {
    let (calls, mut dice) = (scaled(6_000, 45_000), Dice(SEED));
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    let trapped = Trapped::new();
    for n in 0..calls {
        // What the calls did is part of the test, until too little is left of the traps.
        if n % 24 == 0 {
            trapped.reset();
        }
        let (path, free) = (generated_path(&mut dice), format!("Moved/{n}.md"));
        let mut calls = every(&path, "Notes/spare.md", &free);
        let call = calls.swap_remove(dice.below(calls.len()));
        *ends.entry(trapped.call(&call).verdict()).or_default() += 1;
    }
    eprintln!("{calls} calls from seed {SEED:#x}: {ends:?}");
    for end in
        ["done", "invalid_arguments", "sandbox_violation", "not_found", "conflict", "precondition_failed"]
    {
        assert!(ends.contains_key(end), "no call ended as {end}: {ends:?}");
    }
}

#[test]
fn a_hard_link_to_a_file_outside_is_replaced_by_every_tool_and_the_file_outside_stays() {
    let trapped = Trapped::new();
    for call in writing("Notes/hard.md", "Notes/spare.md", "free.md") {
        trapped.reset();
        let outside = trapped.world.temp.path().join("outside/secret.md");
        let before = fs::metadata(&outside).unwrap().ino();
        fs::hard_link(&outside, trapped.world.inside("Notes/hard.md")).unwrap();
        let outcome = trapped.gate.call(call.tool, &call.args);
        trapped.world.assert_outside_untouched();
        let about = fs::metadata(&outside).unwrap();
        assert_eq!(about.ino(), before);
        let rewrites = ["create over", "write", "append", "patch", "replace", "frontmatter", "delete"];
        if rewrites.contains(&call.name) {
            assert_eq!(outcome.verdict(), "done", "{}: {}", call.name, outcome.said());
            assert_eq!(about.nlink(), 1, "{} left the second name of the file", call.name);
        }
    }
}
