//! Whatever a file looks like, every other byte of it stays.

use proptest::prelude::{Just, Strategy, prop, prop_oneof, proptest};
use serde_json::json;

use crate::connect::client::ClientKind;
use crate::connect::entry_edit::{EditOutcome, edit_entry};

/// Space of all kinds between two words.
pub(super) fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just(""),
        Just(" "),
        Just("\n  "),
        Just("\r\n\t"),
        Just(" /* a, } \" */ "),
        Just(" // b { ,\n"),
        Just("\n")
    ]
}

/// A list of members with all the ways to end it.
fn object(members: impl Strategy<Value = Vec<String>>) -> impl Strategy<Value = String> {
    (members, space(), space(), prop::bool::ANY).prop_map(|(members, before, after, comma)| {
        let comma = if comma && !members.is_empty() { "," } else { "" };
        format!("{{{before}{}{comma}{after}}}", members.join(&format!("{after},{before}")))
    })
}

/// Any JSON with comments whose servers, if it has any, are called `s0`, `s1` ...
fn document() -> impl Strategy<Value = String> {
    let plain = prop_oneof![
        Just("1"),
        Just("-2.5e3"),
        Just("null"),
        Just("\"a\\\"}//,\""),
        Just("[1,[],{},]"),
        Just("\"ü\"")
    ];
    let named = |prefix: &'static str, value: prop::strategy::BoxedStrategy<String>| {
        prop::collection::vec((space(), value, space()), 0..4).prop_map(move |values| {
            let member = |(number, (before, value, after)): (usize, (&str, String, &str))| {
                format!("\"{prefix}{number}\"{before}:{before}{value}{after}")
            };
            values.into_iter().enumerate().map(member).collect::<Vec<_>>()
        })
    };
    let leaf = plain.prop_map(str::to_owned).boxed();
    let inner = object(named("k", leaf.clone())).boxed();
    let servers = object(named("s", inner.clone()));
    let others = named("o", prop_oneof![leaf, inner].boxed());
    let members =
        (others, prop::option::of(servers), prop::bool::ANY).prop_map(|(mut members, servers, first)| {
            if let Some(servers) = servers {
                let at = if first { 0 } else { members.len() };
                members.insert(at, format!("\"mcpServers\": {servers}"));
            }
            members
        });
    (space(), object(members), space(), prop::bool::ANY).prop_map(|(before, text, after, bom)| {
        format!("{}{before}{text}{after}", if bom { "\u{feff}" } else { "" })
    })
}

/// Whether the new bytes are the old ones with one stretch put in.
fn is_one_insertion(old: &[u8], new: &[u8]) -> bool {
    let same = |a: &[u8], b: &[u8]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let ahead = same(old, new);
    let turned = |bytes: &[u8]| bytes.iter().rev().copied().collect::<Vec<_>>();
    ahead + same(&turned(old), &turned(new)) >= old.len()
}

proptest! {
    #[test]
    fn every_other_byte_stays_and_the_second_time_nothing_happens(text in document()) {
        let entry = json!({ "command": "/t", "args": ["mcp", "--vault", "/v \"x\""] });
        let edited = edit_entry(ClientKind::Cursor, &text, "tollgate", &entry);
        let Ok(EditOutcome::Changed { text: new, replaces: false }) = edited else { panic!("{edited:?}\n{text}") };
        let (old, bytes) = (text.as_bytes(), new.as_bytes());
        let comma = old.iter().zip(bytes).take_while(|(a, b)| a == b).count();
        let behind_comma = bytes.get(comma) == Some(&b',') && is_one_insertion(&old[comma..], &bytes[comma + 1..]);
        assert!(is_one_insertion(old, bytes) || behind_comma, "{text}\n---\n{new}");
        assert_eq!(edit_entry(ClientKind::Cursor, &new, "tollgate", &entry), Ok(EditOutcome::Unchanged));
    }

    #[test]
    fn nothing_makes_the_reader_crash(text in "[{}\\[\\]\",:/*a1\\\\ \n\u{feff}é]{0,40}") {
        let _read = edit_entry(ClientKind::Cursor, &text, "tollgate", &json!({}));
        let _read = edit_entry(ClientKind::Codex, &text, "tollgate", &json!({}));
    }
}
