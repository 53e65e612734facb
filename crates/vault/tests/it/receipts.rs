//! Receipts of the reading tools: short, and enough for the next call.
//!
//! A result that does not fit names the call that returns the rest. These tests make that call with the receipt
//! as their only input, until nothing is left.

use std::path::Path;
use std::sync::Arc;

use envelope::CallId;
use expect_test::expect;
use serde_json::{Value, json};
use toolkit::{CancelToken, MappedResult, Projection, Registry, ToolCx};
use vault::{Vault, register};

struct ReceiptFixture {
    folder: tempfile::TempDir,
    registry: Registry,
}

impl ReceiptFixture {
    fn with(files: &[(&str, &str)]) -> ReceiptFixture {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        files.iter().for_each(|(path, text)| put(folder.path(), path, text));
        let mut registry = Registry::new();
        register(&mut registry, Some(Arc::new(Vault::open(folder.path()).unwrap()))).unwrap();
        ReceiptFixture { folder, registry }
    }

    async fn call(&self, tool: &str, args: &Value, budget: usize) -> MappedResult {
        let entry = self.registry.get(tool).unwrap();
        let problems = entry.input.validate(args);
        assert!(problems.is_empty(), "{problems:?}");
        let cx = ToolCx::new(CallId::parse("call").unwrap(), CancelToken::new(), None);
        let mut args = entry.tool.decode(args).unwrap();
        entry.tool.validate(&cx, &mut args).await.unwrap();
        let mapped = entry.tool.run(&cx, args).await.unwrap().map(Projection::new(budget, None)).unwrap();
        let problems = entry.output.validate(&mapped.data);
        assert!(problems.is_empty(), "{problems:?}");
        mapped
    }

    async fn receipt(&self, tool: &str, args: Value) -> String {
        self.call(tool, &args, 1_000).await.receipt
    }
}

fn put(folder: &Path, path: &str, text: &str) {
    let at = folder.join(path);
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    std::io::Write::write_all(&mut std::fs::File::create(at).unwrap(), text.as_bytes()).unwrap();
}

/// Returns the text after `words` on the last line of a receipt.
fn said<'a>(receipt: &'a str, words: &str) -> Option<&'a str> {
    receipt.lines().last().unwrap().split_once(words).map(|(_, rest)| rest)
}

// Conformance: tool 2.2
#[tokio::test]
async fn a_listing_is_followed_to_its_end() {
    let names: Vec<String> = (0..300).map(|n| format!("Area {}/Note \"{n}\".md", n % 7)).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    let fixture = ReceiptFixture::with(&files);
    let mut args = json!({"recursive": true, "extensions": ["md"], "limit": 100});
    let mut seen = Vec::new();
    loop {
        let page = fixture.call("vault.listFiles", &args, 400).await;
        let mut folder = String::new();
        for line in page.receipt.lines().skip(1).filter(|line| !line.starts_with('…')) {
            match (line.strip_suffix(':'), line.strip_prefix(' ')) {
                (Some(heading), _) => folder = heading.to_owned(),
                (None, Some(name)) => seen.push(format!("{folder}{name}")),
                (None, None) => seen.push(line.to_owned()),
            }
        }
        let Some(after) = said(&page.receipt, "list again with after ") else { break };
        args["after"] = serde_json::from_str(after).unwrap();
    }
    let mut expected = names.clone();
    expected.sort();
    seen.sort();
    assert_eq!(seen, expected);
}

// Conformance: tool 2.4
#[tokio::test]
async fn a_note_is_followed_to_its_end() {
    let text: String = (0..600).map(|n| format!("- [[Note {n}]] größer — and more\n\tindented\n")).collect();
    let fixture = ReceiptFixture::with(&[("Long.md", &text)]);
    let mut args = json!({"path": "Long.md", "maxBytes": 8_000});
    let mut seen = String::new();
    loop {
        let part = fixture.call("vault.readFile", &args, 600).await.receipt;
        let next = said(&part, "read on with range ");
        let (_, content) = part.split_once('\n').unwrap();
        let content = if next.is_some() { content.rsplit_once('\n').unwrap().0 } else { content };
        seen.push_str(content);
        seen.push('\n');
        let Some(range) = next else { break };
        args["range"] = serde_json::from_str(range).unwrap();
    }
    assert_eq!(seen, text);
}

