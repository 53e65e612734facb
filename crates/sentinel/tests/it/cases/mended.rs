//! Blocks that are repaired, and blocks that are not.

use expect_test::expect;

use super::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    [fences(), repairs(), no_repairs()].into_iter().flatten().collect()
}

/// Code fences and other words between the tags.
fn fences() -> Vec<Case> {
    vec![
        case(
            "a code fence inside the tags",
            "<tool_call>\n```json\n{\"name\":\"f\",\"arguments\":{\"t\":\"```\"}}\n```\n</tool_call>",
            expect![[r#"
                call f {"t":"```"}, repaired, as an object
            "#]],
        ),
        case(
            "a code fence inside the tags of a strict tool",
            "<tool_call>````\n{\"name\":\"strict\"}````</tool_call>",
            expect![[r#"
                call strict {}, repaired
            "#]],
        ),
        case(
            "a code fence that is not closed inside the tags",
            "<tool_call>```json\n{\"name\":\"f\"}</tool_call> and <tool_call>```json\n{\"name\":\"f\"}``</tool_call>",
            expect![[r#"
                rejected "<tool_call>```json\n{\"name\":\"f\"}</tool_call>" of f: the block is not JSON: at byte 20, the code fence around the object is not closed
                text " and "
                rejected "<tool_call>```json\n{\"name\":\"f\"}``</tool_call>" of f: the block is not JSON: at byte 22, the end of the code fence was expected
            "#]],
        ),
        case(
            "a code fence twice, and a bracket behind it",
            "<tool_call>```\n```\n{\"name\":\"f\"}\n```\n```</tool_call> <tool_call>```\n{\"name\":\"f\"}\n```}</tool_call>",
            expect![[r#"
                rejected "<tool_call>```\n```\n{\"name\":\"f\"}\n```\n```</tool_call>" of ?: the block is not JSON: at byte 0, an object was expected
                text " "
                rejected "<tool_call>```\n{\"name\":\"f\"}\n```}</tool_call>" of f: the block is not JSON: at byte 20, nothing but the end was expected behind the object
            "#]],
        ),
        case(
            "words between the tags",
            "<tool_call>read the note</tool_call> <tool_call> f(<b>) </tool_call>",
            expect![[r#"
                rejected "<tool_call>read the note</tool_call>" of ?: the block is not JSON: at byte 0, an object was expected
                text " "
                rejected "<tool_call> f(<b>) </tool_call>" of ?: the block is not JSON: at byte 0, an object was expected
            "#]],
        ),
        case(
            "a code fence of other words between the tags",
            "<tool_call>```json\nread\n```</tool_call>",
            expect![[r#"
                rejected "<tool_call>```json\nread\n```</tool_call>" of ?: the block is not JSON: at byte 0, an object was expected
            "#]],
        ),
    ]
}

/// Repaired blocks.
fn repairs() -> Vec<Case> {
    vec![
        case(
            "commas before closing brackets",
            r#"<tool_call>{"name":"f","arguments":{"a":[1,2, ],},}</tool_call>"#,
            expect![[r#"
                call f {"a":[1,2 ]}, repaired, as an object
            "#]],
        ),
        case(
            "commas inside the text of arguments",
            r#"<tool_call>{"name":"f","arguments":"{\"a\":\",}\",}"}</tool_call>"#,
            expect![[r#"
                call f {"a":",}"}, repaired
            "#]],
        ),
        case(
            "a bracket too many behind the object",
            r#"<tool_call>{"name":"f","arguments":{"a":1}}}</tool_call>"#,
            expect![[r#"
                call f {"a":1}, repaired, as an object
            "#]],
        ),
        case(
            "a bracket of the other kind",
            r#"<tool_call>{"name":"f","arguments":{"a":[1}]}}</tool_call>"#,
            expect![[r#"
                call f {"a":[1]}, repaired, as an object
            "#]],
        ),
        case(
            "a bracket too many in the text of arguments",
            r#"<tool_call>{"name":"f","arguments":"{\"a\":1}}"}</tool_call>"#,
            expect![[r#"
                call f {"a":1}, repaired
            "#]],
        ),
        case(
            "a bracket too many behind a list of objects",
            r#"<tool_call>{"name":"f","arguments":{"a":[{"b":1},{"b":2}]}}}</tool_call>"#,
            expect![[r#"
                call f {"a":[{"b":1},{"b":2}]}, repaired, as an object
            "#]],
        ),
        case(
            "an array around the call",
            r#"<tool_call> [ {"name":"f"} , ] </tool_call>"#,
            expect![[r#"
            call f {}, repaired
        "#]],
        ),
        case(
            "an array around the arguments",
            r#"<tool_call>{"name":"f","arguments":" [{\"a\":1}] "}</tool_call>"#,
            expect![[r#"
                call f {"a":1}, repaired
            "#]],
        ),
        case(
            "line breaks and tabs inside strings",
            "<tool_call>{\"name\":\"f\",\"arguments\":{\"t\":\"a\n\tb\r\"}}</tool_call>",
            expect![[r#"
                call f {"t":"a\n\tb\r"}, repaired, as an object
            "#]],
        ),
        case(
            "line breaks inside the text of arguments",
            "<tool_call>{\"name\":\"f\",\"arguments\":\"{\n\\\"t\\\":\\\"a\nb\\\"\n}\"}</tool_call>",
            expect![[r#"
                call f {
                "t":"a\nb"
                }, repaired
            "#]],
        ),
        case(
            "everything at once",
            "<tool_call>[{\"name\":\"f\",\"arguments\":\"[{\\\"t\\\":\\\"\n\\\",}}]\",}]]</tool_call>",
            expect![[r#"
                call f {"t":"\n"}, repaired
            "#]],
        ),
    ]
}

/// Blocks that are not repaired.
fn no_repairs() -> Vec<Case> {
    vec![
        case(
            "a strict tool is not mended",
            r#"<tool_call>{"name":"strict",}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"strict\",}</tool_call>" of strict: the call would have to be repaired (a comma before a closing bracket), which a strict tool does not allow
        "#]],
        ),
        case(
            "nor are its arguments",
            r#"<tool_call>{"name":"strict","arguments":"{\"a\":1,}"}</tool_call>"#,
            expect![[r#"
                rejected "<tool_call>{\"name\":\"strict\",\"arguments\":\"{\\\"a\\\":1,}\"}</tool_call>" of strict: the call would have to be repaired (a comma before a closing bracket), which a strict tool does not allow
            "#]],
        ),
        case(
            "two brackets too many",
            r#"<tool_call>{"name":"f"}}}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\"}}}</tool_call>" of f: the block is not JSON: at byte 13, a bracket is closed that is not open
        "#]],
        ),
        case(
            "two brackets could be the one too many",
            r#"<tool_call>{"name":"f","arguments":{"a":{"b":1}},"c":2}}</tool_call>"#,
            expect![[r#"
                rejected "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":{\"b\":1}},\"c\":2}}</tool_call>" of f: the block is not JSON: at byte 44, a bracket is closed that is not open
            "#]],
        ),
        case(
            "a bracket too many in the middle",
            r#"<tool_call>{"name":"f","arguments":{"a":1}},"id":2}</tool_call>"#,
            expect![[r#"
                rejected "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}},\"id\":2}</tool_call>" of f: the block is not JSON: at byte 32, nothing but the end was expected behind the object
            "#]],
        ),
        case(
            "two commas",
            r#"<tool_call>{"name":"f",,}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\",,}</tool_call>" of f: the block is not JSON: at byte 12, a key in double quotes was expected
        "#]],
        ),
        case(
            "a comma behind the object",
            r#"<tool_call>{"name":"f"},</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\"},</tool_call>" of f: the block is not JSON: at byte 12, nothing but the end was expected behind the object
        "#]],
        ),
        case(
            "a bracket too few",
            r#"<tool_call>{"name":"f","arguments":{"a":1}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}</tool_call>" of f: the block is not JSON: at byte 31, a comma or a closing bracket was expected
        "#]],
        ),
        case(
            "a quote too few",
            r#"<tool_call>{"name":"f","arguments":"{}}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\",\"arguments\":\"{}}</tool_call>" of f: the block is not JSON: at byte 28, the JSON is not complete before the close tag
        "#]],
        ),
        case(
            "a key without quotes",
            r#"<tool_call>{name:"f"}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{name:\"f\"}</tool_call>" of ?: the block is not JSON: at byte 1, a key in double quotes was expected
        "#]],
        ),
        case(
            "two arrays around the call",
            r#"<tool_call>[[{"name":"f"}]]</tool_call>"#,
            expect![[r#"
                rejected "<tool_call>[[{\"name\":\"f\"}]]</tool_call>" of ?: the block is not JSON: at byte 0, an object was expected
            "#]],
        ),
    ]
}
