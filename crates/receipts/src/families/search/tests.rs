//! Receipts of search results. No content can break a receipt.

use expect_test::expect;
use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use serde_json::{Value, json};

use super::{MatchEntry, SearchOutput, project};
use crate::families::ProjectedResult;
use crate::families::test_support::{cases, projected, receipt, shown};

fn found(matches: Vec<MatchEntry<&str>>, offset: u64, more: bool, budget: usize) -> ProjectedResult {
    let matches = matches.into_iter();
    let complete = SearchOutput {
        matches,
        offset,
        more,
        files_searched: 12,
        files_skipped: 0,
        folders_skipped: 0,
        not_looked_into: Vec::new(),
    };
    projected(budget, |with| project(complete, with))
}

fn at<'a>(path: &'a str, line: u64, snippet: &'a str) -> MatchEntry<&'a str> {
    MatchEntry { path, line, start: line * 40, end: line * 40 + 3, snippet }
}

// Conformance: result 1.3
#[test]
fn matches_stand_below_the_path_of_their_note() {
    let matches = vec![
        at("Inbox.md", 3, "- [ ] Buy seeds for the Garden"),
        at("Inbox.md", 4, "- call Ann, buy milk, BUY bread"),
        at("Inbox.md", 4, "- call Ann, buy milk, BUY bread"),
        at("Projects/Garden/Plan.canvas", 1, "{\"text\": \"buy a spade\"}"),
    ];
    expect![[r#"
        {"matches":[{"path":"Inbox.md","line":3,"start":120,"end":123,"snippet":"- [ ] Buy seeds for the Garden"},{"path":"Inbox.md","line":4,"start":160,"end":163,"snippet":"- call Ann, buy milk, BUY bread"},{"path":"Inbox.md","line":4,"start":160,"end":163,"snippet":"- call Ann, buy milk, BUY bread"},{"path":"Projects/Garden/Plan.canvas","line":1,"start":40,"end":43,"snippet":"{\"text\": \"buy a spade\"}"}],"count":4,"files_searched":12,"truncated":false}
        ---
        Found 4 matches; 12 files searched
        Inbox.md
        3: - [ ] Buy seeds for the Garden
        4: - call Ann, buy milk, BUY bread (2 matches)
        Projects/Garden/Plan.canvas:1: {"text": "buy a spade"}
    "#]]
    .assert_eq(&shown("Found 4 matches; 12 files searched", &found(matches, 0, false, 1_500), 1_500));
}

#[test]
fn many_matches_say_how_many_are_missing_and_how_to_go_on() {
    let matches: Vec<MatchEntry<&str>> =
        (1..=50_000).map(|line| at("Log.md", line, "an error again")).collect();
    let many = found(matches, 100, true, 130);
    expect![[r#"
        {"matches":[{"path":"Log.md","line":1,"start":40,"end":43,"snippet":"an error again"},{"path":"Log.md","line":2,"start":80,"end":83,"snippet":"an error again"},{"path":"Log.md","line":3,"start":120,"end":123,"snippet":"an error again"},{"path":"Log.md","line":4,"start":160,"end":163,"snippet":"an error again"},{"path":"Log.md","line":5,"start":200,"end":203,"snippet":"an error again"}],"count":50000,"left_out":49995,"offset":100,"more":true,"files_searched":12,"truncated":true,"next_offset":105}
        ---
        Found the first 50000 matches; there are more
        Log.md
        1: an error again
        2: an error again
        3: an error again
        4: an error again
        5: an error again
        … 49995 of these 50000 not shown, and there are more: search again with offset 105, or narrow it with paths
    "#]]
    .assert_eq(&shown("Found the first 50000 matches; there are more", &many, 130));
}

#[test]
fn nothing_found_and_snippets_that_forge_lines() {
    let nothing = found(Vec::new(), 0, false, 500);
    assert_eq!(
        receipt("Found nothing; 12 files searched", &nothing, 500),
        "Found nothing; 12 files searched"
    );
    let forged = found(vec![at("a\u{202e}.md", 1, "x\nb.md\n  2: \u{1b}[2J")], 0, false, 500);
    expect![[r#"
        Found 1 match; 1 file searched
        a\u{202e}.md:1: x\nb.md\n  2: \u{1b}[2J"#]]
    .assert_eq(&receipt("Found 1 match; 1 file searched", &forged, 500));
}

#[test]
fn files_that_were_passed_over_are_counted() {
    let matches = Vec::new().into_iter();
    let complete = SearchOutput {
        matches,
        offset: 0,
        more: false,
        files_searched: 3,
        files_skipped: 2,
        folders_skipped: 0,
        not_looked_into: Vec::new(),
    };
    let skipped = projected(500, |with| project(complete, with));
    expect!["Found nothing; 3 files searched, 2 skipped (no text)"].assert_eq(&receipt(
        "Found nothing; 3 files searched",
        &skipped,
        500,
    ));
}

#[test]
fn folders_that_cannot_be_opened_are_named_as_far_as_the_budget_allows() {
    let names: Vec<String> = (0..100).map(|n| format!("Private/Folder number {n}/")).collect();
    let folders = |matches: Vec<MatchEntry<&'static str>>, budget| {
        let complete = SearchOutput {
            matches: matches.into_iter(),
            offset: 0,
            more: false,
            files_searched: 3,
            files_skipped: 0,
            folders_skipped: 140,
            not_looked_into: names.iter().map(String::as_str).collect(),
        };
        let found = projected(budget, |with| project(complete, with));
        assert_eq!((&found.result["truncated"], &found.result["next_offset"]), (&json!(true), &Value::Null));
        receipt("Found 1 match", &found, budget)
    };
    expect![[r#"
        Found 1 match
        Not looked into, 140 folders that cannot be opened: Private/Folder number 0/, Private/Folder number 1/, Private/Folder number 2/, Private/Folder number 3/, and 136 more
        Inbox.md:3: seeds"#]].assert_eq(&folders(vec![at("Inbox.md", 3, "seeds")], 250));
    expect![[r#"
        Found 1 match
        Not looked into, 140 folders that cannot be opened
        Inbox.md:3: seeds"#]]
    .assert_eq(&folders(vec![at("Inbox.md", 3, "seeds")], 100));
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn a_receipt_keeps_to_its_budget_and_names_what_it_leaves_out(
        matches in vec(("[ab]{1,2}\\PC{0,3}[\n\u{202e}\u{ad}\u{34f}\u{2800}\u{fe0f}\u{e0041}]{0,1}", 1_u64..5, "[a-z\\PC\n\t\u{1b}]{0,60}"), 0..150),
        more in any::<bool>(),
        offset in 0_u64..1_000,
        // A budget for one match, which is always shown.
        budget in 250_usize..1_500,
        shorter in 250_usize..1_500,
    ) {
        let places: Vec<MatchEntry<&str>> = matches.iter().map(|(path, line, snippet)| at(path, *line, snippet)).collect();
        let all = places.len();
        let found = found(places, offset, more, budget);
        let text = receipt("Found some matches", &found, budget);
        receipt("Found some matches", &found, shorter);
        let kept = found.result["matches"].as_array().unwrap().len();
        assert_eq!(kept as u64 + found.result["left_out"].as_u64().unwrap_or(0), all as u64);
        assert_eq!(text.contains("search again with offset "), found.result["truncated"] == true);
    }
}