// Conformance: tool 2.14
#[tokio::test]
async fn a_search_is_followed_to_its_end() {
    let text: String = (1..=400).map(|n| format!("needle number {n}\n")).collect();
    let fixture = ReceiptFixture::with(&[("a.md", &text), ("b/c.md", "one needle\nhay\nanother needle\n")]);
    let mut args = json!({"query": "needle", "limit": 150});
    let mut seen = Vec::new();
    loop {
        let page = fixture.call("vault.searchText", &args, 500).await.receipt;
        // Below its path, or behind it if it is the only match.
        let found =
            page.lines().filter_map(|line| line.split_once(": ")).filter(|(_, text)| text.contains("needle"));
        seen.extend(found.map(|(_, text)| text.to_owned()));
        let Some(rest) = said(&page, "search again with offset ") else { break };
        args["offset"] = rest.split(',').next().unwrap().parse::<u64>().unwrap().into();
    }
    let mut expected: Vec<&str> = text.lines().collect();
    expected.extend(["one needle", "another needle"]);
    assert_eq!(seen, expected);
    let page = fixture.receipt("vault.searchText", json!({"query": "needle", "offset": 400})).await;
    expect![[r#"
        Found matches 401 to 402; 2 files searched
        b/c.md
        1: one needle
        3: another needle"#]]
    .assert_eq(&page);
    let nothing = fixture.receipt("vault.searchText", json!({"query": "needle", "offset": 402})).await;
    expect!["Found nothing after the first 402 matches; 2 files searched"].assert_eq(&nothing);
}

#[tokio::test]
async fn links_are_followed_to_their_end() {
    let text: String = (1..=200).map(|n| format!("[[Note {n}]]\n")).collect();
    let names: Vec<String> = (1..=100).map(|n| format!("Note {n}.md")).collect();
    let mut files = vec![("Index.md", text.as_str()), ("Other.md", "[[Index]]\n![[Index#Part]]\n")];
    files.extend(names.iter().map(|name| (name.as_str(), "")));
    let fixture = ReceiptFixture::with(&files);
    for (kind, expected) in [("outgoing", 1..=100), ("unresolved", 101..=200)] {
        let mut args = json!({"path": "Index.md", "kinds": [kind], "limit": 60});
        let mut seen = Vec::new();
        loop {
            let page = fixture.call("vault.getLinks", &args, 300).await.receipt;
            let links = page.lines().filter_map(|line| line.split_once(": "));
            seen.extend(links.filter_map(|(line, _)| line.parse::<u32>().ok()));
            let Some(offset) = said(&page, "offset ") else { break };
            args["offset"] = offset.parse::<u64>().unwrap().into();
        }
        assert_eq!(seen, expected.collect::<Vec<u32>>());
    }
    let into = fixture.receipt("vault.getLinks", json!({"path": "Index.md", "kinds": ["backlinks"]})).await;
    expect![[r#"
        Index.md has 2 links in
        in:
        Other.md
        1: Index
        2: Index#Part (embed)"#]]
    .assert_eq(&into);
}

#[tokio::test]
async fn sizes_and_times_are_shown_when_asked_for() {
    let fixture = ReceiptFixture::with(&[("a.md", "12345"), ("Folder/b.md", "")]);
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_767_225_600);
    std::fs::File::open(fixture.folder.path().join("a.md")).unwrap().set_modified(time).unwrap();
    let plain = fixture.receipt("vault.listFiles", json!({})).await;
    assert_eq!(plain, "Found 2 entries\nFolder/\na.md");
    let details = fixture.receipt("vault.listFiles", json!({"details": true})).await;
    assert_eq!(details, "Found 2 entries\nFolder/\na.md  5 bytes  2026-01-01 00:00Z");
}

#[tokio::test]
async fn receipts_of_lists_cost_less_than_half_of_their_results() {
    let names: Vec<String> = (0..40).map(|n| format!("Projects/Garden/Meeting {n}.md")).collect();
    let text = "# Garden\nCall [[Ann]] about the garden and the seeds\n- [ ] dig the garden [[Soon]]\n";
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text)).collect();
    let fixture = ReceiptFixture::with(&files);
    for (tool, args) in [
        ("vault.listFiles", json!({"recursive": true})),
        ("vault.searchText", json!({"query": "garden"})),
        ("vault.getLinks", json!({})),
    ] {
        let mapped = fixture.call(tool, &args, 1_500).await;
        let canonical = serde_json::to_string(&mapped.canonical).unwrap();
        let count = receipts::preview::tokenizer::estimate;
        let (receipt, canonical) = (count(&mapped.receipt), count(&canonical));
        assert!(2 * receipt <= canonical, "{tool}: {receipt} of {canonical}");
    }
}

#[tokio::test]
async fn notes_whose_names_are_not_portable_are_shown_by_their_escaped_paths() {
    let fixture = ReceiptFixture::with(&[("a.md", ""), ("x: y.md", "[[a]]"), ("CON.png", "")]);
    let links = fixture.call("vault.getLinks", &json!({"path": "a.md"}), 500).await;
    expect![[r#"
        a.md has 0 links out, 1 links in, 0 that lead nowhere
        in:
        x\x3A y.md
        1: a"#]]
    .assert_eq(&links.receipt);
    let listed = fixture.receipt("vault.listFiles", json!({"recursive": true})).await;
    expect!["Found 3 entries\n\\x43ON.png\na.md\nx\\x3A y.md"].assert_eq(&listed);
    let moved =
        fixture.receipt("vault.rename", json!({"fromPath": "a.md", "toPath": "c.md", "dryRun": true})).await;
    assert!(moved.ends_with("Links would change in:\nx\\x3A y.md"), "{moved}");
}
