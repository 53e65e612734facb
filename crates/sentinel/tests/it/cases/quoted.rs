//! Calls that are shown, not made.

use expect_test::expect;

use super::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a code span",
            r#"Like `<tool_call>{"name":"f"}</tool_call>`."#,
            expect![[r#"
            text "Like `<tool_call>{\"name\":\"f\"}</tool_call>`."
        "#]],
        ),
        case(
            "further inside a code span",
            r#"`x <tool_call>{"name":"f"}</tool_call>"#,
            expect![[r#"
            text "`x <tool_call>{\"name\":\"f\"}</tool_call>"
        "#]],
        ),
        case(
            "a code span that is over",
            r#"`x` and ``y`` <tool_call>{"name":"f"}</tool_call>"#,
            expect![[r#"
                text "`x` and ``y`` "
                call f {}
            "#]],
        ),
        case(
            "a backtick on the line before",
            "a ` alone\n<tool_call>{\"name\":\"f\"}</tool_call>",
            expect![[r#"
                text "a ` alone\n"
                call f {}
            "#]],
        ),
        case(
            "a fenced block, then a call",
            "```json\n<tool_call>{\"name\":\"f\"}</tool_call>\n```\n<tool_call>{\"name\":\"f\"}</tool_call>",
            expect![[r#"
                text "```json\n<tool_call>{\"name\":\"f\"}</tool_call>\n```\n"
                call f {}
            "#]],
        ),
        case(
            "a fence of tildes with backticks inside",
            "~~~~\n```\n<tool_call>{\"name\":\"f\"}</tool_call>\n~~~\n<tool_call>{\"name\":\"f\"}</tool_call>\n  ~~~~ \n<tool_call>{\"name\":\"f\"}</tool_call>",
            expect![[r#"
                text "~~~~\n```\n<tool_call>{\"name\":\"f\"}</tool_call>\n~~~\n<tool_call>{\"name\":\"f\"}</tool_call>\n  ~~~~ \n"
                call f {}
            "#]],
        ),
        case(
            "a fence inside of arguments opens nothing",
            "<tool_call>{\"name\":\"f\",\"arguments\":{\"t\":\"a\\n```\\n\"}}</tool_call>\n<tool_call>{\"name\":\"f\"}</tool_call>",
            expect![[r#"
                call f {"t":"a\n```\n"}, as an object
                text "\n"
                call f {}
            "#]],
        ),
        case(
            "a broken block inside a fence is text too",
            "```\n<tool_call>{oops\n```\n<tool_call>{\"name\":\"f\"}</tool_call>",
            expect![[r#"
                text "```\n<tool_call>{oops\n```\n"
                call f {}
            "#]],
        ),
        case(
            "three backticks inside of a line",
            "so ```<tool_call>{\"name\":\"f\"}</tool_call>``` or\n<tool_call>{\"name\":\"f\"}</tool_call>",
            expect![[r#"
                text "so ```<tool_call>{\"name\":\"f\"}</tool_call>``` or\n"
                call f {}
            "#]],
        ),
    ]
}
