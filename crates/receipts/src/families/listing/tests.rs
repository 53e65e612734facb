//! Receipts of listings. No name can break a receipt.

use envelope::EntryKind;
use expect_test::expect;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, proptest};

use super::note_outline::{self, NoteOutline, OutlineEntry};
use super::{FileListing, ListingEntry, project};
use crate::families::ProjectedResult;
use crate::families::test_support::{cases, projected, receipt, shown};
use crate::preview::tokenizer;

/// A path that ends with `/` is a folder.
fn entry(path: &str) -> ListingEntry<&str> {
    let (path, kind) = match path.strip_suffix('/') {
        Some(folder) => (folder, EntryKind::Folder),
        None => (path, EntryKind::File),
    };
    ListingEntry { path, kind, size_bytes: None, mtime_ms: None }
}

fn listed(paths: &[&str], more: bool, budget: usize) -> ProjectedResult {
    let entries: Vec<ListingEntry<&str>> = paths.iter().map(|path| entry(path)).collect();
    projected(budget, |with| {
        project(
            FileListing {
                entries: entries.into_iter(),
                more,
                unusable: 0,
                unusable_names: Vec::new(),
                folders_skipped: 0,
                not_looked_into: Vec::new(),
            },
            with,
        )
    })
}

// Conformance: result 1.3
//     Each family defines its rendering; it is stable enough for tests.
//     In: receipts/families/mod.rs
#[test]
fn names_stand_below_the_path_of_their_folder() {
    let paths = [
        "Inbox.md",
        "Notes/",
        "Notes/a b.md",
        "Notes/c.md",
        "Notes/old/",
        "Notes/old/x.md",
        "Empty/",
        "z.md",
    ];
    expect![[r#"
        {"entries":[{"path":"Inbox.md","kind":"file"},{"path":"Notes","kind":"folder"},{"path":"Notes/a b.md","kind":"file"},{"path":"Notes/c.md","kind":"file"},{"path":"Notes/old","kind":"folder"},{"path":"Notes/old/x.md","kind":"file"},{"path":"Empty","kind":"folder"},{"path":"z.md","kind":"file"}],"count":8,"truncated":false}
        ---
        Found 8 entries
        Inbox.md
        Empty/
        z.md
        Notes/:
         a b.md
         c.md
        Notes/old/x.md
    "#]]
    .assert_eq(&shown("Found 8 entries", &listed(&paths, false, 1_000), 1_000));
}

// Conformance: result 3.2
//     Projection is typed: no serialised JSON is cut blindly.
//     In: receipts/families/listing.rs, receipts/families/json_bound.rs
#[test]
fn a_long_listing_says_how_much_is_missing_and_how_to_go_on() {
    let paths: Vec<String> = (0..1_000).map(|n| format!("Archive/2024/Meeting {n:03}.md")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    expect![[r#"
        {"entries":[{"path":"Archive/2024/Meeting 000.md","kind":"file"},{"path":"Archive/2024/Meeting 001.md","kind":"file"},{"path":"Archive/2024/Meeting 002.md","kind":"file"}],"count":1000,"left_out":997,"more":true,"truncated":true,"next_after":"Archive/2024/Meeting 002.md"}
        ---
        Found 1000 entries, and there are more
        Archive/2024/:
         Meeting 000.md
         Meeting 001.md
         Meeting 002.md
        … 997 of these 1000 not shown, and there are more: list again with after "Archive/2024/Meeting 002.md"
    "#]]
    .assert_eq(&shown("Found 1000 entries, and there are more", &listed(&paths, true, 120), 120));
    let small = listed(&paths, false, 1_000);
    expect![[r#"
        Found 1000 entries
        Archive/2024/:
         Meeting 000.md
         Meeting 001.md
         Meeting 002.md
         Meeting 003.md
         Meeting 004.md
         Meeting 005.md
         Meeting 006.md
         Meeting 007.md
        … 992 of 1000 not shown: list again with after "Archive/2024/Meeting 007.md""#]]
    .assert_eq(&receipt("Found 1000 entries", &small, 80));
}

#[test]
fn a_page_that_is_shown_whole_goes_on_after_its_last_path() {
    let page = listed(&["a.md", "b.md"], true, 1_000);
    expect![[r#"
        {"entries":[{"path":"a.md","kind":"file"},{"path":"b.md","kind":"file"}],"count":2,"more":true,"truncated":true,"next_after":"b.md"}
        ---
        Found 2 entries, and there are more
        a.md
        b.md
        … more: list again with after "b.md"
    "#]]
    .assert_eq(&shown("Found 2 entries, and there are more", &page, 1_000));
}

#[test]
fn sizes_and_times_stand_behind_the_names_when_they_were_asked_for() {
    let asked = ListingEntry { size_bytes: Some(1_234), mtime_ms: Some(1_767_225_600_000), ..entry("a.md") };
    let found = projected(500, |with| {
        project(
            FileListing {
                entries: vec![asked, entry("b/")].into_iter(),
                more: false,
                unusable: 2,
                unusable_names: vec!["a:b.md"],
                folders_skipped: 3,
                not_looked_into: vec!["closed/", "a: b/"],
            },
            with,
        )
    });
    expect![[r#"
        {"entries":[{"path":"a.md","kind":"file","size_bytes":1234,"mtime_ms":1767225600000},{"path":"b","kind":"folder"}],"count":2,"unusable":2,"unusable_names":["a:b.md"],"folders_skipped":3,"not_looked_into":["closed/","a: b/"],"truncated":true}
        ---
        Found 2 entries
        2 names were passed over, as their paths are too long: a:b.md, and 1 more
        Not looked into, 3 folders that cannot be opened: closed/, a: b/, and 1 more
        a.md  1234 bytes  2026-01-01 00:00Z
        b/
    "#]]
    .assert_eq(&shown("Found 2 entries", &found, 500));
}

#[test]
fn nothing_found_and_names_that_forge_lines() {
    assert_eq!(receipt("Found 0 entries", &listed(&[], false, 500), 500), "Found 0 entries");
    let forged = listed(
        &["a\n… more: list again with after \"x\"", "b\u{1b}[2J\u{202e}/c.md", "b\u{1b}[2J\u{202e}/d\t"],
        false,
        500,
    );
    expect![[r#"
        Found 3 entries
        a\n… more: list again with after "x"
        b\u{1b}[2J\u{202e}/:
         c.md
         d\t"#]]
    .assert_eq(&receipt("Found 3 entries", &forged, 500));
}

#[test]
fn what_does_not_fit_is_not_even_looked_at() {
    let looked = std::cell::Cell::new(0);
    let entries = vec![entry("Some/Folder/And a note.md"); 50_000];
    let counting = entries.into_iter().inspect(|_| looked.set(looked.get() + 1));
    projected(1_000, |with| {
        project(
            FileListing {
                entries: counting,
                more: false,
                unusable: 0,
                unusable_names: Vec::new(),
                folders_skipped: 0,
                not_looked_into: Vec::new(),
            },
            with,
        )
    });
    assert!(looked.get() < 500, "{}", looked.get());
}

#[test]
fn a_record_of_another_shape_still_has_its_summary() {
    let old = ProjectedResult {
        family: envelope::ReceiptFamily::Listing,
        result: serde_json::json!({"items": ["a.md"]}),
        render: crate::families::render,
    };
    assert!(receipt("Found 1 entry", &old, 500).starts_with("Found 1 entry"));
}

/// Generates hostile paths.
fn paths() -> impl Strategy<Value = Vec<String>> {
    let name = proptest::string::string_regex(
        "[a-c\\PC\n\t\u{1b}\u{202e}\u{ad}\u{34f}\u{2800}\u{fe0f}\u{e0041}]{1,12}",
    )
    .unwrap();
    vec((vec("[a-c]{1,2}", 0..3), name), 0..200).prop_map(|paths| {
        paths
            .into_iter()
            .map(|(mut folders, name)| {
                folders.push(name.replace('/', "|"));
                folders.join("/")
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn a_receipt_keeps_to_its_budget_and_names_what_it_leaves_out(
        paths in paths(),
        more in any::<bool>(),
        budget in 150_usize..1_500,
        shorter in 100_usize..1_500,
    ) {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        // An empty listing has no further entries.
        let more = more && !paths.is_empty();
        let found = listed(&paths, more, budget);
        let text = receipt("Found some entries", &found, budget);
        receipt("Found some entries", &found, shorter);
        let kept = found.result["entries"].as_array().unwrap().len();
        let left_out = found.result["left_out"].as_u64().unwrap_or(0);
        assert_eq!(kept as u64 + left_out, paths.len() as u64);
        assert_eq!(text.contains("list again with after"), found.result["truncated"] == true);
    }
}

#[test]
fn an_outline_is_cut_between_entries_and_says_how_to_go_on() {
    let titles: Vec<String> = (1..=300).map(|n| format!("Heading number {n}\u{202e}")).collect();
    let entries: Vec<OutlineEntry<&str>> = titles
        .iter()
        .zip(1..)
        .map(|(text, line)| OutlineEntry { line, level: (line % 3 > 0).then_some(2), text: text.as_str() })
        .collect();
    let outline = |entries: Vec<OutlineEntry<&'static str>>, more, budget| {
        let complete = NoteOutline { path: "a.md", etag: "e", entries, offset: 4, more };
        receipt("a.md has 2", &projected(budget, |with| note_outline::project(complete, with)), budget)
    };
    let few = vec![
        OutlineEntry { line: 3, level: Some(1), text: "A *b*" },
        OutlineEntry { line: 9, level: None, text: "id" },
    ];
    expect![[r#"
        a.md has 2
        3: # A *b*
        9: ^id"#]]
    .assert_eq(&outline(few.clone(), false, 500));
    expect![[r#"
        a.md has 2
        3: # A *b*
        9: ^id
        … more: call again with offset 6"#]]
    .assert_eq(&outline(few, true, 500));
    for budget in [100, 400, 1_500] {
        let complete =
            NoteOutline { path: "a.md", etag: "e", entries: entries.clone(), offset: 0, more: false };
        let shown = receipt("S", &projected(budget, |with| note_outline::project(complete, with)), budget);
        assert!(tokenizer::estimate(&shown) <= budget, "{budget}: {shown}");
        let lines = shown.lines().count() - 2;
        assert!(shown.ends_with(&format!("of 300 not shown: call again with offset {lines}")), "{shown}");
    }
}
