//! Notes that are created, changed, moved and deleted, for real and as a dry run.

use serde_json::{Value, json};

use super::{CorpusCase, answered, etag};

const PLAN: &str = "Projects/Harbour walk/Plan.md";
const TIME: i64 = 1_773_480_000_000;

pub(super) fn cases() -> Vec<CorpusCase> {
    [whole(), parts(), moves()].into_iter().flatten().collect()
}

fn whole() -> Vec<CorpusCase> {
    vec![
        answered(
            "a note is made",
            "vault.createFile",
            json!({ "path": PLAN, "created": true, "etag": etag("1"), "mtimeMs": TIME }),
            &["Created", "Projects/Harbour walk/Plan.md", "etag"],
        )
        .and(etag("1")),
        answered(
            "a note is written",
            "vault.writeFile",
            json!({ "path": PLAN, "etag": etag("2"), "mtimeMs": TIME, "bytesWritten": 1_877, "created": false }),
            &["Wrote", "Projects/Harbour walk/Plan.md", "1877 bytes", "etag"],
        )
        .and(etag("2")),
        answered(
            "a note would be written",
            "vault.writeFile",
            json!({ "path": PLAN, "etag": etag("3"), "bytesWritten": 1_877, "created": false, "dryRun": true }),
            &["Would write", "Projects/Harbour walk/Plan.md", "1877 bytes", "nothing was written"],
        )
        .and(etag("3")),
        answered(
            "a folder is made",
            "vault.ensureFolder",
            json!({ "path": "Projects/Harbour walk/Photos", "created": true }),
            &["Created the folder", "Projects/Harbour walk/Photos"],
        ),
    ]
}

fn parts() -> Vec<CorpusCase> {
    let with = |more: Value| {
        let mut data = json!({ "path": PLAN, "etag": etag("4"), "mtimeMs": TIME });
        if let (Some(data), Value::Object(more)) = (data.as_object_mut(), more) {
            data.extend(more);
        }
        data
    };
    vec![
        answered(
            "a note is patched",
            "vault.patchFile",
            with(json!({ "applied": true, "bytesAdded": 212, "bytesRemoved": 40 })),
            &["Patched", "Projects/Harbour walk/Plan.md", "+212", "-40", "etag"],
        )
        .and(etag("4")),
        answered(
            "a text is replaced",
            "vault.replaceText",
            with(json!({ "replaced": 3 })),
            &["Replaced", "3 places", "Projects/Harbour walk/Plan.md", "etag"],
        )
        .and(etag("4")),
        answered(
            "properties are set",
            "vault.updateFrontmatter",
            with(json!({ "added": ["status", "due"], "changed": ["tags"], "unchanged": ["created"] })),
            &["Projects/Harbour walk/Plan.md", "added", "status", "due", "changed", "tags", "etag"],
        )
        .and(etag("4")),
        answered(
            "a section grows",
            "vault.patchSection",
            with(json!({ "applied": true, "line": 31, "start": 904, "end": 1_016, "bytesRemoved": 0 })),
            &["Patched", "Projects/Harbour walk/Plan.md", "line 31", "etag"],
        )
        .and(etag("4")),
    ]
}

fn moves() -> Vec<CorpusCase> {
    let journal: Vec<String> = (1..=14).map(|week| format!("Journal/2025/Week {week:02}.md")).collect();
    let renamed = |dry_run: bool| {
        let mut data = json!({
            "fromPath": "Harbour/Bar crossing.md", "toPath": "Pilotage/Crossing the bar.md", "etag": etag("5"),
            "linksUpdated": 23, "filesUpdated": 14, "updatedIn": journal,
            "notUpdated": [{ "path": "Archive/Old index.md", "line": 40, "target": "Bar crossing|the bar" }],
            "notWritten": [{ "path": "Shared/Crew list.md", "reason": "it is open in another program" }],
            "mentionedIn": ["Templates/Passage plan.md"],
        });
        data["dryRun"] = dry_run.into();
        data
    };
    vec![
        answered(
            "a note is moved with its links",
            "vault.rename",
            renamed(false),
            &[
                "Renamed",
                "Harbour/Bar crossing.md",
                "Pilotage/Crossing the bar.md",
                "23 links",
                "14 files",
                "Archive/Old index.md:40",
                "Shared/Crew list.md",
                "it is open in another program",
                "Templates/Passage plan.md",
                "etag",
            ],
        )
        .and(etag("5")),
        answered(
            "a note would be moved",
            "vault.rename",
            renamed(true),
            &[
                "Would rename",
                "Harbour/Bar crossing.md",
                "Pilotage/Crossing the bar.md",
                "23 links",
                "14 files",
                "Archive/Old index.md",
                "nothing was written",
            ],
        ),
        answered(
            "a folder goes to the trash",
            "vault.delete",
            json!({
                "path": "Projects/Old site", "deleted": true, "trashed": true,
                "trashPath": ".trash/Projects/Old site", "files": 17,
            }),
            &["Projects/Old site", "17 files", "trash"],
        ),
        answered(
            "a note is deleted",
            "vault.delete",
            json!({ "path": "Inbox/Scratch.md", "deleted": true, "trashed": false, "files": 1 }),
            &["Deleted", "Inbox/Scratch.md"],
        ),
    ]
}
