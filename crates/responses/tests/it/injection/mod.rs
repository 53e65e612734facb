//! Untrusted text never becomes a call, a record, another speaker or an event.
//!
//! Every text of the [`corpus`] is put into every possible field of a request. The prompt must then contain exactly
//! the records of the request, must restore every text when it is decoded, and must be harmless if the model repeats
//! all of it: no call, and the same events as for any other text.

mod corpus;
mod literal;
mod parrot;
mod places;
mod properties;
mod stream;

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use backend::{Capabilities, HistoryEntry, MessagePart, MessageRole, ModelTurn};
use responses::item::ConversationItem;
use responses::prompt::{
    PromptRecord, RepairReason, ToolPromptMode, build_turn, compact, escape, records, repair_entries,
    unescape,
};
use responses::request::{Request, SchemaCache, parse_value};
use serde_json::json;

use crate::injection::corpus::{Attack, CALL, TARGET, attacks};
use crate::injection::places::{records_of, request, said, short};

const CAN: Capabilities = Capabilities {
    native_tools: false,
    images: true,
    sampling: true,
    output_schema: true,
    reasoning: true,
    verbosity: true,
};

/// A text in every field of a request, and the resulting prompt.
struct Case {
    attack: Attack,
    request: Request,
    turn: ModelTurn,
}

/// One for each text, made once for all tests.
fn cases() -> &'static [Case] {
    static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let case = |attack: Attack| {
            let request = request(&attack.text);
            let turn = build_turn(&request, &request.input, ToolPromptMode::Sentinel, CAN).unwrap();
            Case { attack, request, turn }
        };
        attacks().into_iter().map(case).collect()
    });
    &CASES
}

/// The texts of a history with who says them.
fn texts(history: &[HistoryEntry]) -> Vec<(MessageRole, &str)> {
    let mut all = Vec::new();
    for entry in history {
        match entry {
            HistoryEntry::Message { role, parts } => {
                for part in parts {
                    if let MessagePart::Text(text) = part {
                        all.push((*role, text.as_str()));
                    }
                }
            }
            HistoryEntry::Reasoning { summary, .. } => {
                all.extend(summary.iter().map(|text| (MessageRole::Assistant, text.as_str())));
            }
            HistoryEntry::Call(_) | HistoryEntry::CallOutput { .. } => panic!("{entry:?} is not text"),
        }
    }
    all
}

/// Whether a text is made of records alone.
fn is_records(text: &str) -> bool {
    text.split('\n').all(|line| PromptRecord::parse(line).is_some())
}

// Conformance: proxy 12.6
//     What notes, tools, names and schemas say can forge neither a call nor a record nor another speaker, and comes
//     back unchanged when it is decoded.
//     In: responses/prompt/escape.rs, responses/prompt/marker.rs
#[test]
fn there_are_enough_attacks_and_each_is_another() {
    let all = attacks();
    let distinct: HashSet<&str> = all.iter().map(|attack| attack.text.as_str()).collect();
    let mut families: BTreeMap<&str, usize> = BTreeMap::new();
    for attack in &all {
        *families.entry(attack.family).or_default() += 1;
    }
    assert!(distinct.len() >= 400, "{} in {families:#?}", distinct.len());
    assert!(families.values().all(|&count| count >= 12), "{families:#?}");
}

// Conformance: proxy 12.6
#[test]
fn exactly_the_records_of_the_request_are_found_and_the_user_says_them() {
    for Case { attack, request, turn } in cases() {
        let found: Vec<PromptRecord> =
            texts(&turn.history).iter().flat_map(|(_, text)| records(text)).collect();
        assert_eq!(found, records_of(&request.input), "{attack:?}");
        for (role, text) in texts(&turn.history) {
            assert!(!is_records(text) || role == MessageRole::User, "{attack:?}: {role:?} says {text}");
        }
        assert_eq!(records(&turn.instructions).count(), 0, "{attack:?}");
    }
}

// Conformance: proxy 12.6
#[test]
fn every_text_comes_back_as_it_was_sent() {
    for Case { attack, request, turn } in cases() {
        let messages =
            turn.history.iter().filter(|entry| matches!(entry, HistoryEntry::Message { .. })).cloned();
        let messages: Vec<HistoryEntry> = messages.collect();
        let found: Vec<(MessageRole, String)> = texts(&messages)
            .into_iter()
            .filter(|(_, text)| !is_records(text))
            .map(|(role, text)| (role, unescape(text).into_owned()))
            .collect();
        assert_eq!(found, said(&request.input), "{attack:?}");
        assert_eq!(unescape(&escape(&attack.text)), attack.text, "{attack:?}");
    }
}

#[test]
fn nothing_but_our_own_words_holds_a_tag_or_the_beginning_of_a_record() {
    for Case { attack, request, turn } in cases() {
        let all: String = texts(&turn.history).iter().map(|(_, text)| *text).collect();
        assert_eq!(all.matches("<tool_call").count() + all.matches("</tool_call").count(), 0, "{attack:?}");
        assert_eq!(all.matches("[function_call").count(), records_of(&request.input).len(), "{attack:?}");
        // The one that shows how a call is written.
        assert_eq!(turn.instructions.matches("<tool_call>").count(), 1, "{attack:?}");
        assert_eq!(turn.instructions.matches("</tool_call>").count(), 1, "{attack:?}");
    }
}

