//! Calls that are shown, not made.

use expect_test::expect;

use super::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    [code(), stray_marks()].into_iter().flatten().collect()
}

/// Blocks in code.
fn code() -> Vec<Case> {
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
                text "`x "
                call f {}
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

/// Marks that open no code.
fn stray_marks() -> Vec<Case> {
    vec![
        case(
            "a stray backtick before a call on its line",
            "the ` key <tool_call>{\"name\":\"f\",\"arguments\":{\"t\":\"`x`\"}}</tool_call> now\nend",
            expect![[r#"
                text "the ` key "
                call f {"t":"`x`"}, as an object
                text " now\nend"
            "#]],
        ),
        case(
            "a stray backtick, and a call that the rest of the line closes",
            "a ` b <tool_call>{\"name\":\"f\"}</tool_call> c ` d <tool_call>{\"name\":\"f\"}</tool_call>",
            expect![[r#"
                text "a ` b <tool_call>{\"name\":\"f\"}</tool_call> c ` d "
                call f {}
            "#]],
        ),
        case(
            "two stray runs on one line: one is looked through",
            "a ` <tool_call>{\"name\":\"f\"}</tool_call> b `` <tool_call>{\"name\":\"f\"}</tool_call> c",
            expect![[r#"
                text "a ` "
                call f {}
                text " b `` <tool_call>{\"name\":\"f\"}</tool_call> c"
            "#]],
        ),
        case(
            "a stray backtick before a block over lines",
            "a ` <tool_call>\n{\"name\":\n\"f\"}\n</tool_call>\n`",
            expect![[r#"
                text "a ` "
                call f {}
                text "\n`"
            "#]],
        ),
        case(
            "a stray backtick before a block with a fault",
            "a ` <tool_call>{\"name\":\"strict\",}</tool_call>\n<tool_call>{]</tool_call>",
            expect![[r#"
                text "a ` "
                rejected "<tool_call>{\"name\":\"strict\",}</tool_call>" of strict: the call would have to be repaired (a comma before a closing bracket), which a strict tool does not allow
                text "\n"
                rejected "<tool_call>{]</tool_call>" of ?: the block is not JSON: at byte 1, a key in double quotes was expected
            "#]],
        ),
        case(
            "a longer run closes no span",
            "a ` <tool_call>{\"name\":\"f\"}</tool_call> ``",
            expect![[r#"
            text "a ` "
            call f {}
            text " ``"
        "#]],
        ),
        case(
            "a fence that is never closed, with calls at the end",
            "```python\nprint(1)\n\nNow the calls:\n<tool_call>{\"name\":\"f\"}</tool_call>\n <tool_call>{\"name\":\"strict\"}</tool_call> \n",
            expect![[r#"
                text "```python\nprint(1)\n\nNow the calls:\n"
                call f {}
                text "\n "
                call strict {}
                text " \n"
            "#]],
        ),
        case(
            "a fence that is never closed, with text after the call",
            "```\n<tool_call>{\"name\":\"f\"}</tool_call>\nthat was it <tool_call>{\"name\":\"f\"}</tool_call> and on",
            expect![[r#"
                text "```\n<tool_call>{\"name\":\"f\"}</tool_call>\nthat was it <tool_call>{\"name\":\"f\"}</tool_call> and on"
            "#]],
        ),
        case(
            "a fence that is closed after two calls",
            "~~~\n<tool_call>{\"name\":\"f\"}</tool_call>\n<tool_call>{\"name\":\"f\"}</tool_call>\n~~~\n",
            expect![[r#"
                text "~~~\n<tool_call>{\"name\":\"f\"}</tool_call>\n<tool_call>{\"name\":\"f\"}</tool_call>\n~~~\n"
            "#]],
        ),
        case(
            "a fence with a call that is cut off",
            "```\n<tool_call>{\"name\":\"f\"}</tool_call>\n<tool_call>{\"name\":\"f",
            expect![[r#"
                text "```\n<tool_call>{\"name\":\"f\"}</tool_call>\n<tool_call>{\"name\":\"f"
            "#]],
        ),
        case(
            "a call on the line that opens a fence",
            "```<tool_call>{\"name\":\"f\"}</tool_call>",
            expect![[r#"
                text "```"
                call f {}
            "#]],
        ),
    ]
}
