//! Answers of tools of other servers.

use serde_json::{Value, json};

use super::super::foreign::{OwnedBlock, ServerReply};
use super::{CorpusCase, answered};

fn foreign(name: &'static str, blocks: Vec<OwnedBlock>, facts: &[&str]) -> CorpusCase {
    answered(name, "server.ask", serde_json::to_value(ServerReply { blocks }).unwrap_or_default(), facts)
}

pub(super) fn cases() -> Vec<CorpusCase> {
    let forecast = "Forecast for Port Isel, 14 March 2026\n\nMorning: W 4 to 5, showers, 6 °C\nAfternoon: NW 6, gusts of 32 kn, 8 °C\nNight: NW 4, clear, 3 °C\n\nWarning: gale at sea after 16:00\n";
    let issue = json!({
        "number": 482,
        "title": "Queue loses entries when the disk is full",
        "state": "open",
        "labels": ["bug", "storage"],
        "assignee": { "login": "mlind", "name": "Mara Lind" },
        "body": "Steps:\n1. fill the disk\n2. add an entry\n\nExpected: an error. Actual: the entry is \"sent\".",
        "comments": 3,
    });
    let answer = json!({ "rows": 3, "result": [
        { "id": 7, "name": "Pier", "range_m": 3.4 },
        { "id": 9, "name": "Bar", "range_m": 3.1 },
        { "id": 12, "name": "Mill pool", "range_m": 0.6 },
    ]});
    let pages: Vec<Value> = (1..=120)
        .map(|n| json!({ "id": format!("page-{n}"), "title": format!("Minutes of meeting {n}"), "views": n * 31 % 977, "archived": n % 9 == 0 }))
        .collect();
    vec![
        foreign(
            "text of a foreign tool",
            vec![OwnedBlock::Text { text: forecast.to_owned() }],
            &["Port Isel", "NW 6, gusts of 32 kn", "Warning: gale at sea after 16:00"],
        ),
        foreign(
            "JSON of a foreign tool",
            vec![OwnedBlock::Json { value: issue }],
            &[
                "482",
                "Queue loses entries when the disk is full",
                "open",
                "storage",
                "mlind",
                "Expected: an error.",
                "comments: 3",
            ],
        ),
        foreign(
            "JSON as text of a foreign tool",
            vec![OwnedBlock::Text { text: answer.to_string() }],
            &["Pier", "3.4", "Mill pool", "0.6"],
        ),
        foreign(
            "a long list of a foreign tool",
            vec![OwnedBlock::Json { value: json!({ "total": 120, "pages": pages }) }],
            &["120", "page-1", "Minutes of meeting 1", "artifacts/", "artifact_read"],
        ),
        foreign(
            "a picture of a foreign tool",
            vec![
                OwnedBlock::Text {
                    text: "Screenshot of https://harbour.example.org/tides at 1280x720".to_owned(),
                },
                OwnedBlock::Binary {
                    media_type: "image/png".to_owned(),
                    bytes: (0..=255).cycle().take(48_213).collect(),
                },
            ],
            &["https://harbour.example.org/tides", "image/png", "48213 bytes", "artifacts/"],
        ),
    ]
}
