//! A preview shows what a plan would do and changes nothing, and the preview can be run.
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::support::{TestTerminal, TestVault, one_note};
use expect_test::expect;
use serde_json::{Value, json};

/// Every name in the vault, ours included, with kind, mode, times and content.
fn everything(sandbox: &TestVault) -> BTreeMap<String, (u32, i64, i64, Vec<u8>)> {
    fn walk(root: &Path, at: &Path, seen: &mut BTreeMap<String, (u32, i64, i64, Vec<u8>)>) {
        let meta = at.symlink_metadata().unwrap();
        let content = if meta.is_file() { std::fs::read(at).unwrap() } else { Vec::new() };
        let name = at.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        seen.insert(name, (meta.mode(), meta.mtime(), meta.mtime_nsec(), content));
        if meta.is_dir() {
            for entry in std::fs::read_dir(at).unwrap() {
                walk(root, &entry.unwrap().path(), seen);
            }
        }
    }
    let mut seen = BTreeMap::new();
    walk(&sandbox.path(""), &sandbox.vault(), &mut seen);
    seen
}

fn plan(risk: &str, steps: Value) -> Value {
    json!({ "version": "1.0", "goal": "Tidy up", "riskLevel": risk, "steps": steps })
}

/// Moves, changes, creates and trashes; later steps work on what earlier ones would have made.
fn tidy_up() -> Value {
    plan(
        "writes",
        json!([
            { "id": "move", "tool": "vault.rename", "args": { "fromPath": "Inbox.md", "toPath": "Archive/Inbox 2026.md" } },
            { "id": "read", "tool": "vault.readFile", "dependsOn": ["move"], "args": { "path": "Archive/Inbox 2026.md" } },
            { "id": "edit", "tool": "vault.replaceText", "dependsOn": ["read"],
              "args": { "path": "Archive/Inbox 2026.md", "find": "Green", "replace": "Ripe green" } },
            { "id": "note", "tool": "vault.createFile", "args": { "path": "Fruit.md", "content": "$steps.read.content" } },
            { "id": "bin", "tool": "vault.delete", "args": { "path": "Old.md" } },
            { "id": "find", "tool": "vault.searchText", "dependsOn": ["note", "bin"], "args": { "query": "pears" } }
        ]),
    )
}

fn tidy_world() -> (TestVault, String) {
    let sandbox = TestVault::new();
    sandbox.write("vault/Home.md", "Start in the [[Inbox]].\n");
    sandbox.write("vault/Old.md", "pears of last year\n");
    let plan = sandbox.plan_file("tidy.json", &tidy_up());
    (sandbox, plan)
}

