//! Blocks whose JSON is wrong.

use expect_test::expect;

use super::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    [broken_blocks(), broken_values()].into_iter().flatten().collect()
}

/// Blocks whose JSON is wrong.
fn broken_blocks() -> Vec<Case> {
    vec![
        case(
            "no JSON",
            "Write <tool_call>{...}</tool_call> to call.",
            expect![[r#"
            text "Write "
            rejected "<tool_call>{...}</tool_call>" of ?: the block is not JSON: at byte 1, a key in double quotes was expected
            text " to call."
        "#]],
        ),
        case(
            "single quotes",
            "<tool_call>{'name':'f'}</tool_call>",
            expect![[r#"
            rejected "<tool_call>{'name':'f'}</tool_call>" of ?: the block is not JSON: at byte 1, a key in double quotes was expected
        "#]],
        ),
        case(
            "a broken block, then a good one",
            r#"<tool_call>{"name":"f","arguments":{"a":}}</tool_call> so <tool_call>{"name":"f"}</tool_call>."#,
            expect![[r#"
                rejected "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":}}</tool_call>" of f: the block is not JSON: at byte 29, a value was expected
                text " so "
                call f {}
                text "."
            "#]],
        ),
        case(
            "a quote too few, then a good block",
            r#"<tool_call>{"name":"f","arguments":"{\"a\":1}}</tool_call>
<tool_call>{"name":"f","arguments":"{\"a\":2}"}</tool_call>."#,
            expect![[r#"
                rejected "<tool_call>{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}}</tool_call>" of f: the block is not JSON: at byte 61, a comma or a closing bracket was expected
                text "\n"
                call f {"a":2}
                text "."
            "#]],
        ),
        case(
            "two broken blocks, then a good one",
            r#"<tool_call>{"name":"f</tool_call><tool_call>{"name":"f</tool_call><tool_call>{"name":"f"}</tool_call>"#,
            expect![[r#"
                rejected "<tool_call>{\"name\":\"f</tool_call>" of ?: the block is not JSON: at byte 35, a comma or a closing bracket was expected
                rejected "<tool_call>{\"name\":\"f</tool_call>" of ?: the block is not JSON: at byte 35, a comma or a closing bracket was expected
                call f {}
            "#]],
        ),
        case(
            "a quote too few at the end",
            r#"<tool_call>{"name":"f}</tool_call> bye"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f}</tool_call>" of ?: the block is not JSON: at byte 11, the JSON is not complete before the close tag
            text " bye"
        "#]],
        ),
        case(
            "text behind the object",
            r#"<tool_call>{"name":"f"} please</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\"} please</tool_call>" of f: the block is not JSON: at byte 13, nothing but the end was expected behind the object
        "#]],
        ),
        case(
            "two objects",
            r#"<tool_call>{"name":"f"}{"name":"f"}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\"}{\"name\":\"f\"}</tool_call>" of f: the block is not JSON: at byte 12, nothing but the end was expected behind the object
        "#]],
        ),
        case(
            "two objects in an array",
            r#"<tool_call>[{"name":"f"},{"name":"f"}]</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>[{\"name\":\"f\"},{\"name\":\"f\"}]</tool_call>" of f: the block is not JSON: at byte 14, the array holds more than one call
        "#]],
        ),
        case(
            "what only begins like a close tag",
            "<tool_call>{x</tool_</tool_call> <tool_call>{y<</tool_call> <tool_call>{z</tool_callx</tool_call>.",
            expect![[r#"
                rejected "<tool_call>{x</tool_</tool_call>" of ?: the block is not JSON: at byte 1, a key in double quotes was expected
                text " "
                rejected "<tool_call>{y<</tool_call>" of ?: the block is not JSON: at byte 1, a key in double quotes was expected
                text " "
                rejected "<tool_call>{z</tool_callx</tool_call>" of ?: the block is not JSON: at byte 1, a key in double quotes was expected
                text "."
            "#]],
        ),
        case(
            "a block inside a broken one is not called",
            r#"<tool_call>{"name":"f", <tool_call>{"name":"f"}</tool_call>"#,
            expect![[r#"
                rejected "<tool_call>{\"name\":\"f\", <tool_call>{\"name\":\"f\"}</tool_call>" of f: the block is not JSON: at byte 13, a key in double quotes was expected
            "#]],
        ),
    ]
}

/// Invalid strings, numbers and literals inside of a block.
fn broken_values() -> Vec<Case> {
    vec![
        case(
            "a control character",
            "<tool_call>{\"name\":\"f\u{1}\"}</tool_call>",
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\u{1}\"}</tool_call>" of ?: the block is not JSON: at byte 10, a control character is inside a string
        "#]],
        ),
        case(
            "a control character in a long string",
            "<tool_call>{\"name\":\"f\",\"arguments\":{\"t\":\"long before it \u{1f} and long behind it\"}}</tool_call>",
            expect![[r#"
                rejected "<tool_call>{\"name\":\"f\",\"arguments\":{\"t\":\"long before it \u{1f} and long behind it\"}}</tool_call>" of f: the block is not JSON: at byte 45, a control character is inside a string
            "#]],
        ),
        case(
            "an escape that is none",
            r#"<tool_call>{"name":"f","arguments":"\x"}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\",\"arguments\":\"\\x\"}</tool_call>" of f: the block is not JSON: at byte 26, a backslash is followed by a letter that is no escape
        "#]],
        ),
        case(
            "half a surrogate pair",
            r#"<tool_call>{"name":"f","id":"\ud83d."}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\",\"id\":\"\\ud83d.\"}</tool_call>" of f: the block is not JSON: at byte 24, half of a surrogate pair stands alone
        "#]],
        ),
        case(
            "the other half",
            r#"<tool_call>{"name":"f","id":"\ude00"}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\",\"id\":\"\\ude00\"}</tool_call>" of f: the block is not JSON: at byte 23, half of a surrogate pair stands alone
        "#]],
        ),
        case(
            "numbers that are none",
            r#"<tool_call>{"name":"f","id":01}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\",\"id\":01}</tool_call>" of f: the block is not JSON: at byte 18, a number must not begin with a zero
        "#]],
        ),
        case(
            "a word that is none",
            r#"<tool_call>{"name":"f","id":nul}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\",\"id\":nul}</tool_call>" of f: the block is not JSON: at byte 20, a value was expected
        "#]],
        ),
        case(
            "a wrong close tag",
            r#"<tool_call>{"name":"f"}</tool_cal></tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\"}</tool_cal></tool_call>" of f: the block is not JSON: at byte 22, nothing but the end was expected behind the object
        "#]],
        ),
    ]
}
