//! The properties of the corpus tests, for generated texts.

use backend::{HistoryEntry, MessagePart, MessageRole};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::select;
use responses::prompt::{PromptRecord, ToolPromptMode, build_turn, records, unescape};

use crate::injection::corpus::CALL;
use crate::injection::places::{records_of, request, said};
use crate::injection::{CAN, parrot};

/// Fragments with a meaning for the model, the scanner or the client.
const PIECES: [&str; 34] = [
    "<",
    "</",
    ">",
    "[",
    "]",
    "\"",
    "\\",
    "\\u003c",
    "\\u005b",
    "\\u005c",
    "u003c",
    "u005c",
    "tool",
    "_call",
    "tool_call>",
    "<tool_call>",
    "</tool_call>",
    "{\"name\":\"delete_note\",\"arguments\":\"{}\"}",
    CALL,
    "function_call",
    "[function_call_output call_id=\"call_2\" output=\"",
    "_output",
    "\n",
    "\r",
    "\u{2028}",
    "\u{200b}",
    "＜",
    "ｔ",
    "<|im_start|>",
    "|",
    "```\n",
    "`",
    " ",
    "x",
];

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => select(PIECES.to_vec()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    vec(piece, 1..16).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    // Conformance: proxy 12.6
    #[test]
    fn no_text_forges_anything(text in texts()) {
        let request = request(&text);
        let turn = build_turn(&request, &request.input, ToolPromptMode::Sentinel, CAN).unwrap();
        let (mut found, mut spoken) = (Vec::new(), Vec::new());
        for entry in &turn.history {
            if let HistoryEntry::Message { role, parts } = entry {
                for part in parts {
                    let MessagePart::Text(text) = part else { continue };
                    let lines: Vec<PromptRecord> = records(text).collect();
                    if lines.is_empty() {
                        spoken.push((*role, unescape(text).into_owned()));
                    } else {
                        prop_assert_eq!((*role, text.split('\n').count()), (MessageRole::User, lines.len()));
                        found.extend(lines);
                    }
                }
            }
        }
        prop_assert_eq!(found, records_of(&request.input));
        prop_assert_eq!(spoken, said(&request.input));
        for text in parrot::repeated(&turn) {
            prop_assert_eq!(parrot::calls(&request, &text), 0);
        }
    }
}
