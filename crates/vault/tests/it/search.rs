//! Search: matches, files, order, and files that are never read.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::support::{CANARY, ChangeRecorder, HostileVault, at, put};
use envelope::{CallId, Failure, Fault, VaultChange, VaultPath};
use expect_test::{Expect, expect};
use proptest::collection;
use proptest::prelude::{ProptestConfig, proptest};
use serde_json::{Value, json};
use toolkit::{CancelToken, ProgressSink, Projection, Registry, ToolCx};
use vault::{IoContext, QuerySyntax, SearchPattern, SearchQuery, SearchResults, Vault, register};

fn plain(text: &str) -> SearchQuery {
    SearchQuery {
        pattern: SearchPattern::compile(text, QuerySyntax::Plain, false).unwrap(),
        scopes: Vec::new(),
        extensions: Vec::new(),
        limit: 10_000,
        snippet_length: 120,
    }
}

fn pattern(text: &str) -> SearchQuery {
    SearchQuery { pattern: SearchPattern::compile(text, QuerySyntax::Regex, false).unwrap(), ..plain("x") }
}

fn within(mut query: SearchQuery, scopes: &[&str]) -> SearchQuery {
    query.scopes = scopes.iter().map(|path| Some(at(path))).collect();
    query
}

fn search(vault: &Vault, query: &SearchQuery) -> Result<SearchResults, Fault> {
    vault.search(query, &mut |_| {}, &ChangeRecorder::default())
}

fn shown(finds: Result<SearchResults, Fault>) -> String {
    let finds = match finds {
        Ok(finds) => finds,
        Err(fault) => return format!("{}: {} | {}\n", fault.failure, fault.message, fault.recovery_hint()),
    };
    let mut text = String::new();
    for found in &finds.matches {
        writeln!(text, "{}:{}:{}-{}: {}", found.path, found.line, found.start, found.end, found.snippet)
            .unwrap();
    }
    let more = if finds.more { ", more" } else { "" };
    writeln!(text, "{} searched, {} skipped{more}", finds.searched, finds.skipped).unwrap();
    text
}

#[track_caller]
fn check(world: &HostileVault, query: &SearchQuery, expected: &Expect) {
    expected.assert_eq(&shown(search(&world.vault, query)));
}

fn put_bytes(world: &HostileVault, path: &str, bytes: &[u8]) {
    std::io::Write::write_all(&mut std::fs::File::create(world.inside(path)).unwrap(), bytes).unwrap();
}

fn notes() -> HostileVault {
    let world = HostileVault::new();
    for folder in ["Projects", "Projects/Garden", "Projects-old"] {
        std::fs::create_dir(world.inside(folder)).unwrap();
    }
    put(
        &world.inside("Inbox.md"),
        "# Inbox\n\n- [ ] Buy seeds for the Garden\n- call Ann, buy milk, BUY bread\n",
    );
    put(&world.inside("Projects/Garden.md"), "The garden.\nTomatoes need sun.\n");
    put(&world.inside("Projects/Garden/Plan.canvas"), "{\"text\": \"buy a spade\"}");
    put(&world.inside("Projects-old/Café.md"), "Ein Café, größer als das CAFÉ nebenan\n");
    put(&world.inside(".hidden.md"), "buy nothing\n");
    world
}

