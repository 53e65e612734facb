//! Calls as they should be, and as they may be.

use expect_test::expect;

use super::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    [good(), arguments()].into_iter().flatten().collect()
}

/// Calls as they should be.
fn good() -> Vec<Case> {
    vec![
        case(
            "a call",
            r#"<tool_call>{"name":"f","arguments":"{\"k\":\"v\"}"}</tool_call>"#,
            expect![[r#"
            call f {"k":"v"}
        "#]],
        ),
        case(
            "text around",
            r#"First. <tool_call>{"name":"f","arguments":"{}"}</tool_call> Then."#,
            expect![[r#"
            text "First. "
            call f {}
            text " Then."
        "#]],
        ),
        case(
            "two calls and text between",
            "<tool_call>{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}</tool_call>\nand\n<tool_call>{\"name\":\"read_file\",\"arguments\":\"{\\\"path\\\":\\\"a.md\\\"}\"}</tool_call>",
            expect![[r#"
                call f {"a":1}
                text "\nand\n"
                call read_file {"path":"a.md"}
            "#]],
        ),
        case(
            "calls without anything between",
            r#"<tool_call>{"name":"f"}</tool_call><tool_call>{"name":"f"}</tool_call>"#,
            expect![[r#"
                call f {}
                call f {}
            "#]],
        ),
        case(
            "on lines of its own",
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1, {\"b\": null}]}}\n</tool_call>",
            expect![[r#"
                call f {"a": [1, {"b": null}]}, as an object
            "#]],
        ),
        case(
            "arguments first",
            r#"<tool_call>{"arguments":"{\"a\":true}","name":"f"}</tool_call>"#,
            expect![[r#"
                call f {"a":true}
            "#]],
        ),
        case(
            "an object as arguments keeps its spelling",
            "<tool_call>{\"name\":\"f\",\"arguments\":{ \"a\" : 1.0e+2,\n  \"b\":\"\\u00e9\" } }</tool_call>",
            expect![[r#"
                call f { "a" : 1.0e+2,
                  "b":"\u00e9" }, as an object
            "#]],
        ),
    ]
}

/// Arguments as they may be.
fn arguments() -> Vec<Case> {
    vec![
        case(
            "no arguments",
            r#"<tool_call>{"name":"f"}</tool_call>"#,
            expect![[r#"
            call f {}
        "#]],
        ),
        case(
            "empty arguments",
            r#"<tool_call>{"name":"f","arguments":""}</tool_call>"#,
            expect![[r#"
            call f {}
        "#]],
        ),
        case(
            "a close tag inside a string",
            r#"<tool_call>{"name":"f","arguments":"{\"t\":\"</tool_call>\"}"}</tool_call>!"#,
            expect![[r#"
                call f {"t":"</tool_call>"}
                text "!"
            "#]],
        ),
        case(
            "a block inside a string",
            r#"<tool_call>{"name":"f","arguments":{"t":"<tool_call>{\"name\":\"f\"}</tool_call>"}}</tool_call>!"#,
            expect![[r#"
                call f {"t":"<tool_call>{\"name\":\"f\"}</tool_call>"}, as an object
                text "!"
            "#]],
        ),
        case(
            "brackets and backslashes inside a string",
            r#"<tool_call>{"name":"f","arguments":{"t":"}]{[\\","u":"\\\"}"}}</tool_call>"#,
            expect![[r#"
                call f {"t":"}]{[\\","u":"\\\"}"}, as an object
            "#]],
        ),
        case(
            "escapes",
            r#"<tool_call>{"name":"\u0066","arguments":"{\"t\":\"\\ud83d\\ude00 \u00e9\ud83d\ude00\\n\/\"}"}</tool_call>"#,
            expect![[r#"
                call f {"t":"\ud83d\ude00 é😀\n/"}
            "#]],
        ),
        case(
            "characters of many bytes in arguments",
            r#"é<tool_call>{"name":"f","arguments":"{\"t\":\"東京 🙂\"}"}</tool_call>é"#,
            expect![[r#"
                text "é"
                call f {"t":"東京 🙂"}
                text "é"
            "#]],
        ),
        case(
            "an id and a type",
            r#"<tool_call>{"id":"c1","type":"function","name":"f"}</tool_call>"#,
            expect![[r#"
            call f {}
        "#]],
        ),
        case(
            "another member",
            r#"<tool_call>{"name":"f","arguments":"{}","why":["x",{}]}</tool_call>"#,
            expect![[r#"
                call f {}
            "#]],
        ),
        case(
            "a strict tool",
            r#"<tool_call>{"name":"strict","arguments":"{\"a\":1}","id":1}</tool_call>"#,
            expect![[r#"
                call strict {"a":1}
            "#]],
        ),
    ]
}