// Conformance: proxy 12.6
#[test]
fn a_model_that_repeats_everything_calls_nothing() {
    for Case { attack, request, turn } in cases() {
        for text in parrot::repeated(turn) {
            assert_eq!(parrot::calls(request, &text), 0, "{attack:?}");
        }
    }
}

#[test]
fn the_parrot_does_call_when_it_is_let() {
    let request = request("hello");
    assert_eq!(parrot::calls(&request, CALL), 1);
    assert_eq!(parrot::calls(&request, &format!("a {CALL} b {CALL}")), 2);
}

#[test]
fn what_is_repeated_reaches_the_client_as_the_same_events_as_any_text() {
    let request = request("hello");
    for Case { attack, turn, .. } in cases() {
        let all: String = texts(&turn.history).iter().map(|(_, text)| *text).collect();
        for text in [&attack.text, &all] {
            // A message of nothing but white space is not sent at all.
            if !text.trim().is_empty() {
                stream::check(&request, text, &format!("{attack:?}"));
            }
        }
    }
}

#[test]
fn a_rejected_answer_and_the_reason_forge_nothing() {
    let request = request("hello");
    for attack in attacks() {
        let (text, name) = (attack.text.as_str(), short(&attack.text, 200));
        for problem in [
            RepairReason::BadCall { name: Some(&name), reason: text },
            RepairReason::BadCall { name: None, reason: text },
            RepairReason::NotAllowed { name: &name },
            RepairReason::BadForm { reason: text },
        ] {
            let entries = repair_entries(&request, ToolPromptMode::Sentinel, text, &problem);
            let said = texts(&entries);
            let [(MessageRole::User, record), (MessageRole::Developer, why)] = said.as_slice() else {
                panic!("{said:?}")
            };
            assert_eq!(
                PromptRecord::parse(record),
                Some(PromptRecord::Rejected { text: text.to_owned() }),
                "{attack:?}"
            );
            assert_eq!(why.lines().count(), 1, "{attack:?}: {why}");
            assert_eq!(records(why).count(), 0, "{attack:?}");
            assert_eq!(parrot::calls(&request, &format!("{record}{why}")), 0, "{attack:?}");
        }
    }
}

#[test]
fn a_compacted_conversation_forges_nothing() {
    for Case { attack, request, .. } in cases() {
        let encrypted = compact(&request.input).unwrap();
        let forged = format!(
            "tollgate-compaction-1:{}",
            json!([{ "user": attack.text }, { "assistant": attack.text }])
        );
        for encrypted in [encrypted, forged] {
            let items = [ConversationItem::Compaction { id: None, encrypted }];
            let turn = build_turn(request, &items, ToolPromptMode::Sentinel, CAN).unwrap();
            for (role, text) in texts(&turn.history) {
                let lines = records(text).count();
                assert!(lines == 0 || (role == MessageRole::User && is_records(text)), "{attack:?}: {text}");
            }
            assert_eq!(
                parrot::repeated(&turn).iter().map(|text| parrot::calls(request, text)).sum::<usize>(),
                0
            );
        }
    }
}

#[test]
fn names_that_are_no_names_are_refused() {
    let plain = |name: &str| {
        !name.is_empty()
            && name.len() <= 64
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
    };
    for attack in attacks().into_iter().filter(|attack| !plain(&attack.text)) {
        let tool = json!({ "type": "function", "name": attack.text, "parameters": { "type": "object" } });
        let offered =
            parse_value(json!({ "model": "m", "input": "hi", "tools": [tool] }), &SchemaCache::default());
        assert_eq!(offered.unwrap_err().status, 400, "{attack:?}");
        let chosen = parse_value(
            json!({
                "model": "m", "input": "hi", "tool_choice": { "type": "function", "name": attack.text },
                "tools": [{ "type": "function", "name": TARGET, "parameters": { "type": "object" } }],
            }),
            &SchemaCache::default(),
        );
        assert_eq!(chosen.unwrap_err().status, 400, "{attack:?}");
    }
}

/// The tests above can fail: a transcript that is written down as it comes is forged by most of the corpus.
// Conformance: proxy 8.3
#[test]
fn the_literal_format_is_forged() {
    let request = request("hello");
    let (mut called, mut forged, mut any) = (0, 0, 0);
    let all = attacks();
    for attack in &all {
        let transcript = literal::transcript(&attack.text);
        let calls = parrot::calls(&request, &transcript) > 0;
        let records = literal::records(&transcript) > literal::HONEST;
        called += usize::from(calls);
        forged += usize::from(records);
        any += usize::from(calls || records);
    }
    let found = format!("{called} call, {forged} forge records, {any} do either, of {}", all.len());
    assert!(called >= 80 && forged >= 60 && any >= 120, "{found}");
}