// Conformance: tool 2.14
//     `vault.searchText` finds plain text and regular expressions in a scope, with line, bytes and snippet, bounded.
//     In: vault/files/search_text.rs
#[test]
fn every_match_has_its_line_and_its_bytes() {
    check(
        &notes(),
        &plain("buy"),
        &expect![[r#"
        Inbox.md:3:15-18: - [ ] Buy seeds for the Garden
        Inbox.md:4:52-55: - call Ann, buy milk, BUY bread
        Inbox.md:4:62-65: - call Ann, buy milk, BUY bread
        Projects/Garden/Plan.canvas:1:10-13: {"text": "buy a spade"}
        5 searched, 0 skipped
    "#]],
    );
}

#[test]
fn case_matters_when_it_is_asked_for_and_folds_beyond_ascii() {
    let world = notes();
    let pattern = SearchPattern::compile("BUY", QuerySyntax::Plain, true).unwrap();
    check(
        &world,
        &SearchQuery { pattern, ..plain("x") },
        &expect![[r#"
        Inbox.md:4:62-65: - call Ann, buy milk, BUY bread
        5 searched, 0 skipped
    "#]],
    );
    check(
        &world,
        &plain("café"),
        &expect![[r#"
        Projects-old/Café.md:1:4-9: Ein Café, größer als das CAFÉ nebenan
        Projects-old/Café.md:1:28-33: Ein Café, größer als das CAFÉ nebenan
        5 searched, 0 skipped
    "#]],
    );
}

#[test]
fn a_pattern_sees_lines_and_nothing_across_them() {
    let world = notes();
    check(
        &world,
        &pattern(r"^\s*- .*$"),
        &expect![[r#"
        Inbox.md:3:9-39: - [ ] Buy seeds for the Garden
        Inbox.md:4:40-71: - call Ann, buy milk, BUY bread
        5 searched, 0 skipped
    "#]],
    );
    check(
        &world,
        &pattern(r"garden\.\s*tomatoes"),
        &expect![[r#"
        5 searched, 0 skipped
    "#]],
    );
    check(
        &world,
        &pattern(r"x*"),
        &expect![[r#"
        Inbox.md:1:6-7: # Inbox
        Projects/Garden/Plan.canvas:1:4-5: {"text": "buy a spade"}
        5 searched, 0 skipped
    "#]],
    );
}

// Conformance: tool 2.14
#[test]
fn scopes_are_searched_once_and_in_order_however_they_are_given() {
    let world = notes();
    world.link("Projects/Garden", "link");
    let scopes = ["Projects/Garden/Plan.canvas", "Projects-old", "link", "Projects", "Inbox.md", "Inbox.md"];
    check(
        &world,
        &within(pattern("garden|buy|café"), &scopes),
        &expect![[r#"
        Inbox.md:3:15-18: - [ ] Buy seeds for the Garden
        Inbox.md:3:33-39: - [ ] Buy seeds for the Garden
        Inbox.md:4:52-55: - call Ann, buy milk, BUY bread
        Inbox.md:4:62-65: - call Ann, buy milk, BUY bread
        Projects/Garden/Plan.canvas:1:10-13: {"text": "buy a spade"}
        Projects/Garden.md:1:4-10: The garden.
        Projects-old/Café.md:1:4-9: Ein Café, größer als das CAFÉ nebenan
        Projects-old/Café.md:1:28-33: Ein Café, größer als das CAFÉ nebenan
        4 searched, 0 skipped
    "#]],
    );
    let mut query = within(plain("buy"), &["Inbox.md", "Projects"]);
    query.extensions = vec!["canvas".to_owned()];
    check(
        &world,
        &query,
        &expect![[r#"
        Projects/Garden/Plan.canvas:1:10-13: {"text": "buy a spade"}
        1 searched, 0 skipped
    "#]],
    );
    query.scopes.push(None);
    check(
        &world,
        &query,
        &expect![[r#"
        Projects/Garden/Plan.canvas:1:10-13: {"text": "buy a spade"}
        1 searched, 0 skipped
    "#]],
    );
}

#[test]
fn a_scope_that_is_not_there_is_told_with_the_nearest() {
    let world = notes();
    check(
        &world,
        &within(plain("x"), &["Projets"]),
        &expect![[r#"
        not_found: `Projets` does not exist | did you mean `Projects`?
    "#]],
    );
    check(
        &world,
        &within(plain("x"), &["Inbox.md/deeper"]),
        &expect![[r#"
        precondition_failed: `Inbox.md` is a file, so nothing can be below it | name a folder, or leave out what follows the file
    "#]],
    );
    check(
        &world,
        &within(plain("x"), &[".obsidian"]),
        &expect![[r#"
        sandbox_violation: `.obsidian` lies in `.obsidian`, which belongs to another program or to Tollgate itself | use a path outside .obsidian, .git, .trash and .tollgate
    "#]],
    );
}

#[test]
fn only_text_is_searched_and_bytes_count_from_the_start_of_the_file() {
    let world = HostileVault::new();
    put_bytes(&world, "bom.md", b"\xef\xbb\xbfneedle first\nthen needle\n");
    put_bytes(&world, "crlf.md", b"one\r\nneedle\r\nthree needle\r\n");
    put_bytes(&world, "image.png", b"\x89PNG\r\n\0needle");
    put_bytes(
        &world,
        "late.bin",
        &[b"needle\n".to_vec(), b"filler\n".repeat(30_000), b"\0".to_vec()].concat(),
    );
    put_bytes(&world, "latin1.md", b"caf\xe9 needle\n");
    put_bytes(&world, "utf16.txt", b"\xff\xfen\0e\0e\0d\0l\0e\0");
    put_bytes(&world, "empty.md", b"");
    check(
        &world,
        &pattern("^needle$|needle"),
        &expect![[r#"
        bom.md:1:3-9: needle first
        bom.md:2:21-27: then needle
        crlf.md:2:5-11: needle
        crlf.md:3:19-25: three needle
        latin1.md:1:5-11: caf� needle
        5 searched, 3 skipped
    "#]],
    );
    check(
        &world,
        &pattern("^needle"),
        &expect![[r#"
            bom.md:1:3-9: needle first
            crlf.md:2:5-11: needle
            5 searched, 3 skipped
        "#]],
    );
}

#[test]
fn a_long_line_is_searched_and_an_endless_one_is_passed_over() {
    let world = HostileVault::new();
    let long = format!("short\n{} needle {}\nneedle again\n", "x".repeat(300_000), "é".repeat(100_000));
    put(&world.inside("long.md"), &long);
    put(&world.inside("endless.json"), &"needle ".repeat(3 << 20));
    let mut query = plain("needle");
    query.snippet_length = 20;
    check(
        &world,
        &query,
        &expect![[r#"
        long.md:2:300007-300013: …xxxxxx needle éééééé…
        long.md:3:500015-500021: needle again
        2 searched, 1 skipped
    "#]],
    );
}

// Conformance: tool 2.14
#[test]
fn the_first_matches_in_order_are_the_same_whatever_the_limit() {
    let world = HostileVault::new();
    for n in 0..1_500 {
        let folder = world.inside(&format!("{:02}", n / 100));
        std::fs::create_dir_all(&folder).unwrap();
        put(&folder.join(format!("{:02}.md", n % 100)), &format!("note {n}\nneedle\nneedle needle\n"));
    }
    let all = search(&world.vault, &plain("needle")).unwrap();
    assert_eq!((all.matches.len(), all.searched, all.more), (4_500, 1_501, false));
    for limit in [1, 2, 3, 50, 4_499, 4_500] {
        for _ in 0..3 {
            let mut heard = 0;
            let some = world
                .vault
                .search(
                    &SearchQuery { limit, ..plain("needle") },
                    &mut |finds| {
                        assert!(finds.matches.len() >= heard, "matches are told in order");
                        heard = finds.matches.len();
                    },
                    &ChangeRecorder::default(),
                )
                .unwrap();
            assert_eq!(some.matches, all.matches[..limit]);
            assert_eq!(some.more, limit < 4_500);
            let read = if some.more { limit as u64 / 3 + 1 } else { 1_501 };
            assert_eq!(some.searched, read, "limit {limit}");
        }
    }
}

/// Cancels a search after this many checks.
struct CancelledSearch(AtomicU64);

impl IoContext for CancelledSearch {
    fn record_change(&self, _change: VaultChange) {}

    fn check_cancelled(&self) -> Result<(), Fault> {
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
            Ok(_) => Ok(()),
            Err(_) => Err(Fault::new(Failure::Canceled, "stopped: the run was cancelled")),
        }
    }
}

#[test]
fn a_cancelled_search_ends_with_the_cause_also_inside_a_large_file() {
    let world = HostileVault::new();
    put(&world.inside("large.md"), &"nothing of interest\n".repeat(500_000));
    for patience in [0, 1, 2, 10] {
        let witness = CancelledSearch(AtomicU64::new(patience));
        let fault = world.vault.search(&plain("needle"), &mut |_| {}, &witness).unwrap_err();
        assert_eq!(
            (fault.failure, fault.message.as_str()),
            (Failure::Canceled, "stopped: the run was cancelled")
        );
    }
}

#[test]
fn nothing_outside_the_vault_is_read_through_a_link() {
    let world = HostileVault::new();
    world.link("../outside", "out");
    world.link("../outside/secret.md", "secret.md");
    world.link("../../vault-evil/secret.md", "Notes/secret.md");
    world.link(".obsidian/app.json", "settings.json");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        world.inside("pipe.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let finds = search(&world.vault, &plain(CANARY)).unwrap();
    assert_eq!(finds, SearchResults { searched: 1, ..SearchResults::default() });
    for scope in ["out", "secret.md", "settings.json", "Notes/secret.md"] {
        let fault = search(&world.vault, &within(plain(CANARY), &[scope])).unwrap_err();
        assert_eq!(fault.failure, Failure::SandboxViolation, "{scope}");
    }
    world.assert_outside_untouched();
}

#[test]
fn an_expression_that_explodes_elsewhere_takes_no_more_than_a_moment() {
    let world = HostileVault::new();
    put(&world.inside("a.md"), &format!("{}\n", "a".repeat(50_000)));
    for hostile in [r"(a*)*b", r"(a|aa)+$x", r"(a|a|a|a)*c", r"(.*)(.*)(.*)(.*)[^a]", r"(?:a?){200}a{200}b"] {
        let finds = search(&world.vault, &within(pattern(hostile), &["a.md"])).unwrap();
        assert_eq!(finds.matches, Vec::new(), "{hostile}");
    }
}

/// Returns line, start and end of every match with a simple algorithm.
fn naive(text: &str, needle: &str) -> Vec<(u64, u64, u64)> {
    let mut found = Vec::new();
    let mut offset = 0;
    for (number, line) in text.split('\n').enumerate() {
        let content = line.strip_suffix('\r').unwrap_or(line);
        let mut from = 0;
        while let Some(place) = content[from..].find(needle) {
            let start = offset + from + place;
            found.push((number as u64 + 1, start as u64, (start + needle.len()) as u64));
            from += place + needle.len();
        }
        offset += line.len() + 1;
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    // Conformance: tool 2.14
    #[test]
    fn a_search_finds_what_a_scan_line_by_line_finds(
        texts in collection::vec("[abAé \n\r]{0,60}", 1..12),
        repeat in 1_usize..4_000,
        needle in "[abAé ]{1,3}",
        case_sensitive: bool,
    ) {
        let world = HostileVault::new();
        std::fs::remove_file(world.inside("Notes/real.md")).unwrap();
        let mut expected: Vec<(VaultPath, (u64, u64, u64))> = Vec::new();
        for (n, text) in texts.iter().enumerate() {
            // The last one is longer than a chunk, so that lines cross the ends of chunks.
            let text = if n == texts.len() - 1 { text.repeat(repeat) } else { text.clone() };
            let path = at(&format!("{n:02}.md"));
            put(&world.inside(path.as_str()), &text);
            let found = if case_sensitive {
                naive(&text, &needle)
            } else {
                naive(&text.to_lowercase(), &needle.to_lowercase())
            };
            expected.extend(found.into_iter().map(|place| (path.clone(), place)));
        }
        let pattern = SearchPattern::compile(&needle, QuerySyntax::Plain, case_sensitive).unwrap();
        let query = SearchQuery { pattern, limit: 1_000_000, snippet_length: 10, ..plain("x") };
        let finds = search(&world.vault, &query).unwrap();
        assert_eq!(finds.searched, texts.len() as u64);
        let found: Vec<_> =
            finds.matches.into_iter().map(|found| (at(&found.path), (found.line, found.start, found.end))).collect();
        if finds.more {
            // Cut at the size of a result.
            assert!(found.len() > 10_000);
            assert_eq!(found[..], expected[..found.len()]);
        } else {
            assert_eq!(found, expected);
        }
    }
}

/// The tool on one folder, as a model uses it: JSON in; the output or the fault, and the receipt out.
async fn call(folder: &std::path::Path, args: Value) -> (Value, String, Vec<String>) {
    let mut registry = Registry::new();
    register(&mut registry, Some(Arc::new(Vault::open(folder).unwrap()))).unwrap();
    let entry = registry.get("vault.searchText").unwrap();
    let problems = entry.input.validate(&args);
    assert!(problems.is_empty(), "{problems:?}");
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = told.clone();
    let progress: ProgressSink =
        Arc::new(move |at| sink.lock().unwrap().push(format!("{}: {}", at.done, at.message)));
    let cx = ToolCx::new(CallId::parse("call").unwrap(), CancelToken::new(), Some(progress));
    let result = async {
        let mut args = entry.tool.decode(&args)?;
        entry.tool.validate(&cx, &mut args).await?;
        let mapped = entry.tool.run(&cx, args).await?.map(Projection::new(1_000, None))?;
        let problems = entry.output.validate(&mapped.data);
        assert!(problems.is_empty(), "{problems:?}");
        Ok((mapped.data, mapped.receipt))
    };
    let (output, receipt) = result.await.unwrap_or_else(|fault: Fault| {
        (json!({"kind": fault.failure, "message": fault.message}), fault.recovery_hint().to_owned())
    });
    let told = told.lock().unwrap().clone();
    (output, receipt, told)
}

#[tokio::test]
async fn a_model_gets_places_it_can_read_and_change_and_a_short_receipt() {
    let world = notes();
    let (output, receipt, told) = call(&world.inside(""), json!({"query": "buy", "limit": 2})).await;
    expect![[r#"
        {
          "matches": [
            {
              "path": "Inbox.md",
              "line": 3,
              "start": 15,
              "end": 18,
              "snippet": "- [ ] Buy seeds for the Garden"
            },
            {
              "path": "Inbox.md",
              "line": 4,
              "start": 52,
              "end": 55,
              "snippet": "- call Ann, buy milk, BUY bread"
            }
          ],
          "truncated": true,
          "filesSearched": 1
        }
        Found the first 2 matches; there are more
        Inbox.md
        3: - [ ] Buy seeds for the Garden
        4: - call Ann, buy milk, BUY bread
        … more: search again with offset 2, or narrow it with paths
        []
    "#]]
    .assert_eq(&format!("{output:#}\n{receipt}\n{told:?}\n"));
    let (output, receipt, _) =
        call(&world.inside(""), json!({"query": "buy", "paths": ["Projects/"], "caseSensitive": true})).await;
    expect![[r#"
        {"matches":[{"path":"Projects/Garden/Plan.canvas","line":1,"start":10,"end":13,"snippet":"{\"text\": \"buy a spade\"}"}],"truncated":false,"filesSearched":2}
        Found 1 match; 2 files searched
        Projects/Garden/Plan.canvas:1: {"text": "buy a spade"}
    "#]].assert_eq(&format!("{output}\n{receipt}\n"));
    let (output, receipt, _) = call(&world.inside(""), json!({"query": "nowhere to be found"})).await;
    expect![[r#"
        {"matches":[],"truncated":false,"filesSearched":5}
        Found nothing; 5 files searched
    "#]]
    .assert_eq(&format!("{output}\n{receipt}\n"));
}

#[tokio::test]
async fn bad_arguments_are_told_before_anything_is_read() {
    let world = notes();
    for (args, message) in [
        (
            json!({"query": "a(", "mode": "regex"}),
            "the regular expression is wrong at character 2: unclosed group",
        ),
        (json!({"query": "a\nb"}), "the query contains a line break, and a match never crosses lines"),
        (
            json!({"query": "a", "paths": ["../x"]}),
            "`../x` is not a path inside the vault: it contains `.` or `..`; name the folder itself",
        ),
        (json!({"query": "a", "paths": ["Nope"]}), "`Nope` does not exist"),
    ] {
        assert_eq!(call(&world.inside(""), args).await.0["message"], message);
    }
}

#[tokio::test]
async fn how_far_a_search_has_come_is_told_by_the_count_of_files() {
    let world = HostileVault::new();
    for n in 0..5_000 {
        put(&world.inside(&format!("{n:04}.md")), if n == 1_234 { "needle" } else { "hay" });
    }
    let (_, _, told) = call(&world.inside(""), json!({"query": "needle"})).await;
    assert_eq!(
        told,
        [
            "1235: 1 match so far, in 1234.md",
            "2000: 1 match so far, in 1234.md",
            "4000: 1 match so far, in 1234.md"
        ]
    );
}

#[tokio::test]
async fn notes_whose_names_are_not_portable_are_searched_and_named() {
    let world = HostileVault::new();
    std::fs::create_dir(world.inside("a: folder")).unwrap();
    std::fs::create_dir(world.inside(".git\u{200e}")).unwrap();
    for path in [
        "x: y.md",
        "a: folder/plain.md",
        "back\\slash.md",
        "CON.md",
        " space.md",
        "dot.md.",
        ".git\u{200e}/no.md",
    ] {
        put(&world.inside(path), "a seed for [[real]]\n");
    }
    put_bytes(&world, "plain.md", b"a seed");
    let finds = search(&world.vault, &plain("seed")).unwrap();
    let paths: Vec<&str> = finds.matches.iter().map(|found| &*found.path).collect();
    assert_eq!(
        paths,
        [
            r"\x20space.md",
            r"\x43ON.md",
            r"a\x3A folder/plain.md",
            r"back\x5Cslash.md",
            r"dot.md\x2E",
            "plain.md",
            r"x\x3A y.md",
        ]
    );
    let only_notes = SearchQuery { extensions: vec!["md".to_owned()], ..plain("seed") };
    assert_eq!(search(&world.vault, &only_notes).unwrap().matches.len(), 6);
    let (data, receipt, _) = call(&world.inside(""), json!({"query": "seed"})).await;
    assert_eq!(data["matches"][6]["path"], r"x\x3A y.md");
    assert!(receipt.contains("\nx\\x3A y.md:1: a seed"), "{receipt}");
    world.assert_outside_untouched();
}
