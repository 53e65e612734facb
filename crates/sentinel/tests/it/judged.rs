//! The decisions about calls and other blocks, by the tools of the request.

use std::sync::Arc;

use expect_test::{Expect, expect};
use sentinel::{AnswerParser, ParserVerdict, ToolNames};
use serde_json::Value;

/// A schema of sorts: `path` must be there and be a text.
fn needs_a_path(_name: &str, arguments: &Value) -> Result<(), String> {
    if arguments["path"].is_string() { Ok(()) } else { Err("`path` must be a string".to_owned()) }
}

#[track_caller]
fn check(tools: &[(&str, bool)], text: &str, expect: Expect) {
    let names: Arc<ToolNames> = Arc::new(tools.iter().map(|(name, strict)| (*name, *strict)).collect());
    let mut judge = AnswerParser::new(names, needs_a_path);
    let mut lines = Vec::new();
    let mut say = |verdict: ParserVerdict<'_>| {
        lines.push(match verdict {
            ParserVerdict::Text(text) => format!("text {text:?}"),
            ParserVerdict::Call { call, mismatch } => {
                let mismatch = mismatch.map(|why| format!(", although {why}")).unwrap_or_default();
                format!("call {} {}{mismatch}", call.name, call.arguments)
            }
            ParserVerdict::StrictFailure(failure) => {
                let name = failure.name.as_deref().unwrap_or("?");
                format!("failure of {name}: {}\n  {:?}", failure.reason, failure.raw)
            }
        });
    };
    judge.feed(text, &mut say);
    judge.finish(&mut say);
    lines.push(format!("{:?}", judge.counts()));
    expect.assert_eq(&(lines.join("\n") + "\n"));
}

const SOFT: [(&str, bool); 1] = [("read", false)];
const STRICT: [(&str, bool); 1] = [("read", true)];
const MIXED: [(&str, bool); 2] = [("read", true), ("write", false)];

const GOOD: &str = r#"a <tool_call>{"name":"read","arguments":"{\"path\":\"x\"}"}</tool_call> b"#;
const MISFIT: &str = r#"a <tool_call>{"name":"read","arguments":"{\"path\":1}"}</tool_call> b"#;
const UNKNOWN: &str = r#"a <tool_call>{"name":"delete","arguments":"{}"}</tool_call> b"#;
const REPAIRABLE: &str = r#"a <tool_call>{"name":"read","arguments":{"path":"x",}}</tool_call> b"#;
const MALFORMED: &str = r#"a <tool_call>{"name":"read","arguments":"{\"path\"}"}</tool_call> b"#;
const NAMELESS: &str = r#"a <tool_call>{name: "read"}</tool_call> b"#;
const TWICE: &str =
    r#"a <tool_call>{"name":"read","arguments":"{\"path\":\"x\",\"path\":\"y\"}"}</tool_call> b"#;
const CUT: &str = r#"a <tool_call>{"name":"read","arguments":"{\"path\":\"x"#;
const QUOTED: &str = r#"a `<tool_call>{"name":"read"}</tool_call>` b"#;

