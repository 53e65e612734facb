//! Paths made to lead a tool out of the vault or into a protected folder, for every tool.
//!
//! For any path, nothing outside the vault and nothing in a protected folder is read or changed, a call that fails
//! changes nothing, and no call panics.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use envelope::Failure;
use expect_test::expect;

use super::call_runner::{CallRunner, RunnerOutcome};
use super::calls::{PathCall, every, writing};
use super::scaled;
use super::seeded_random::SeededRandom;
use super::tree::tree;
use crate::support::{CANARY, HostileVault, put};

/// Base64 of the beginning of the canary.
const CANARY_BASE64: &str = "Y2FuYXJ5";
const SEED: u64 = 0x70_6c_67;

/// A vault full of traps.
struct TrappedVault {
    world: HostileVault,
    runner: CallRunner,
}

impl TrappedVault {
    fn new() -> TrappedVault {
        let world = HostileVault::new();
        let runner = CallRunner::new(&world.inside(""), &world.temp.path().join("store"));
        let trapped = TrappedVault { world, runner };
        trapped.set();
        trapped
    }

    /// Creates everything again, except the protected folders.
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
    fn call(&self, call: &PathCall) -> RunnerOutcome {
        let before = tree(&self.world.inside(""));
        let outcome = self.runner.call(call.tool, &call.args);
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

/// Outcomes that are allowed for any path.
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

/// Returns the outcome of every call for a path, each in a fresh vault. Calls with the same outcome are
/// grouped. The start of a listing page is not accessed.
fn verdicts(trapped: &TrappedVault, path: &str) -> String {
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
    let trapped = TrappedVault::new();
    paths.iter().map(|(id, path)| format!("{id} {path:?}\n    {}\n", verdicts(&trapped, path))).collect()
}

// Conformance: tool 1.6
#[test]
fn what_is_no_path_inside_a_vault_is_refused_by_every_tool() {
    let long = format!("Notes/{}.md", "n".repeat(253));
    let deep = vec!["d"; 600].join("/");
    let trapped = TrappedVault::new();
    for path in [
        // PATH-01 and PATH-07: a sibling, the root, parent components, each spelling of them.
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
        // Characters that end a name on some system, or are invisible.
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

/// Longer than the schema allows.
fn is_schema(ends: &str) -> bool {
    ends.split("; ")
        .all(|end| end.starts_with("schema_validation_failed") || end.starts_with("invalid_arguments"))
}

// Conformance: tool 1.10
#[test]
fn links_that_leave_the_vault_and_protected_folders_are_refused_by_every_tool() {
    let trapped = TrappedVault::new();
    for path in [
        // PATH-02: through a link to a folder, a chain of links, the system's magic links.
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
        // PATH-15 and PATH-16: protected, in every spelling, existing or not, directly or through a link.
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
        // Hidden in Obsidian, and therefore in the vault.
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
            conflict: move over; done: create unique, move from, trash; precondition_failed: delete; sandbox_violation: list, read, read base64, search, search regex, links, outline, folder, create, create over, write, append, patch, replace, frontmatter, section, move to
        PATH-03 "dangling.md"
            conflict: move over; done: create unique, move from, trash; precondition_failed: delete; sandbox_violation: list, read, read base64, search, search regex, links, outline, folder, create, create over, write, append, patch, replace, frontmatter, section, move to
        PATH-02 "loop1"
            conflict: create, move to, move over; done: links, create unique, move from, trash; precondition_failed: list, read, read base64, search, search regex, outline, folder, create over, write, append, patch, replace, frontmatter, section, delete
        PATH-02 "out"
            conflict: move over; done: links, create unique, move from, trash; precondition_failed: delete; sandbox_violation: list, read, read base64, search, search regex, outline, folder, create, create over, write, append, patch, replace, frontmatter, section, move to
        PATH-15 "settings"
            conflict: move over; done: links, create unique, move from, trash; precondition_failed: delete; sandbox_violation: list, read, read base64, search, search regex, outline, folder, create, create over, write, append, patch, replace, frontmatter, section, move to
        PATH-15 "Notes/app.md"
            conflict: move over; done: create unique, move from, trash; precondition_failed: delete; sandbox_violation: list, read, read base64, search, search regex, links, outline, folder, create, create over, write, append, patch, replace, frontmatter, section, move to
    "#]].assert_eq(&shown);
}

#[test]
fn a_trash_that_is_a_link_takes_nothing_out_of_the_vault() {
    let trapped = TrappedVault::new();
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
    let trapped = TrappedVault::new();
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
            conflict: folder, create, move to; done: read, read base64, search, search regex, links, outline, create unique, create over, write, append, patch, replace, frontmatter, move over, move from, trash, delete; not_found: section; precondition_failed: list
        inside "inside.md"
            conflict: folder, create, move to, move over; done: read, read base64, search, search regex, links, outline, create unique, create over, write, append, patch, replace, frontmatter, move from, trash; not_found: section; precondition_failed: list, delete
        PATH-14 case "NOTES/real.md"
            conflict: folder, create, create unique, create over, write, append, move to, move over; not_found: list, read, read base64, search, search regex, links, outline, patch, replace, frontmatter, section, move from, trash, delete
        PATH-14 case "Notes/REAL.md"
            conflict: folder, create, create over, write, append, move to, move over; done: create unique; not_found: list, read, read base64, search, search regex, links, outline, patch, replace, frontmatter, section, move from, trash, delete
        PATH-14 encoding "Notes/Café.md"
            conflict: folder, create, move to; done: read, read base64, search, search regex, links, outline, create unique, create over, write, append, patch, frontmatter, section, move over, move from, trash, delete; not_found: replace; precondition_failed: list
        PATH-14 sharp s "STRASSE.md"
            conflict: folder, create, create over, write, append, move to, move over; done: create unique; not_found: list, read, read base64, search, search regex, links, outline, patch, replace, frontmatter, section, move from, trash, delete
        PATH-14 zero width "Notes/re\u{200b}al.md"
            conflict: folder, create, create over, write, append, move to, move over; done: create unique; not_found: list, read, read base64, search, search regex, links, outline, patch, replace, frontmatter, section, move from, trash, delete
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

fn generated_path(random: &mut SeededRandom) -> String {
    let mut path = random.of(&["", "", "", "", "", "", "/", "./", "\\\\?\\", "../"]).to_owned();
    for n in 0..=random.below(4) {
        if n > 0 {
            path.push_str(random.of(&["/", "/", "/", "/", "/", "/", "//", "\\"]));
        }
        path.push_str(random.of(&PARTS));
    }
    path
}

// Conformance: tool 2.16
#[test]
fn generated_paths_lead_no_tool_out_of_the_vault() {
    let (calls, mut random) = (scaled(6_000, 45_000), SeededRandom(SEED));
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    let trapped = TrappedVault::new();
    for n in 0..calls {
        // The effects of the calls are part of the test, until too few traps are left.
        if n % 24 == 0 {
            trapped.reset();
        }
        let (path, free) = (generated_path(&mut random), format!("Moved/{n}.md"));
        let mut calls = every(&path, "Notes/spare.md", &free);
        let call = calls.swap_remove(random.below(calls.len()));
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
    let trapped = TrappedVault::new();
    for call in writing("Notes/hard.md", "Notes/spare.md", "free.md") {
        trapped.reset();
        let outside = trapped.world.temp.path().join("outside/secret.md");
        let before = fs::metadata(&outside).unwrap().ino();
        fs::hard_link(&outside, trapped.world.inside("Notes/hard.md")).unwrap();
        let outcome = trapped.runner.call(call.tool, &call.args);
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
