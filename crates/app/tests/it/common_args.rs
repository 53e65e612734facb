//! `note` and `requestId` on every tool of a vault.

use app::Toolset;
use serde_json::json;

// Conformance: tool 1.3
#[test]
fn every_tool_takes_a_note_and_a_request_id() {
    let tools = Toolset::without_vault().unwrap();
    let mut seen = 0;
    for (entry, _) in tools.surface.iter() {
        let (without, with) = (json!({}), json!({ "note": "why", "requestId": "r-1" }));
        assert_eq!(entry.check_args(&with), entry.check_args(&without), "{}", entry.decl.name);
        assert_eq!((entry.note(&with), entry.request_id(&with)), (Some("why"), Some("r-1")));
        seen += 1;
    }
    assert!(seen > 25, "{seen} tools");
}
