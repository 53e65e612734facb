//! Listing: order, pages, and files that are created and removed between pages.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::support::{ChangeRecorder, HostileVault, at, put};
use envelope::{CallId, VaultPath};
use proptest::collection;
use proptest::prelude::{ProptestConfig, proptest};
use serde_json::{Value, json};
use toolkit::{CancelToken, Projection, Registry, ToolCx};
use vault::{ListStart, ListingQuery, Vault, register};

fn query(start: ListStart, limit: usize) -> ListingQuery {
    ListingQuery { folder: None, recursive: true, extensions: Vec::new(), start, limit }
}

/// Returns every path in the vault with a simple algorithm.
fn naive(base: &Path) -> Vec<String> {
    let (mut paths, mut todo) = (Vec::new(), vec![(base.to_owned(), String::new())]);
    while let Some((folder, prefix)) = todo.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name();
            let name = VaultPath::escape_name(name.as_encoded_bytes()).unwrap();
            if name.starts_with('.') {
                continue;
            }
            let path = format!("{prefix}{name}");
            if entry.file_type().unwrap().is_dir() {
                todo.push((entry.path(), format!("{path}/")));
            }
            paths.push(path);
        }
    }
    paths.sort_by(|a, b| a.split('/').cmp(b.split('/')));
    paths
}

fn listed(vault: &Vault, query: &ListingQuery) -> (Vec<String>, bool) {
    let listing = vault.list(query, &ChangeRecorder::default()).unwrap();
    (listing.entries.iter().map(|entry| entry.path.to_string()).collect(), listing.more)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    // Conformance: tool 2.2
    #[test]
    fn a_listing_is_the_sorted_tree_however_it_is_cut_into_pages(
        files in collection::btree_set(r"[a-c .!]{0,2}[a-c](/[a-d]{1,2}){0,3}", 0..60),
        limit in 1_usize..20,
    ) {
        let world = HostileVault::new();
        for path in &files {
            let path = world.inside(path);
            if std::fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.exists() {
                put(&path, "x");
            }
        }
        let expected = naive(&world.inside(""));
        assert_eq!(listed(&world.vault, &query(ListStart::Offset(0), 10_000)), (expected.clone(), false));
        let mut by_offset = Vec::new();
        let mut by_path = Vec::new();
        loop {
            let (page, more) = listed(&world.vault, &query(ListStart::Offset(by_offset.len() as u64), limit));
            by_offset.extend(page);
            let start = by_path.last().map_or(ListStart::Offset(0), |last: &String| ListStart::After(VaultPath::parse_escaped(last).unwrap()));
            let (page, more_by_path) = listed(&world.vault, &query(start, limit));
            by_path.extend(page);
            assert_eq!(more, more_by_path);
            if !more {
                break;
            }
        }
        assert_eq!(by_offset, expected);
        assert_eq!(by_path, expected);
    }
}

/// The tools on one folder.
struct ListingFixture(Registry);

impl ListingFixture {
    fn open(folder: &Path) -> ListingFixture {
        let mut registry = Registry::new();
        register(&mut registry, Some(Arc::new(Vault::open(folder).unwrap()))).unwrap();
        ListingFixture(registry)
    }

    async fn list(&self, args: Value) -> Value {
        let entry = self.0.get("vault.listFiles").unwrap();
        assert!(entry.input.validate(&args).is_empty());
        let cx = ToolCx::new(CallId::parse("call").unwrap(), CancelToken::new(), None);
        let mut args = entry.tool.decode(&args).unwrap();
        if let Err(fault) = entry.tool.validate(&cx, &mut args).await {
            return json!({"kind": fault.failure, "message": fault.message, "hint": fault.recovery_hint()});
        }
        match entry.tool.run(&cx, args).await {
            Ok(raw) => raw.map(Projection::new(1_000, None)).unwrap().data,
            Err(fault) => json!({"kind": fault.failure, "message": fault.message}),
        }
    }
}

fn paths(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|item| item["path"].as_str().unwrap()).collect()
}