#[test]
fn a_preview_tells_what_each_step_would_do_and_shows_every_difference() {
    let (sandbox, plan) = tidy_world();
    let ended = sandbox.tollgate(&["preview", &plan]).expect_code(0);
    expect![[r#"
        Creates 1 note and 1 folder: Fruit.md. Changes 1 note: Home.md. Moves 1 note: Inbox.md to Archive/Inbox 2026.md. Deletes 1 note: Old.md.
        created folder Archive
        trashed Old.md
        moved Inbox.md to Archive/Inbox 2026.md (+1 -1)
          @@ lines 1-5 @@
            # Inbox

            - Red apples
          - - [-Green-] pears
          + - {+Ripe green+} pears
            - Blue plums
        created Fruit.md (+5 -0)
          + # Inbox
          +
          + - Red apples
          + - Green pears
          + - Blue plums
        changed Home.md (+1 -1)
          @@ line 1 @@
          - Start in the [[Inbox]].
          + Start in the [[Inbox{+ 2026+}]].
        Steps (this creates 1 note and 1 folder, changes 1 note, moves 1 note, trashes 1 note; 1 link in 1 note updated):
          ok         move         Rename Inbox.md to Archive/Inbox 2026.md, with 1 link in 1 file
          ok         read         Read Archive/Inbox 2026.md
          ok         edit         Replace "Green" by "Ripe green" in Archive/Inbox 2026.md
          ok         note         Create Fruit.md (49 bytes)
          ok         bin          Move Old.md to the trash
          ok         find         Search the vault for "pears"
        Nothing was written. Preview hash: b3:HASH
    "#]].assert_eq(&sandbox.scrub(&ended.out));
    assert_eq!(ended.err, "");
}

#[test]
fn a_preview_writes_nothing_at_all() {
    let (sandbox, plan) = tidy_world();
    sandbox.config("mode = \"ask\"\n");
    let before = everything(&sandbox);
    for args in [&["preview", &plan][..], &["preview", &plan, "--full"], &["preview", &plan, "--json"]] {
        sandbox.tollgate(args).expect_code(0);
        assert_eq!(everything(&sandbox), before, "{args:?}");
    }
    // The same plan, run: so the comparison can tell a difference.
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
    assert_ne!(everything(&sandbox), before);
}

#[test]
fn what_was_foreseen_is_what_a_run_does() {
    let (sandbox, plan) = tidy_world();
    let preview = sandbox.tollgate(&["preview", &plan, "--json"]).expect_code(0).json();
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
    for path in preview["paths"].as_array().unwrap() {
        let on_disk = sandbox.vault().join(path["path"].as_str().unwrap());
        match path["after"].as_str() {
            Some(after) => {
                let content = std::fs::read(&on_disk).unwrap();
                assert_eq!(envelope::Hash::of(&content).to_string(), after, "{path}");
            }
            None => assert_eq!(on_disk.exists(), path["fate"] == "created", "{path}"),
        }
    }
    let again = sandbox.tollgate(&["preview", &plan, "--json"]).expect_code(1).json();
    assert_ne!(again["fingerprint"], preview["fingerprint"]);
}

#[test]
fn the_same_vault_gives_the_same_fingerprint() {
    let (sandbox, plan) = tidy_world();
    let fingerprint = |args: &[&str]| {
        sandbox.tollgate(args).expect_code(0).json()["fingerprint"].as_str().unwrap().to_owned()
    };
    let first = fingerprint(&["preview", &plan, "--json"]);
    assert_eq!(fingerprint(&["preview", &plan, "--json", "--full"]), first);
    sandbox.write("vault/Home.md", "Start in the [[Inbox]], please.\n");
    assert_ne!(fingerprint(&["preview", &plan, "--json"]), first);
}

#[test]
fn a_command_is_not_run_and_what_depends_on_it_is_said_to_be_unknown() {
    let sandbox = TestVault::new();
    let steps = json!([
        { "id": "cmd", "tool": "commands.run", "args": { "id": "app:save-all" } },
        { "id": "then", "tool": "vault.createFile", "dependsOn": ["cmd"], "args": { "path": "a.md", "content": "a" } },
        { "id": "later", "tool": "vault.createFile", "dependsOn": ["then"], "args": { "path": "b.md", "content": "b" } },
        { "id": "apart", "tool": "vault.createFile", "args": { "path": "c.md", "content": "c" } }
    ]);
    let plan = sandbox.plan_file("cmd.json", &plan("commands", steps));
    let before = everything(&sandbox);
    let ended = sandbox.tollgate(&["preview", &plan]).expect_code(0);
    assert_eq!(everything(&sandbox), before);
    expect![[r#"
        Creates 1 note: c.md. What this does cannot be forecast: Run the command app:save-all and 2 steps more.
        created c.md (+1 -0)
          + c
        command Run the command app:save-all
        Steps (this creates 1 note):
          unknown    cmd          Run the command app:save-all
                                  cannot be forecast: it runs a command
          unknown    then         vault.createFile
                                  depends on step cmd, which cannot be forecast
          unknown    later        vault.createFile
                                  depends on step then, which cannot be forecast
          ok         apart        Create c.md (1 bytes)
        Nothing was written. Preview hash: b3:HASH
    "#]]
    .assert_eq(&sandbox.scrub(&ended.out));
}

#[test]
fn a_denial_and_a_failure_are_foreseen_with_their_exit_codes() {
    let sandbox = TestVault::new();
    sandbox.config("[[rules]]\neffect = \"deny\"\npaths = [\"Secret/**\"]\n");
    let denied = sandbox.plan_file("denied.json", &one_note("Secret/a.md"));
    let ended = sandbox.tollgate(&["preview", &denied]).expect_code(3);
    expect![[r#"
        Changes nothing. Step note will be denied: rule 1 denies vault.createFile: Create Secret/a.md (7 bytes).
        will fail step note: rule 1 denies vault.createFile: Create Secret/a.md (7 bytes)
        Steps (this changes nothing):
          denied     note         vault.createFile
                                  rule 1 denies vault.createFile: Create Secret/a.md (7 bytes)
                                  hint: do not send the same call again; ask the user to change the rule
        Nothing was written. Preview hash: b3:HASH
    "#]]
    .assert_eq(&sandbox.scrub(&ended.out));
    let failing = sandbox.plan_file("failing.json", &one_note("Inbox.md"));
    let ended = sandbox.tollgate(&["preview", &failing]).expect_code(1);
    expect![[r#"
        Changes nothing. Step note will fail: `Inbox.md` already exists.
        will fail step note: `Inbox.md` already exists
        Steps (this changes nothing):
          fails      note         Create Inbox.md (7 bytes)
                                  `Inbox.md` already exists
                                  hint: choose another path, or set collisionStrategy to "create-unique" or "overwrite"
        Nothing was written. Preview hash: b3:HASH
    "#]].assert_eq(&sandbox.scrub(&ended.out));
    let wrong = sandbox.write("wrong.json", "{}");
    sandbox.tollgate(&["preview", wrong.to_str().unwrap()]).expect_code(2);
}

#[test]
fn questions_on_the_way_and_hooks_are_told_and_not_run() {
    let sandbox = TestVault::new();
    let hook = sandbox.script("hook.sh", "touch ../ran; cat > /dev/null; echo '{}'");
    sandbox.trusted_config(&format!(
        "[[rules]]\neffect = \"ask\"\npaths = [\"Notes/**\"]\n[limits]\nmax_foreach_items = 2\n[[hooks]]\nname = \"watch\"\ncommand = [{hook:?}]\n"
    ));
    let ended = sandbox.tollgate(&["preview", &sandbox.plan()]).expect_code(0);
    let told = ended.out.split_once("You would also be asked:").unwrap().1;
    expect![[r#"

          Step notes would run for 3 items; more than 2 need another approval.
          3 calls would need their own approval: rule 1
        Hooks were not run for this; they may change or refuse calls: watch
        Steps (this creates 3 notes and 1 folder):
          ok         read         Read Inbox.md
          ok         bullets      Find the bullets in 49 bytes of text
          ok         notes        Create Notes/Red apples.md (13 bytes) (3 calls)
                                  Create Notes/Green pears.md (14 bytes)
                                  Create Notes/Blue plums.md (13 bytes)
        Nothing was written. Preview hash: b3:HASH
    "#]]
    .assert_eq(&sandbox.scrub(told));
    assert!(!sandbox.path("ran").exists());
}

#[test]
fn names_and_code_that_make_trouble_are_warned_of() {
    let sandbox = TestVault::new();
    let steps = json!([
        { "id": "name", "tool": "vault.createFile", "args": { "path": "C# notes.md", "content": "x" } },
        { "id": "code", "tool": "vault.createFile",
          "args": { "path": "Board.md", "content": "# Board\n```dataviewjs\ndv.table()\n```\n" } }
    ]);
    let plan = sandbox.plan_file("odd.json", &plan("writes", steps));
    let warnings = sandbox.tollgate(&["preview", &plan, "--json"]).expect_code(0).json()["warnings"].clone();
    expect![[r#"
        [
          "Board.md would carry code that Obsidian plugins run when it is opened (dataviewjs)",
          "C# notes.md: links cannot name it, because of `#`, `^`, `[` or `]`"
        ]"#]]
    .assert_eq(&format!("{warnings:#}"));
}

#[test]
fn a_dry_run_inside_a_preview_sees_what_was_imagined_and_imagines_nothing() {
    let sandbox = TestVault::new();
    let dry = |id: &str, tool: &str, mut args: Value| {
        args["dryRun"] = json!(true);
        json!({ "id": id, "tool": tool, "dependsOn": ["note"], "args": args })
    };
    let steps = json!([
        { "id": "note", "tool": "vault.createFile",
          "args": { "path": "Made.md", "content": "# Made\n\nOne line.\n", "frontmatter": { "a": 1 } } },
        dry("folder", "vault.ensureFolder", json!({ "path": "Folder" })),
        dry("create", "vault.createFile", json!({ "path": "Made.md", "content": "x", "collisionStrategy": "overwrite" })),
        dry("write", "vault.writeFile", json!({ "path": "Made.md", "content": "x", "mode": "overwrite" })),
        dry("replace", "vault.replaceText", json!({ "path": "Made.md", "find": "One", "replace": "Two" })),
        dry("front", "vault.updateFrontmatter", json!({ "path": "Made.md", "set": { "a": 2 } })),
        dry("section", "vault.patchSection",
            json!({ "path": "Made.md", "heading": ["Made"], "mode": "append", "content": "More.\n" })),
        dry("rename", "vault.rename", json!({ "fromPath": "Made.md", "toPath": "Other.md" })),
        dry("delete", "vault.delete", json!({ "path": "Made.md" })),
    ]);
    let plan = sandbox.plan_file("dry.json", &plan("writes", steps));
    let ended = sandbox.tollgate(&["preview", &plan]);
    assert!(ended.out.contains("Creates 1 note: Made.md.\n"), "{}\n{}", ended.out, ended.err);
    assert_eq!(ended.code, 0, "{}", ended.out);
}

#[test]
fn thousands_of_notes_are_all_foreseen_and_shown_in_part() {
    let sandbox = TestVault::new();
    sandbox.config("[limits]\nmax_foreach_items = 100000\n");
    let items: Vec<u32> = (0..2_000).collect();
    let steps = json!([{
        "id": "many", "tool": "vault.createFile", "foreach": { "from": items, "itemName": "n" },
        "args": { "path": "Many/Note {n}.md", "content": "Number {n}\n", "collisionStrategy": "create-unique" }
    }]);
    let plan = sandbox.plan_file("many.json", &plan("writes", steps));
    let ended = sandbox.tollgate(&["preview", &plan]).expect_code(0);
    assert!(ended.out.contains("Creates 2000 notes and 1 folder: Many/Note 0.md"), "{}", ended.out);
    assert!(ended.out.contains("… 1980 more files; --full shows all"), "{}", ended.out);
    assert!(ended.out.lines().count() < 100, "{}", ended.out);
}

/// Keeps the preview of a plan in a file.
fn previewed(sandbox: &TestVault, plan: &str) -> String {
    let file = sandbox.path("seen.json").to_str().unwrap().to_owned();
    sandbox.tollgate(&["preview", plan, "--out", &file]).expect_code(0);
    file
}

#[test]
fn what_was_previewed_runs_as_it_was_previewed_and_not_otherwise() {
    let (sandbox, plan) = tidy_world();
    let seen = previewed(&sandbox, &plan);
    sandbox.write("vault/Home.md", "The [[Inbox]] is where things start.\n");
    let before = everything(&sandbox);
    let ended = sandbox.tollgate(&["run", &plan, "--previewed", &seen, "--yes"]).expect_code(3);
    expect![[r#"
        error: the plan would not do what was previewed; nothing was run
          Home.md was edited since the preview
        hint: look at a new preview, then run that
    "#]]
    .assert_eq(&sandbox.scrub(&ended.err));
    assert_eq!(everything(&sandbox), before, "nothing was run");
    std::fs::remove_file(sandbox.path("vault/Old.md")).unwrap();
    let ended = sandbox.tollgate(&["run", &plan, "--previewed", &seen, "--yes", "--json"]).expect_code(3);
    expect![[r#"
        [
          "Home.md was edited since the preview",
          "Old.md no longer exists"
        ]"#]]
    .assert_eq(&format!("{:#}", ended.json()["differences"]));
    // A preview is binding also in a vault that asks nothing.
    let (sandbox, plan) = tidy_world();
    sandbox.trusted_config("mode = \"trusted\"\n");
    let seen = previewed(&sandbox, &plan);
    let home = std::fs::read_to_string(sandbox.path("vault/Home.md")).unwrap();
    sandbox.write("vault/Home.md", "[[Inbox]]");
    sandbox.tollgate(&["run", &plan, "--previewed", &seen]).expect_code(3);
    sandbox.write("vault/Home.md", &home);
    sandbox.tollgate(&["run", &plan, "--previewed", &seen, "--yes"]).expect_code(0);
    assert_eq!(sandbox.notes(), [".trash/Old.md", "Archive/Inbox 2026.md", "Fruit.md", "Home.md"]);
}

#[test]
fn a_preview_is_kept_only_where_nothing_else_is_lost() {
    let (sandbox, plan) = tidy_world();
    let seen = previewed(&sandbox, &plan);
    previewed(&sandbox, &plan);
    let other = sandbox.write("other.json", "{}");
    sandbox.tollgate(&["preview", &plan, "--out", other.to_str().unwrap()]).expect_code(2);
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "{}");
    sandbox.tollgate(&["run", &plan, "--previewed", other.to_str().unwrap(), "--yes"]).expect_code(2);
    let another = sandbox.plan_file("another.json", &one_note("a.md"));
    let ended = sandbox.tollgate(&["run", &another, "--previewed", &seen, "--yes"]).expect_code(3);
    assert!(ended.err.contains("the plan is another one"), "{}", ended.err);
}

#[test]
fn the_question_shows_the_preview_in_colours() {
    let (sandbox, plan) = tidy_world();
    let mut terminal = sandbox.terminal(&["run", &plan]);
    terminal.wait_for("Moves 1 note: Inbox.md to Archive/Inbox 2026.md");
    terminal.wait_for("\u{1b}[32;7m 2026\u{1b}[0m");
    terminal.wait_for("Preview hash: b3:");
    terminal.wait_for("May this run? [y/N]");
    terminal.type_in("y\r");
    let (screen, ended) = terminal.end();
    assert_eq!(ended, 0, "{screen}");
}

#[test]
fn what_is_shown_without_colours_is_what_the_record_has_the_hash_of() {
    let (sandbox, plan) = tidy_world();
    let mut command = sandbox.command(&["run", &plan]);
    command.env("NO_COLOR", "1");
    let mut terminal = TestTerminal::open(&command);
    terminal.wait_for("May this run? [y/N]");
    terminal.type_in("y\r");
    let (screen, ended) = terminal.end();
    assert_eq!(ended, 0, "{screen}");
    let screen = screen.replace("\r\n", "\n");
    let from = screen.find("Creates").or_else(|| screen.find("Changes")).unwrap();
    let to = screen.find("\nMay this run?").unwrap();
    let shown = envelope::Hash::of(&screen.as_bytes()[from..to]);
    let run: Value =
        serde_json::from_str(&std::fs::read_to_string(sandbox.only_run().join("run.json")).unwrap()).unwrap();
    assert_eq!(run["confirmation"]["shown"], json!(shown), "{}", &screen[from..to]);
}

#[test]
fn a_vault_that_changes_while_the_question_is_open_is_asked_about_again() {
    let (sandbox, plan) = tidy_world();
    let mut terminal = sandbox.terminal(&["run", &plan]);
    terminal.wait_for("May this run? [y/N]");
    sandbox.write("vault/Home.md", "Nothing links from here.\n");
    terminal.type_in("y\r");
    terminal.wait_for("This is not what was forecast before:");
    terminal.wait_for("Home.md was edited since the preview");
    terminal.wait_for("May this run? [y/N]");
    terminal.type_in("y\r");
    let (screen, ended) = terminal.end();
    assert_eq!(ended, 0, "{screen}");
    assert_eq!(std::fs::read_to_string(sandbox.path("vault/Home.md")).unwrap(), "Nothing links from here.\n");
}

#[test]
fn a_previewed_plan_is_asked_about_in_short_and_in_full_once_it_differs() {
    let (sandbox, plan) = tidy_world();
    let seen = previewed(&sandbox, &plan);
    let mut terminal = sandbox.terminal(&["run", &plan, "--previewed", &seen]);
    terminal.wait_for("This is exactly what was previewed.");
    terminal.wait_for("May this run? [y/N]");
    terminal.type_in("n\r");
    let (screen, ended) = terminal.end();
    assert_eq!(ended, 3, "{screen}");
    assert!(!screen.contains("Steps (this"), "{screen}");
    sandbox.write("vault/Old.md", "pears of this year\n");
    let mut terminal = sandbox.terminal(&["run", &plan, "--previewed", &seen]);
    terminal.wait_for("Old.md was edited since the preview");
    terminal.wait_for("Steps (this");
    terminal.wait_for("May this run? [y/N]");
    terminal.type_in("y\r");
    assert_eq!(terminal.end().1, 0);
}
