//! Looking at notes: listings, content, searches, links.

use serde_json::{Value, json};

use super::{CorpusCase, answered, etag};

pub(super) fn cases() -> Vec<CorpusCase> {
    [listings(), contents(), searches(), links()].into_iter().flatten().collect()
}

fn file(path: &str) -> Value {
    json!({ "path": path, "kind": "file" })
}

fn folder(path: &str) -> Value {
    json!({ "path": path, "kind": "folder" })
}

fn listings() -> Vec<CorpusCase> {
    let small = [
        folder("Harbour"),
        file("Harbour/Bar crossing.md"),
        file("Harbour/Ferry timetable.md"),
        folder("Harbour/Surveys"),
        file("Harbour/Surveys/2019.md"),
        file("Harbour/Surveys/2025.md"),
        file("Inbox.md"),
        file("Reading list.md"),
    ];
    let month = |n: usize| format!("Journal/{}/{:02}", 2023 + n / 120, 1 + n / 10 % 12);
    let large: Vec<Value> =
        (0..400).map(|n| file(&format!("{}/Day {:02} at the pier.md", month(n), 1 + n % 10 * 3))).collect();
    let detailed: Vec<Value> =
        ["Budget.xlsx", "Chart of the bar.pdf", "Gauge readings.csv", "Pier at dawn.jpg", "Plan.md"]
            .iter()
            .zip([18_442_u64, 2_904_113, 77_310, 4_120_988, 1_204])
            .map(|(name, size)| {
                json!({
                    "path": format!("Attachments/{name}"), "kind": "file", "sizeBytes": size,
                    "mtimeMs": 1_773_000_000_000_i64 + i64::try_from(size).unwrap_or_default() * 1_000,
                })
            })
            .collect();
    vec![
        answered(
            "a small folder",
            "vault.listFiles",
            json!({ "items": small, "truncated": false }),
            &[
                "8 entries",
                "Harbour/",
                "Bar crossing.md",
                "Ferry timetable.md",
                "Surveys",
                "2019.md",
                "2025.md",
                "Inbox.md",
                "Reading list.md",
            ],
        ),
        answered(
            "a journal of 400 days",
            "vault.listFiles",
            json!({ "items": large, "truncated": false }),
            &["400 entries", "Journal/2023/01/", "Day 01 at the pier.md", "not shown", "after \"Journal/"],
        ),
        answered(
            "a folder with sizes and times",
            "vault.listFiles",
            json!({ "items": detailed, "truncated": false, "details": true }),
            &[
                "5 entries",
                "Attachments/",
                "Budget.xlsx",
                "18442",
                "Pier at dawn.jpg",
                "4120988",
                "Plan.md",
                "1204",
            ],
        ),
    ]
}

fn read(path: &str, content: &str, start: usize, size: usize) -> Value {
    let end = start + content.len();
    json!({
        "path": path, "content": content, "etag": etag(path), "mtimeMs": 1_773_480_000_000_i64,
        "truncated": end < size, "encoding": "utf-8", "sizeBytes": size, "range": { "start": start, "end": end },
    })
}

fn contents() -> Vec<CorpusCase> {
    let (note, journal) = (include_str!("texts/inbox_note.txt"), include_str!("texts/long_note.txt"));
    vec![
        answered(
            "a short note",
            "vault.readFile",
            read("Inbox/Tide tables.md", note, 0, note.len()),
            &[
                "Inbox/Tide tables.md",
                "483 bytes",
                "etag",
                "tags: [inbox, reading]",
                "High water at the bar is 22 minutes after the pier; see [[Tides/Bar crossing]].",
                "| Bar   | 3.1 m      | \"do not cross on the ebb\" |",
            ],
        )
        .and(etag("Inbox/Tide tables.md")),
        answered(
            "a long note",
            "vault.readFile",
            read("Harbour/Journal.md", journal, 0, journal.len()),
            &[
                "Harbour/Journal.md",
                "15526 bytes",
                "etag",
                "# Harbour journal",
                "## 1. About the winter storm",
                "## 48. About the lifeboat",
            ],
        ),
        answered(
            "the beginning of a large file",
            "vault.readFile",
            read("Data/Gauge readings.csv", &"2026-03-14T08:00:00Z,pier,3.41,ok\n".repeat(20), 0, 2_117_400),
            &[
                "Data/Gauge readings.csv",
                "bytes 0 to 680 of 2117400",
                "etag",
                "pier,3.41,ok",
                "\"start\":680",
            ],
        ),
    ]
}