// Conformance: proxy 1.7
// Conformance: proxy 1.8
//     D5a: arguments that are not JSON are repaired once where that is safe, which is counted; otherwise the block is
//     text and no call.
//     In: sentinel/lib.rs, sentinel/json/repairs.rs
// Conformance: proxy 1.9
// Conformance: proxy 10.3
//     When a block is complete: JSON, a known name, arguments, then strict or soft.
//     In: sentinel/answer_parser.rs
// Conformance: proxy 11.1
// Conformance: proxy 13.2
//     1: invalid JSON inside a block.
//     In: sentinel/lib.rs
// Conformance: proxy 13.3
//     1: an unknown name.
//     In: sentinel/lib.rs
// Conformance: proxy 14.1
// Conformance: proxy 4.2
//     `name` is, byte for byte, a tool that this request allows.
//     In: sentinel/tool_names.rs
// Conformance: proxy 4.4
#[test]
fn a_tool_that_is_not_strict() {
    check(
        &SOFT,
        GOOD,
        expect![[r#"
        text "a "
        call read {"path":"x"}
        text " b"
        ParserCounts { calls: 1, repairs: 0, object_arguments: 0, malformed: 0, unknown_names: 0, soft_mismatches: 0, strict_failures: 0, quoted: 0 }
    "#]],
    );
    check(
        &SOFT,
        MISFIT,
        expect![[r#"
        text "a "
        call read {"path":1}, although `path` must be a string
        text " b"
        ParserCounts { calls: 1, repairs: 0, object_arguments: 0, malformed: 0, unknown_names: 0, soft_mismatches: 1, strict_failures: 0, quoted: 0 }
    "#]],
    );
    check(
        &SOFT,
        UNKNOWN,
        expect![[r#"
        text "a "
        text "<tool_call>{\"name\":\"delete\",\"arguments\":\"{}\"}</tool_call>"
        text " b"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 0, unknown_names: 1, soft_mismatches: 0, strict_failures: 0, quoted: 0 }
    "#]],
    );
    check(
        &SOFT,
        REPAIRABLE,
        expect![[r#"
        text "a "
        call read {"path":"x"}
        text " b"
        ParserCounts { calls: 1, repairs: 1, object_arguments: 1, malformed: 0, unknown_names: 0, soft_mismatches: 0, strict_failures: 0, quoted: 0 }
    "#]],
    );
    check(
        &SOFT,
        MALFORMED,
        expect![[r#"
        text "a "
        text "<tool_call>{\"name\":\"read\",\"arguments\":\"{\\\"path\\\"}\"}</tool_call>"
        text " b"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 1, unknown_names: 0, soft_mismatches: 0, strict_failures: 0, quoted: 0 }
    "#]],
    );
    check(
        &SOFT,
        NAMELESS,
        expect![[r#"
        text "a "
        text "<tool_call>{name: \"read\"}</tool_call>"
        text " b"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 1, unknown_names: 0, soft_mismatches: 0, strict_failures: 0, quoted: 0 }
    "#]],
    );
    check(
        &SOFT,
        TWICE,
        expect![[r#"
        text "a "
        text "<tool_call>{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"x\\\",\\\"path\\\":\\\"y\\\"}\"}</tool_call>"
        text " b"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 1, unknown_names: 0, soft_mismatches: 0, strict_failures: 0, quoted: 0 }
    "#]],
    );
    check(
        &SOFT,
        CUT,
        expect![[r#"
        text "a "
        text "<tool_call>{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"x"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 1, unknown_names: 0, soft_mismatches: 0, strict_failures: 0, quoted: 0 }
    "#]],
    );
    check(
        &SOFT,
        QUOTED,
        expect![[r#"
        text "a `<tool_call>{\"name\":\"read\"}</tool_call>` b"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 0, unknown_names: 0, soft_mismatches: 0, strict_failures: 0, quoted: 1 }
    "#]],
    );
}

// Conformance: proxy 1.7
// Conformance: proxy 1.10
// Conformance: proxy 10.3
// Conformance: proxy 11.1
//     Malformed JSON in a block: a failure when the tool is strict, text otherwise. A block whose name cannot be read
//     is a failure when any tool is strict.
//     In: sentinel/tool_names.rs
// Conformance: proxy 11.2
//     An unknown name: text. *Differs*: since it belongs to no tool, it is a failure only when every tool of the
//     request is strict.
//     In: sentinel/tool_names.rs
// Conformance: proxy 11.3
// Conformance: proxy 13.2
// Conformance: proxy 14.1
#[test]
fn a_strict_tool() {
    check(
        &STRICT,
        GOOD,
        expect![[r#"
        text "a "
        call read {"path":"x"}
        text " b"
        ParserCounts { calls: 1, repairs: 0, object_arguments: 0, malformed: 0, unknown_names: 0, soft_mismatches: 0, strict_failures: 0, quoted: 0 }
    "#]],
    );
    check(
        &STRICT,
        MISFIT,
        expect![[r#"
        text "a "
        failure of read: `path` must be a string
          "<tool_call>{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":1}\"}</tool_call>"
        text " b"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 0, unknown_names: 0, soft_mismatches: 0, strict_failures: 1, quoted: 0 }
    "#]],
    );
    check(
        &STRICT,
        UNKNOWN,
        expect![[r#"
        text "a "
        failure of delete: no tool is named `delete`; name one of the tools, letter by letter
          "<tool_call>{\"name\":\"delete\",\"arguments\":\"{}\"}</tool_call>"
        text " b"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 0, unknown_names: 1, soft_mismatches: 0, strict_failures: 1, quoted: 0 }
    "#]],
    );
    check(
        &STRICT,
        REPAIRABLE,
        expect![[r#"
        text "a "
        failure of read: the call would have to be repaired (a comma before a closing bracket), which a strict tool does not allow
          "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"x\",}}</tool_call>"
        text " b"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 1, unknown_names: 0, soft_mismatches: 0, strict_failures: 1, quoted: 0 }
    "#]],
    );
    check(
        &STRICT,
        MALFORMED,
        expect![[r#"
        text "a "
        failure of read: `arguments` does not hold JSON: at byte 7, a colon was expected
          "<tool_call>{\"name\":\"read\",\"arguments\":\"{\\\"path\\\"}\"}</tool_call>"
        text " b"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 1, unknown_names: 0, soft_mismatches: 0, strict_failures: 1, quoted: 0 }
    "#]],
    );
    check(
        &STRICT,
        NAMELESS,
        expect![[r#"
        text "a "
        failure of ?: the block is not JSON: at byte 1, a key in double quotes was expected
          "<tool_call>{name: \"read\"}</tool_call>"
        text " b"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 1, unknown_names: 0, soft_mismatches: 0, strict_failures: 1, quoted: 0 }
    "#]],
    );
    check(
        &STRICT,
        TWICE,
        expect![[r#"
        text "a "
        failure of read: `arguments` cannot be read: `path` is there twice at line 1 column 18
          "<tool_call>{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"x\\\",\\\"path\\\":\\\"y\\\"}\"}</tool_call>"
        text " b"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 1, unknown_names: 0, soft_mismatches: 0, strict_failures: 1, quoted: 0 }
    "#]],
    );
    check(
        &STRICT,
        CUT,
        expect![[r#"
        text "a "
        failure of read: the text ends inside the block; close it with `</tool_call>`
          "<tool_call>{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"x"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 1, unknown_names: 0, soft_mismatches: 0, strict_failures: 1, quoted: 0 }
    "#]],
    );
    check(
        &STRICT,
        QUOTED,
        expect![[r#"
        text "a `<tool_call>{\"name\":\"read\"}</tool_call>` b"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 0, unknown_names: 0, soft_mismatches: 0, strict_failures: 0, quoted: 1 }
    "#]],
    );
}

// Conformance: proxy 10.3
// Conformance: proxy 11.1
// Conformance: proxy 11.2
// Conformance: proxy 13.3
#[test]
fn a_strict_tool_beside_one_that_is_not() {
    check(
        &MIXED,
        MISFIT,
        expect![[r#"
        text "a "
        failure of read: `path` must be a string
          "<tool_call>{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":1}\"}</tool_call>"
        text " b"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 0, unknown_names: 0, soft_mismatches: 0, strict_failures: 1, quoted: 0 }
    "#]],
    );
    check(
        &MIXED,
        UNKNOWN,
        expect![[r#"
        text "a "
        text "<tool_call>{\"name\":\"delete\",\"arguments\":\"{}\"}</tool_call>"
        text " b"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 0, unknown_names: 1, soft_mismatches: 0, strict_failures: 0, quoted: 0 }
    "#]],
    );
    check(
        &MIXED,
        NAMELESS,
        expect![[r#"
        text "a "
        failure of ?: the block is not JSON: at byte 1, a key in double quotes was expected
          "<tool_call>{name: \"read\"}</tool_call>"
        text " b"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 1, unknown_names: 0, soft_mismatches: 0, strict_failures: 1, quoted: 0 }
    "#]],
    );
    check(
        &MIXED,
        r#"<tool_call>{"name":"write","arguments":"{]"}</tool_call>"#,
        expect![[r#"
        text "<tool_call>{\"name\":\"write\",\"arguments\":\"{]\"}</tool_call>"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 1, unknown_names: 0, soft_mismatches: 0, strict_failures: 0, quoted: 0 }
    "#]],
    );
}

// Conformance: proxy 4.1
#[test]
fn without_tools_everything_is_text() {
    check(
        &[],
        GOOD,
        expect![[r#"
        text "a "
        text "<tool_call>{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"x\\\"}\"}</tool_call>"
        text " b"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 0, unknown_names: 1, soft_mismatches: 0, strict_failures: 0, quoted: 0 }
    "#]],
    );
    check(
        &[],
        NAMELESS,
        expect![[r#"
        text "a "
        text "<tool_call>{name: \"read\"}</tool_call>"
        text " b"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 1, unknown_names: 0, soft_mismatches: 0, strict_failures: 0, quoted: 0 }
    "#]],
    );
}

#[test]
fn numbers_that_cannot_be_kept_are_no_call() {
    check(
        &SOFT,
        r#"<tool_call>{"name":"read","arguments":{"path":1e999}}</tool_call>"#,
        expect![[r#"
        text "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":1e999}}</tool_call>"
        ParserCounts { calls: 0, repairs: 0, object_arguments: 0, malformed: 1, unknown_names: 0, soft_mismatches: 0, strict_failures: 0, quoted: 0 }
    "#]],
    );
}