// Conformance: tool 2.3
//     Pages stay in step while files come and go.
//     In: vault/files/page_marks.rs
#[tokio::test]
async fn pages_that_follow_each_other_stay_in_step_while_files_come_and_go() {
    let world = HostileVault::new();
    std::fs::remove_dir_all(world.inside("Notes")).unwrap();
    for n in 0..30 {
        put(&world.inside(&format!("{n:02}.md")), "x");
    }
    let fixture = ListingFixture::open(&world.inside(""));
    let mut seen = Vec::new();
    let mut offset = Some(0);
    let mut round = 0;
    while let Some(from) = offset {
        let page = fixture.list(json!({"offset": from, "limit": 10})).await;
        seen.extend(paths(&page).into_iter().map(str::to_owned));
        offset = page["nextOffset"].as_u64();
        round += 1;
        // Before, at and after the start of the next page.
        put(&world.inside(&format!("00 new {round}.md")), "x");
        put(&world.inside(&format!("{}9 new.md", round - 1)), "x");
        std::fs::remove_file(world.inside(&format!("0{round}.md"))).unwrap();
        std::fs::remove_file(world.inside(&format!("{}9.md", round - 1))).unwrap();
    }
    let stayed: BTreeSet<String> =
        (0..30).map(|n| format!("{n:02}.md")).filter(|path| world.inside(path).exists()).collect();
    let shown: BTreeSet<String> = seen.iter().cloned().collect();
    assert_eq!(shown.len(), seen.len(), "nothing is shown twice");
    assert!(stayed.is_subset(&shown), "everything that stayed is shown");
    assert_eq!(round, 3);
}

#[tokio::test]
async fn the_first_page_is_always_a_fresh_look_and_an_unknown_offset_is_counted() {
    let world = HostileVault::new();
    for name in ["a.md", "b.md", "c.md", "d.md"] {
        put(&world.inside(name), "x");
    }
    let fixture = ListingFixture::open(&world.inside(""));
    let first = json!({"limit": 2, "extensions": ["md"]});
    assert_eq!(paths(&fixture.list(first.clone()).await), ["a.md", "b.md"]);
    put(&world.inside("0.md"), "x");
    let next = json!({"limit": 2, "offset": 2, "extensions": ["md"]});
    assert_eq!(paths(&fixture.list(next.clone()).await), ["c.md", "d.md"]);
    assert_eq!(paths(&fixture.list(first).await), ["0.md", "a.md"]);
    let other = ListingFixture::open(&world.inside(""));
    assert_eq!(paths(&other.list(next).await), ["b.md", "c.md"]);
    let after = json!({"limit": 2, "after": "b.md", "extensions": ["md"]});
    let page = other.list(after).await;
    assert_eq!(paths(&page), ["c.md", "d.md"]);
    assert_eq!((&page["truncated"], page.get("nextOffset")), (&json!(false), None));
}

#[tokio::test]
async fn a_listing_goes_on_only_after_a_path_that_can_be_in_it() {
    let world = HostileVault::new();
    let fixture = ListingFixture::open(&world.inside(""));
    let refused = |message: &str| message.to_owned();
    let page = fixture.list(json!({"prefix": "Notes", "after": "Other/a.md"})).await;
    assert_eq!(
        page["message"],
        refused("the listing cannot go on after `Other/a.md`, which is not in `Notes`")
    );
    let page = fixture.list(json!({"prefix": "Notes", "after": "Notes"})).await;
    assert_eq!(page["message"], refused("the listing cannot go on after `Notes`, which is not in `Notes`"));
    let page = fixture.list(json!({"after": "a.md", "offset": 3})).await;
    assert_eq!(page["message"], refused("`offset` and `after` are two ways to say where a page begins"));
    let page = fixture.list(json!({"prefix": "Notes", "after": "Notes/gone/deep.md"})).await;
    assert_eq!(paths(&page), ["Notes/real.md"]);
}

#[tokio::test]
async fn a_link_is_listed_when_it_leads_into_the_vault_and_is_never_entered() {
    let world = HostileVault::new();
    world.link("../outside", "out");
    world.link("../outside/secret.md", "secret.md");
    world.link("Notes", "inside");
    world.link("Notes/real.md", "note.md");
    world.link(".", "loop");
    let fixture = ListingFixture::open(&world.inside(""));
    let page = fixture.list(json!({"recursive": true})).await;
    assert_eq!(paths(&page), ["Notes", "Notes/real.md", "inside", "note.md"]);
}

#[test]
fn a_page_of_many_entries_is_in_order_and_has_their_sizes() {
    let world = HostileVault::new();
    for folder in 0..40 {
        std::fs::create_dir(world.inside(&format!("{folder:02}"))).unwrap();
        for file in 0..60 {
            put(&world.inside(&format!("{folder:02}/{file:02}.md")), &"x".repeat(folder * 60 + file));
        }
    }
    let mut query = query(ListStart::Offset(0), 100_000);
    query.extensions = vec!["md".to_owned()];
    let listing = world.vault.list(&query, &ChangeRecorder::default()).unwrap();
    let sizes: Vec<u64> = listing.entries.iter().map(|entry| entry.size.unwrap()).collect();
    assert_eq!(sizes[..2_400], (0..2_400).collect::<Vec<u64>>());
    assert_eq!(listing.entries[2_400].path, at("Notes/real.md"));
    assert_eq!(listing.entries.len(), 2_401);
}
