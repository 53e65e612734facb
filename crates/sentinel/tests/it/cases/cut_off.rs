//! Texts that end too early.

use expect_test::expect;

use super::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "inside the tag",
            "so <tool_cal",
            expect![[r#"
            text "so <tool_cal"
        "#]],
        ),
        case(
            "behind the tag",
            "so <tool_call> \n",
            expect![[r#"
            text "so <tool_call> \n"
        "#]],
        ),
        case(
            "behind an array bracket",
            "so <tool_call> [ ",
            expect![[r#"
            text "so <tool_call> [ "
        "#]],
        ),
        case(
            "inside the name",
            r#"so <tool_call>{"name":"f"#,
            expect![[r#"
            text "so "
            rejected "<tool_call>{\"name\":\"f" of ?: the text ends inside the block; close it with `</tool_call>`
        "#]],
        ),
        case(
            "inside the arguments",
            r#"so <tool_call>{"name":"f","arguments":"{\"path\":\"A"#,
            expect![[r#"
            text "so "
            rejected "<tool_call>{\"name\":\"f\",\"arguments\":\"{\\\"path\\\":\\\"A" of f: the text ends inside the block; close it with `</tool_call>`
        "#]],
        ),
        case(
            "before the close tag",
            r#"so <tool_call>{"name":"f","arguments":"{}"}"#,
            expect![[r#"
            text "so "
            rejected "<tool_call>{\"name\":\"f\",\"arguments\":\"{}\"}" of f: the text ends inside the block; close it with `</tool_call>`
        "#]],
        ),
        case(
            "inside the close tag",
            r#"so <tool_call>{"name":"f","arguments":"{}"}</tool_call"#,
            expect![[r#"
            text "so "
            rejected "<tool_call>{\"name\":\"f\",\"arguments\":\"{}\"}</tool_call" of f: the text ends inside the block; close it with `</tool_call>`
        "#]],
        ),
        case(
            "inside a string that holds a block",
            r#"<tool_call>{"name":"f","arguments":"see <tool_call>{}</tool_call> and"#,
            expect![[r#"
                rejected "<tool_call>{\"name\":\"f\",\"arguments\":\"see <tool_call>{}</tool_call>" of f: the block is not JSON: at byte 42, the JSON is not complete before the close tag
                text " and"
            "#]],
        ),
        case(
            "behind a good block",
            r#"<tool_call>{"name":"f"}</tool_call> <tool_call>{"name":"f","#,
            expect![[r#"
                call f {}
                text " "
                rejected "<tool_call>{\"name\":\"f\"," of f: the text ends inside the block; close it with `</tool_call>`
            "#]],
        ),
    ]
}
