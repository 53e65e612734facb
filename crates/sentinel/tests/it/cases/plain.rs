//! Text without a call, and tags where none is expected.

use expect_test::expect;

use super::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    [plain(), tags()].into_iter().flatten().collect()
}

/// Text without a call.
fn plain() -> Vec<Case> {
    vec![
        case("nothing", "", expect![""]),
        case(
            "text",
            "Just an answer.\n\nWith two parts.",
            expect![[r#"
            text "Just an answer.\n\nWith two parts."
        "#]],
        ),
        case(
            "angle brackets",
            "a < b, <b>bold</b>, x<y>z, <tool, <tool_call, <<tool_cal>",
            expect![[r#"
            text "a < b, <b>bold</b>, x<y>z, <tool, <tool_call, <<tool_cal>"
        "#]],
        ),
        case(
            "a tag in prose",
            "I use the <tool_call> tag, then </tool_call>. Done.",
            expect![[r#"
                text "I use the "
                rejected "<tool_call> tag, then </tool_call>" of ?: the block is not JSON: at byte 0, an object was expected
                text ". Done."
            "#]],
        ),
        case(
            "a close tag alone",
            "so: </tool_call> and on",
            expect![[r#"
            text "so: </tool_call> and on"
        "#]],
        ),
        case(
            "JSON without tags",
            r#"{"name":"f","arguments":"{}"}"#,
            expect![[r#"
            text "{\"name\":\"f\",\"arguments\":\"{}\"}"
        "#]],
        ),
        case(
            "other letters in the tag",
            r#"<Tool_call>{"name":"f"}</tool_call><tool_call >{}</tool_call>"#,
            expect![[r#"
            text "<Tool_call>{\"name\":\"f\"}</tool_call><tool_call >{}</tool_call>"
        "#]],
        ),
        case(
            "characters of many bytes",
            "Zürich, 東京, 🙂 < 🙃 <tool_call>é",
            expect![[r#"
            text "Zürich, 東京, 🙂 < 🙃 <tool_call>é"
        "#]],
        ),
        case(
            "a tag before a line",
            "<tool_call>\n\n  Now.",
            expect![[r#"
            text "<tool_call>\n\n  Now."
        "#]],
        ),
        case(
            "a tag before an array",
            "<tool_call>[1,2]</tool_call>",
            expect![[r#"
                rejected "<tool_call>[1,2]</tool_call>" of ?: the block is not JSON: at byte 0, an object was expected
            "#]],
        ),
    ]
}

/// Tags where they are not expected.
fn tags() -> Vec<Case> {
    vec![
        case(
            "a tag in prose, then a call",
            r#"With <tool_call> I call: <tool_call>{"name":"f"}</tool_call>"#,
            expect![[r#"
                text "With <tool_call> I call: "
                call f {}
            "#]],
        ),
        case(
            "a tag twice",
            r#"<tool_call><tool_call>{"name":"f"}</tool_call>"#,
            expect![[r#"
            text "<tool_call>"
            call f {}
        "#]],
        ),
        case(
            "a tag begun twice",
            r#"<tool_<tool_call>{"name":"f"}</tool_call>"#,
            expect![[r#"
            text "<tool_"
            call f {}
        "#]],
        ),
        case(
            "close tags first",
            r#"</tool_call></tool_call><tool_call>{"name":"f"}</tool_call>"#,
            expect![[r#"
            text "</tool_call></tool_call>"
            call f {}
        "#]],
        ),
        case(
            "two close tags",
            r#"<tool_call>{"name":"f"}</tool_call></tool_call>."#,
            expect![[r#"
            call f {}
            text "</tool_call>."
        "#]],
        ),
        case(
            "an angle bracket in front",
            r#"<<tool_call>{"name":"f"}</tool_call>>"#,
            expect![[r#"
            text "<"
            call f {}
            text ">"
        "#]],
        ),
    ]
}