fn found(path: &str, line: u64, start: u64, length: u64, snippet: &str) -> Value {
    json!({ "path": path, "line": line, "start": start, "end": start + length, "snippet": snippet })
}

fn searches() -> Vec<CorpusCase> {
    let few = [
        found("Harbour/Bar crossing.md", 4, 118, 3, "Cross the bar two hours before high water"),
        found("Harbour/Bar crossing.md", 19, 802, 3, "In an easterly the bar breaks at half ebb"),
        found("Harbour/Pilots.md", 7, 311, 3, "The pilot boards outside the bar"),
        found("Inbox/Tide tables.md", 9, 170, 3, "High water at the bar is 22 minutes after the pier"),
    ];
    let many: Vec<Value> = (0_u64..300)
        .map(|n| {
            let note = format!("Journal/{}/Week {:02}.md", 2021 + n / 60, 1 + n / 3 % 20);
            let said = format!(
                "Reading of the gauge at {:02}:40 was {} cm, wind {}",
                n % 24,
                180 + n % 97,
                1 + n % 9
            );
            found(&note, 3 + n % 3 * 8, 40 + n % 3 * 400, 5, &said)
        })
        .collect();
    vec![
        answered(
            "four matches",
            "vault.searchText",
            json!({ "matches": few, "truncated": false, "filesSearched": 812, "filesSkipped": 3 }),
            &[
                "4 matches",
                "812 files",
                "3 skipped",
                "Harbour/Bar crossing.md",
                "4: Cross the bar two hours before high water",
                "19: In an easterly the bar breaks at half ebb",
                "Harbour/Pilots.md",
                "Inbox/Tide tables.md",
            ],
        ),
        answered(
            "300 matches and more",
            "vault.searchText",
            json!({ "matches": many, "truncated": true, "filesSearched": 640 }),
            &[
                "first 300 matches",
                "there are more",
                "Journal/2021/Week 01.md",
                "3: Reading of the gauge at 00:40 was 180 cm, wind 1",
                "with offset",
            ],
        ),
        answered(
            "no match",
            "vault.searchText",
            json!({ "matches": [], "truncated": false, "filesSearched": 812 }),
            &["Found nothing", "812 files"],
        ),
    ]
}

fn links() -> Vec<CorpusCase> {
    let link = |from: &str, to: &str, target: &str, line: u64| json!({ "fromPath": from, "toPath": to, "target": target, "line": line, "kind": "wikilink" });
    let own = "Harbour/Bar crossing.md";
    let outgoing = [
        link(own, "Harbour/Pilots.md", "Pilots", 7),
        link(own, "Harbour/Surveys/2025.md", "2025", 12),
        json!({
            "fromPath": own, "toPath": "Attachments/Chart of the bar.pdf", "target": "Chart of the bar.pdf",
            "line": 21, "kind": "embed",
        }),
    ];
    let backlinks = [
        link("Inbox/Tide tables.md", own, "Tides/Bar crossing", 9),
        link("Journal/2025/Week 08.md", own, "Bar crossing", 11),
        link("Journal/2025/Week 08.md", own, "Bar crossing", 30),
        link("Reading list.md", own, "Harbour/Bar crossing", 2),
    ];
    let nowhere = [json!({ "fromPath": own, "target": "Lifeboat", "line": 25, "kind": "wikilink" })];
    vec![answered(
        "the links of a note",
        "vault.getLinks",
        json!({
            "path": own, "outgoing": outgoing, "backlinks": backlinks, "unresolved": nowhere, "truncated": false,
        }),
        &[
            "Harbour/Bar crossing.md has 3 links out, 4 links in, 1 that lead",
            "7: Harbour/Pilots.md",
            "Harbour/Surveys/2025.md",
            "Attachments/Chart of the bar.pdf",
            "embed",
            "Inbox/Tide tables.md",
            "Journal/2025/Week 08.md",
            "30: ",
            "Reading list.md",
            "25: Lifeboat",
        ],
    )]
}
