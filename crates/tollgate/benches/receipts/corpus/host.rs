//! The application around the notes: what is selected, what is open, its commands; and texts taken apart.

use serde_json::{Value, json};

use super::{CorpusCase, answered, etag};

pub(super) fn cases() -> Vec<CorpusCase> {
    [editor(), workspace(), commands(), texts()].into_iter().flatten().collect()
}

fn range(from: (u32, u32), to: (u32, u32)) -> Value {
    json!({ "from": { "line": from.0, "ch": from.1 }, "to": { "line": to.0, "ch": to.1 } })
}

fn editor() -> Vec<CorpusCase> {
    let selected = "Cross the bar two hours before high water.\nKeep the *white* mark above the \"old\" light.\n\n- [ ] ask Jon\n- [ ] print the chart\n";
    let note = "Harbour/Bar crossing.md";
    vec![
        answered(
            "what is selected",
            "editor.getSelection",
            json!({
                "text": selected, "isEmpty": false, "range": range((3, 0), (8, 0)), "filePath": note,
                "mode": "source",
            }),
            &[
                "3:0",
                "8:0",
                "Harbour/Bar crossing.md",
                "Keep the *white* mark above the \"old\" light.",
                "- [ ] print the chart",
            ],
        ),
        answered(
            "text is inserted",
            "editor.insertAtCursor",
            json!({
                "filePath": note, "cursorAfter": { "line": 9, "ch": 14 }, "insertedChars": 61, "etag": etag("6"),
            }),
            &["61 characters", "Harbour/Bar crossing.md", "9:14", "etag"],
        )
        .and(etag("6")),
        answered(
            "a range would be replaced",
            "editor.replaceRange",
            json!({
                "filePath": note, "range": range((3, 0), (4, 12)), "insertedChars": 88, "etag": etag("7"),
                "dryRun": true,
            }),
            &["Would replace", "3:0", "4:12", "Harbour/Bar crossing.md", "88 characters", "etag"],
        )
        .and(etag("7")),
        answered(
            "a place is selected",
            "editor.setSelection",
            json!({ "filePath": note, "range": range((7, 2), (7, 13)), "text": "ask Jon now" }),
            &["7:2", "7:13", "Harbour/Bar crossing.md", "ask Jon now"],
        ),
    ]
}

fn workspace() -> Vec<CorpusCase> {
    let leaf = |id: &str, view: &str, title: &str| json!({ "id": id, "viewType": view, "title": title });
    vec![
        answered(
            "what is open",
            "workspace.getContext",
            json!({
                "activeFilePath": "Harbour/Bar crossing.md", "activeViewType": "markdown", "isMarkdown": true,
                "openLeaves": [
                    leaf("leaf-1", "markdown", "Bar crossing"),
                    leaf("leaf-2", "markdown", "Tide tables"),
                    leaf("leaf-3", "pdf", "Chart of the bar"),
                    leaf("leaf-4", "graph", "Graph view"),
                ],
                "selectionSummary": { "isEmpty": false, "length": 126 },
            }),
            &[
                "Harbour/Bar crossing.md",
                "active",
                "markdown",
                "126",
                "leaf-2",
                "Tide tables",
                "leaf-3",
                "pdf",
                "leaf-4",
                "Graph view",
            ],
        ),
        answered(
            "a note is opened",
            "workspace.openFile",
            json!({ "path": "Inbox/Tide tables.md", "opened": true, "leafId": "leaf-2" }),
            &["Opened", "Inbox/Tide tables.md", "leaf-2"],
        ),
    ]
}

fn commands() -> Vec<CorpusCase> {
    let command = |id: &str, name: &str, owner: &str| {
        let hint = id.split_once(':').map(|(hint, _)| hint);
        let mut command = json!({ "id": id, "name": name, "ownerType": owner, "confidence": "high" });
        if let Some(hint) = hint {
            command["ownerHint"] = hint.into();
        }
        command
    };
    vec![
        answered(
            "the commands of the application",
            "commands.list",
            json!({
                "commands": [
                    command("app:reload", "Reload app without saving", "core"),
                    command("daily-notes", "Open today's daily note", "core"),
                    command("editor:fold-all", "Fold all headings and lists", "core"),
                    command("editor:toggle-bold", "Toggle bold", "core"),
                    command("editor:toggle-checklist-status", "Toggle checkbox status", "core"),
                    command("graph:open", "Open graph view", "core"),
                    command("insert-template", "Insert template", "core"),
                    command("kanban:create-new-board", "Create new board", "community"),
                    command("tasks:edit-task", "Create or edit task", "community"),
                    command("workspace:split-vertical", "Split right", "core"),
                ],
                "truncated": false,
            }),
            &[
                "10 commands",
                "daily-notes",
                "Open today's daily note",
                "editor:toggle-checklist-status",
                "kanban:create-new-board",
                "tasks:edit-task",
                "Create or edit task",
                "workspace:split-vertical",
            ],
        ),
        answered(
            "a command of the application",
            "commands.run",
            json!({ "id": "daily-notes", "executed": true }),
            &["daily-notes", "Ran"],
        ),
    ]
}

fn texts() -> Vec<CorpusCase> {
    let bullet = |text: &str, depth: u32| {
        let raw = format!("{}- {text}", "  ".repeat(depth as usize));
        json!({ "text": text, "raw": raw, "depth": depth })
    };
    vec![
        answered(
            "the bullets of a note",
            "util.parseMarkdownBullets",
            json!({
                "items": [
                    bullet("buy a chart of the estuary", 0),
                    bullet("call the harbour office", 0),
                    bullet("about the mooring", 1),
                    bullet("about the fee for March", 1),
                    bullet("read \"Tides\" to the end", 0),
                    bullet("return it by Friday", 1),
                    bullet("write to Ines", 0),
                ],
                "count": 7,
            }),
            &[
                "7",
                "buy a chart of the estuary",
                "  - about the fee for March",
                "read \"Tides\" to the end",
                "write to Ines",
            ],
        ),
        answered(
            "a title becomes a name",
            "util.slugifyTitle",
            json!({ "slug": "crossing-the-bar-a-guide" }),
            &["crossing-the-bar-a-guide"],
        ),
    ]
}
