//! The commands of the headless host: each does what it says, and what it writes is told.
use crate::support::Bench;
use expect_test::{Expect, expect};
use host::{HostSettings, NewNotePlace};
use serde_json::json;

async fn run(bench: &Bench, id: &str, expected: Expect) {
    expected.assert_eq(&bench.call("commands.run", json!({"id": id})).await);
}

async fn active(bench: &Bench) -> String {
    let context = bench.output("workspace.getContext", json!({})).await;
    context["activeFilePath"].as_str().unwrap_or("nothing").to_owned()
}

// Conformance: tool 3.8
//     `commands.run` says whether it was executed; an unknown id is NOT_FOUND.
//     In: host/tools
#[tokio::test]
async fn an_unknown_command_is_not_found_and_the_nearest_is_named() {
    let bench = Bench::new(&[]);
    run(
        &bench,
        "editor:save-files",
        expect![[r#"
        not_found: no command is called `editor:save-files` | did you mean `editor:save-file`?
    "#]],
    )
    .await;
    run(
        &bench,
        "zzz",
        expect![[r#"
        not_found: no command is called `zzz` | list the commands with commands.list
    "#]],
    )
    .await;
}

// Conformance: tool 3.8
#[tokio::test]
async fn a_command_that_cannot_run_now_says_so() {
    let bench = Bench::new(&[]);
    run(&bench, "editor:save-file", expect![[r#"
        {"id":"editor:save-file","executed":false,"errorMessage":"nothing is open; open a note first with workspace.openFile"}
    "#]]).await;
    run(&bench, "workspace:next-tab", expect![[r#"
        {"id":"workspace:next-tab","executed":false,"errorMessage":"nothing is open; open a note first with workspace.openFile"}
    "#]]).await;
}

#[tokio::test]
async fn a_new_note_gets_a_free_name_in_the_folder_of_the_settings() {
    let settings =
        HostSettings { new_note: NewNotePlace::Folder("In/Box".to_owned()), ..HostSettings::default() };
    let bench = Bench::with(&[("a.md", "")], settings, true);
    run(
        &bench,
        "file-explorer:new-file",
        expect![[r#"
        {"id":"file-explorer:new-file","executed":true}
        saw create-folder
        saw create-file
        saw run-command
        saw change-workspace
        folder-created In
        folder-created In/Box
        file-created In/Box/Untitled.md
    "#]],
    )
    .await;
    run(
        &bench,
        "file-explorer:new-file",
        expect![[r#"
        {"id":"file-explorer:new-file","executed":true}
        saw create-file
        saw run-command
        saw change-workspace
        file-created In/Box/Untitled 1.md
    "#]],
    )
    .await;
    assert_eq!(active(&bench).await, "In/Box/Untitled 1.md");
}

#[tokio::test]
async fn a_new_note_is_made_beside_the_active_one_when_the_settings_say_so() {
    let settings = HostSettings { new_note: NewNotePlace::Current, ..HostSettings::default() };
    let bench = Bench::with(&[("Sub/a.md", "")], settings, true);
    bench.open("Sub/a.md").await;
    run(
        &bench,
        "file-explorer:new-file",
        expect![[r#"
        {"id":"file-explorer:new-file","executed":true}
        saw create-file
        saw run-command
        saw change-workspace
        file-created Sub/Untitled.md
    "#]],
    )
    .await;
}

#[tokio::test]
async fn the_daily_note_is_made_once_from_its_template() {
    let settings = HostSettings {
        daily_folder: "Journal".to_owned(),
        daily_format: "YYYY/MM/YYYY-MM-DD dddd".to_owned(),
        daily_template: Some("Templates/Day".to_owned()),
        ..HostSettings::default()
    };
    let bench =
        Bench::with(&[("Templates/Day.md", "# {{title}}\n{{date:D MMMM}} {{time}}\n")], settings, true);
    run(
        &bench,
        "daily-notes",
        expect![[r#"
        {"id":"daily-notes","executed":true}
        saw create-folder
        saw create-file
        saw run-command
        saw change-workspace
        folder-created Journal
        folder-created Journal/2026
        folder-created Journal/2026/11
        file-created Journal/2026/11/2026-11-15 Sunday.md
    "#]],
    )
    .await;
    assert_eq!(
        bench.text("Journal/2026/11/2026-11-15 Sunday.md"),
        "# 2026-11-15 Sunday\n15 November 09:05\n"
    );
    run(
        &bench,
        "daily-notes",
        expect![[r#"
        {"id":"daily-notes","executed":true}
        saw run-command
        saw change-workspace
    "#]],
    )
    .await;
}

#[tokio::test]
async fn settings_that_lead_out_of_the_vault_are_refused() {
    let settings = HostSettings { daily_folder: "../elsewhere".to_owned(), ..HostSettings::default() };
    run(&Bench::with(&[], settings, true), "daily-notes", expect![[r#"
        precondition_failed: the settings lead to a path that cannot be used: `../elsewhere/2026-11-15.md` is not a path inside the vault: it contains `.` or `..`; name the folder itself | change the folder, the format or the template in the settings of the application
    "#]]).await;
    let settings = HostSettings { daily_folder: ".obsidian".to_owned(), ..HostSettings::default() };
    run(&Bench::with(&[], settings, true), "daily-notes", expect![[r#"
        sandbox_violation: `.obsidian/2026-11-15.md` lies in `.obsidian`, which belongs to another program or to Tollgate itself | use a path outside .obsidian, .git, .trash and .tollgate
    "#]]).await;
}

#[tokio::test]
async fn tabs_are_walked_and_closed() {
    let bench = Bench::new(&[("a.md", ""), ("b.md", ""), ("c.md", "")]);
    for path in ["a.md", "b.md", "c.md"] {
        bench.output("workspace.openFile", json!({"path": path, "newLeaf": true})).await;
    }
    let mut seen = Vec::new();
    for id in [
        "workspace:next-tab",
        "workspace:next-tab",
        "workspace:previous-tab",
        "workspace:close",
        "workspace:close",
    ] {
        bench.output("commands.run", json!({"id": id})).await;
        seen.push(active(&bench).await);
    }
    assert_eq!(seen, ["a.md", "b.md", "a.md", "b.md", "c.md"]);
    run(
        &bench,
        "workspace:close",
        expect![[r#"
        {"id":"workspace:close","executed":true}
        saw run-command
        saw change-workspace
    "#]],
    )
    .await;
    assert_eq!(active(&bench).await, "nothing");
}

#[tokio::test]
async fn lines_are_toggled_and_the_selection_stays() {
    let bench = Bench::new(&[("a.md", "# List\none\ntwo\n")]);
    bench.open("a.md").await;
    bench.select((1, 1), (2, 2)).await;
    run(
        &bench,
        "editor:toggle-bullet-list",
        expect![[r#"
        {"id":"editor:toggle-bullet-list","executed":true}
        saw modify-file
        saw run-command
        file-replaced a.md
    "#]],
    )
    .await;
    assert_eq!(bench.text("a.md"), "# List\n- one\n- two\n");
    assert_eq!(bench.selection().await, "1:3-2:4 \"ne\\n- tw\"");
    run(
        &bench,
        "editor:toggle-checklist-status",
        expect![[r#"
        {"id":"editor:toggle-checklist-status","executed":true}
        saw modify-file
        saw run-command
        file-replaced a.md
    "#]],
    )
    .await;
    assert_eq!(bench.text("a.md"), "# List\n- [ ] one\n- [ ] two\n");
}

#[tokio::test]
async fn a_dry_run_runs_and_opens_nothing_and_says_what_would_happen() {
    let bench = Bench::new(&[("a.md", "")]);
    let call = async |tool: &str, args| bench.call(tool, args).await;
    let new_file = json!({"id": "file-explorer:new-file", "dryRun": true});
    let shown = [
        call("commands.run", new_file).await,
        call("commands.run", json!({"id": "editor:save-file", "dryRun": true})).await,
        call("commands.run", json!({"id": "zzz", "dryRun": true})).await,
        call("workspace.openFile", json!({"path": "a.md", "dryRun": true})).await,
        call("workspace.openFile", json!({"path": "b.md", "dryRun": true})).await,
    ];
    expect![[r#"
        {"id":"file-explorer:new-file","executed":false,"paths":["Untitled.md"],"dryRun":true}
        {"id":"editor:save-file","executed":false,"errorMessage":"nothing is open; open a note first with workspace.openFile","dryRun":true}
        not_found: no command is called `zzz` | list the commands with commands.list
        {"path":"a.md","opened":false,"dryRun":true}
        not_found: `b.md` does not exist | did you mean `a.md`?
    "#]].assert_eq(&shown.concat());
    assert_eq!(active(&bench).await, "nothing");
}
