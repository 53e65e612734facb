//! Receipts of links and renames. No link can break a receipt.

use expect_test::expect;
use proptest::collection::vec;
use proptest::prelude::{any, proptest};

use super::renamed::{BrokenLink, RenameReport, UnwrittenFile};
use super::{LinkLine, LinkLists, project, renamed};
use crate::families::ProjectedResult;
use crate::families::test_support::{cases, projected, receipt, shown};

fn link<'a>(from_path: &'a str, to_path: Option<&'a str>, target: &'a str, line: u64) -> LinkLine<&'a str> {
    LinkLine { from_path, to_path, target, fragment: None, line, form: "wikilink" }
}

fn found(path: Option<&str>, links: [Vec<LinkLine<&str>>; 3], more: bool, budget: usize) -> ProjectedResult {
    let [outgoing, backlinks, unresolved] = links.map(Vec::into_iter);
    let path = path.map(str::to_owned);
    projected(budget, |with| {
        project(
            LinkLists { path, outgoing, backlinks, unresolved, offset: 0, more, not_looked_into: Vec::new() },
            with,
        )
    })
}

#[test]
fn each_kind_of_link_is_told_by_line_and_by_note() {
    let outgoing = vec![
        LinkLine { fragment: Some("Beds"), ..link("Plan.md", Some("Projects/Garden.md"), "Garden", 3) },
        LinkLine { form: "embed", ..link("Plan.md", Some("map.png"), "map.png", 9) },
    ];
    let backlinks = vec![
        link("Inbox.md", Some("Plan.md"), "Plan", 4),
        link("Inbox.md", Some("Plan.md"), "Plan", 7),
        link("Notes/Old.md", Some("Plan.md"), "Plan", 1),
    ];
    let found = found(
        Some("Plan.md"),
        [outgoing, backlinks, vec![link("Plan.md", None, "Nobody", 12)]],
        false,
        1_000,
    );
    expect![[r#"
        {"path":"Plan.md","outgoing":[{"from_path":"Plan.md","to_path":"Projects/Garden.md","target":"Garden","fragment":"Beds","line":3,"form":"wikilink"},{"from_path":"Plan.md","to_path":"map.png","target":"map.png","line":9,"form":"embed"}],"backlinks":[{"from_path":"Inbox.md","to_path":"Plan.md","target":"Plan","line":4,"form":"wikilink"},{"from_path":"Inbox.md","to_path":"Plan.md","target":"Plan","line":7,"form":"wikilink"},{"from_path":"Notes/Old.md","to_path":"Plan.md","target":"Plan","line":1,"form":"wikilink"}],"unresolved":[{"from_path":"Plan.md","target":"Nobody","line":12,"form":"wikilink"}],"truncated":false}
        ---
        Plan.md has 2 links out, 3 links in, 1 that lead nowhere
        out:
        3: Projects/Garden.md#Beds
        9: map.png (embed)
        in:
        Inbox.md
        4: Plan
        7: Plan
        Notes/Old.md
        1: Plan
        nowhere:
        12: Nobody
    "#]]
    .assert_eq(&shown("Plan.md has 2 links out, 3 links in, 1 that lead nowhere", &found, 1_000));
}

#[test]
fn each_kind_has_its_share_and_says_how_to_get_the_others() {
    let out: Vec<LinkLine<&str>> =
        (1..=300).map(|line| link("Index.md", Some("Notes/One.md"), "One", line)).collect();
    let into: Vec<LinkLine<&str>> =
        (1..=300).map(|line| link("Other.md", Some("Index.md"), "Index", line)).collect();
    let found = found(Some("Index.md"), [out, into, Vec::new()], false, 160);
    expect![[r#"
        Index.md has many links
        out:
        1: Notes/One.md
        2: Notes/One.md
        3: Notes/One.md
        4: Notes/One.md
        in:
        Other.md
        1: Index
        2: Index
        3: Index
        4: Index
        5: Index
        6: Index
        7: Index
        … 296 more links out: call again with kinds ["outgoing"], offset 4
        … 293 more links in: call again with kinds ["backlinks"], offset 7"#]]
    .assert_eq(&receipt("Index.md has many links", &found, 160));
}

#[test]
fn a_vault_without_dead_links_and_one_with_forged_ones() {
    let none = found(None, [Vec::new(), Vec::new(), Vec::new()], false, 500);
    assert_eq!(receipt("Found 0 links that lead nowhere", &none, 500), "Found 0 links that lead nowhere");
    let dead = vec![link("a\u{202e}.md", None, "x\nin:\nb.md", 2)];
    let dead = found(None, [Vec::new(), Vec::new(), dead], true, 500);
    expect![[r#"
        Found 1 link, and there are more
        a\u{202e}.md
        2: x\nin:\nb.md
        … more: call again with offset 1"#]]
    .assert_eq(&receipt("Found 1 link, and there are more", &dead, 500));
}

fn renamed<'a>() -> RenameReport<'a> {
    RenameReport {
        from_path: "Old.md",
        to_path: "Notes/New.md",
        etag: Some("b20ab0a020a48d349e0c64d109c441f8"),
        links_updated: Some(3),
        files_updated: 2,
        updated_in: vec!["Inbox.md", "Notes/Index.md"],
        ..RenameReport::default()
    }
}

// Conformance: result 1.3
#[test]
fn a_rename_tells_where_links_changed_and_what_is_left_to_do() {
    let done = projected(500, |with| renamed::project(renamed(), with));
    expect![[r#"
        {"from_path":"Old.md","to_path":"Notes/New.md","etag":"b20ab0a020a48d349e0c64d109c441f8","links_updated":3,"files_updated":2,"updated_in":["Inbox.md","Notes/Index.md"],"truncated":false}
        ---
        Renamed Old.md to Notes/New.md, updating 3 links in 2 files (etag b20ab0a020a48d349e0c64d109c441f8)
        Links updated in:
        Inbox.md
        Notes/Index.md
    "#]]
    .assert_eq(&shown("Renamed Old.md to Notes/New.md, updating 3 links in 2 files", &done, 500));
    let troubled = RenameReport {
        not_updated: vec![BrokenLink { path: "a.md", line: 4, target: "Old" }],
        not_written: vec![UnwrittenFile { path: "b.md", reason: "it is being\nchanged" }],
        mentioned_in: vec!["c.base"],
        not_looked_into: vec!["huge.md"],
        dry_run: true,
        ..renamed()
    };
    let troubled = projected(500, |with| renamed::project(troubled, with));
    expect![[r#"
        Would rename (etag b20ab0a020a48d349e0c64d109c441f8)
        Dry run: nothing was written.
        Not updated: a.md:4 links to Old and leads nowhere now
        Not written: b.md: it is being\nchanged
        Not looked into, may still have the old name:
        huge.md
        Mentioned, not rewritten:
        c.base
        Links would change in:
        Inbox.md
        Notes/Index.md"#]]
    .assert_eq(&receipt("Would rename", &troubled, 500));
}

#[test]
fn a_rename_with_many_notes_names_the_first_and_counts_the_others() {
    let notes: Vec<String> = (0..100).map(|n| format!("Meetings/Meeting {n:03}.md")).collect();
    let many = RenameReport {
        files_updated: 5_000,
        links_updated: Some(9_000),
        updated_in: notes.iter().map(String::as_str).collect(),
        ..renamed()
    };
    let many = projected(150, |with| renamed::project(many, with));
    expect![[r#"
        Renamed Old.md to Notes/New.md (etag b20ab0a020a48d349e0c64d109c441f8)
        Links updated in:
        Meetings/:
         Meeting 000.md
         Meeting 001.md
         Meeting 002.md
         Meeting 003.md
         Meeting 004.md
         Meeting 005.md
         Meeting 006.md
        … and 4993 more"#]]
    .assert_eq(&receipt("Renamed Old.md to Notes/New.md", &many, 150));
    assert_eq!(many.result["truncated"], true);
}

proptest! {
    #![proptest_config(cases(48))]

    // Conformance: result 5.6
    #[test]
    fn a_receipt_of_links_keeps_to_its_budget(
        links in vec(("[ab]{1,2}\\PC{0,3}[\n\u{202e}\u{ad}\u{34f}\u{2800}\u{fe0f}\u{e0041}]{0,1}", "\\PC{0,20}[\t\u{1b}]{0,1}", 1_u64..50, 0_usize..3), 0..150),
        more in any::<bool>(),
        own in any::<bool>(),
        // A budget for one link of each kind, which is always shown.
        budget in 350_usize..1_500,
        shorter in 350_usize..1_500,
    ) {
        let mut kinds = [Vec::new(), Vec::new(), Vec::new()];
        for (from, target, line, kind) in &links {
            kinds[*kind].push(link(from, (*kind < 2).then_some(target), target, *line));
        }
        let counts = kinds.each_ref().map(Vec::len);
        let found = found(own.then_some("ab"), kinds, more, budget);
        receipt("ab has some links", &found, budget);
        receipt("ab has some links", &found, shorter);
        for (kind, count) in ["outgoing", "backlinks", "unresolved"].into_iter().zip(counts) {
            let kept = found.result[kind].as_array().unwrap().len();
            let left_out = found.result[format!("{kind}_left_out")].as_u64().unwrap_or(0);
            assert_eq!(kept as u64 + left_out, count as u64);
        }
    }

    #[test]
    fn a_receipt_of_a_rename_keeps_to_its_budget(
        paths in vec("\\PC{1,20}[\n\u{202e}\u{ad}\u{34f}\u{2800}\u{fe0f}\u{e0041}]{0,1}", 0..300),
        budget in 150_usize..1_000,
        shorter in 100_usize..1_000,
    ) {
        let names: Vec<&str> = paths.iter().map(String::as_str).collect();
        let quarter = names.len() / 4;
        let complete = RenameReport {
            not_updated: names[..quarter].iter().map(|path| BrokenLink { path: *path, line: 1, target: *path }).collect(),
            not_looked_into: names[quarter..2 * quarter].to_vec(),
            updated_in: names[2 * quarter..].to_vec(),
            files_updated: (names.len() - 2 * quarter) as u64,
            ..renamed()
        };
        let done = projected(budget, |with| renamed::project(complete, with));
        receipt("Renamed Old.md to Notes/New.md", &done, budget);
        receipt("Renamed Old.md to Notes/New.md", &done, shorter);
    }
}
