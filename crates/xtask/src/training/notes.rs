//! The vault of the workload, and the calls on it.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

const NOTES: usize = 2_000;
const FOLDERS: usize = 20;
const LINES: usize = 40;
const WORDS: [&str; 12] = [
    "river", "letter", "orchard", "meeting", "passport", "garden", "invoice", "recipe", "harbour", "lantern",
    "thesis", "summer",
];

/// A call of a tool.
pub(super) struct TrainingCall {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
}

#[allow(clippy::disallowed_methods, reason = "no vault of anybody: it is made to be worked in")]
pub(super) fn write(vault: &Path) -> anyhow::Result<()> {
    for folder in 0..FOLDERS {
        let path = vault.join(format!("Folder {folder}"));
        std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
    }
    for number in 0..NOTES {
        let path = vault.join(path(number));
        std::fs::write(&path, note(number)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn path(number: usize) -> String {
    format!("Folder {}/Note {number}.md", number % FOLDERS)
}

fn note(number: usize) -> String {
    let mut text = format!("---\ntags: [{}]\nnumber: {number}\n---\n# Note {number}\n\n", word(number));
    for line in 0..LINES {
        let _infallible = writeln!(
            text,
            "- {} and {} by the {}, see [[Note {}]]; naïve café {line}",
            word(number + line),
            word(number * 7 + line),
            word(line * 5),
            (number * 31 + line) % NOTES,
        );
        if line % 10 == 9 {
            let _infallible = writeln!(text, "\n## Part {}\n", line / 10);
        }
    }
    text
}

fn word(number: usize) -> &'static str {
    WORDS[number % WORDS.len()]
}

/// The calls of one round. Notes that they create are moved to the trash.
pub(super) fn calls(who: &str, round: usize) -> Vec<TrainingCall> {
    let call = |tool, arguments| TrainingCall { tool, arguments };
    let mine = format!("Work/{who} {round}.md");
    let moved = format!("Work/{who} {round} moved.md");
    let old = path(round * 37 % NOTES);
    let text = note(NOTES + round);
    vec![
        call("vault_searchText", json!({ "query": word(round) })),
        call("vault_searchText", json!({ "query": "(river|harbour) and l[a-z]+", "mode": "regex" })),
        call("vault_searchText", json!({ "query": "nowhere to be found" })),
        call("vault_listFiles", json!({ "recursive": true })),
        call("vault_listFiles", json!({ "prefix": format!("Folder {}", round % FOLDERS) })),
        call("vault_readFile", json!({ "path": old })),
        call("vault_getLinks", json!({ "path": old })),
        call("util_slugifyTitle", json!({ "title": format!("Über Note {round}!") })),
        call("util_parseMarkdownBullets", json!({ "text": text })),
        call("vault_ensureFolder", json!({ "path": "Work" })),
        call("vault_createFile", json!({ "path": mine, "content": text })),
        call("vault_replaceText", json!({ "path": mine, "find": "naïve", "replace": "plain", "all": true })),
        call(
            "vault_patchSection",
            json!({ "path": mine, "heading": [format!("Note {}", NOTES + round), "Part 1"], "mode": "replace", "content": "New.\n" }),
        ),
        call("vault_updateFrontmatter", json!({ "path": mine, "set": { "done": true } })),
        call("vault_writeFile", json!({ "path": mine, "content": "Less.\n" })),
        call("vault_rename", json!({ "fromPath": mine, "toPath": moved })),
        call("vault_delete", json!({ "path": moved })),
    ]
}

pub(super) fn command() -> TrainingCall {
    TrainingCall { tool: "ExecCommand", arguments: json!({ "cmd": "seq 1 300000; seq 1 2000 >&2" }) }
}
