//! Blocks that are JSON and no calls.

use expect_test::expect;

use super::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    [members(), wrong_arguments()].into_iter().flatten().collect()
}

/// Blocks that are JSON and no calls.
fn members() -> Vec<Case> {
    vec![
        case(
            "an unknown name",
            r#"<tool_call>{"name":"g","arguments":"{}"}</tool_call>."#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"g\",\"arguments\":\"{}\"}</tool_call>" of g: no tool is named `g`; name one of the tools, letter by letter
            text "."
        "#]],
        ),
        case(
            "a name in other letters",
            r#"<tool_call>{"name":"F"}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"F\"}</tool_call>" of F: no tool is named `F`; name one of the tools, letter by letter
        "#]],
        ),
        case(
            "no name",
            r#"<tool_call>{}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{}</tool_call>" of ?: the block has no `name`; name one of the tools
        "#]],
        ),
        case(
            "a name that is no text",
            r#"<tool_call>{"name":{"a":1}}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":{\"a\":1}}</tool_call>" of ?: `name` is not a string; give the name of a tool in double quotes
        "#]],
        ),
        case(
            "a name twice",
            r#"<tool_call>{"name":"f","n\u0061me":"f"}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\",\"n\\u0061me\":\"f\"}</tool_call>" of f: `name` is there twice; give each key once
        "#]],
        ),
        case(
            "another member twice",
            r#"<tool_call>{"id":1,"name":"f","id":1}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"id\":1,\"name\":\"f\",\"id\":1}</tool_call>" of f: `id` is there twice; give each key once
        "#]],
        ),
        case(
            "too many members",
            r#"<tool_call>{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"name":"f","p":1}</tool_call>"#,
            expect![[r#"
                rejected "<tool_call>{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,\"k\":1,\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"name\":\"f\",\"p\":1}</tool_call>" of f: the block has more than 16 keys; it needs `name` and `arguments` only
            "#]],
        ),
        case(
            "too many members, then a good block",
            r#"<tool_call>{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"name":"f"}</tool_call><tool_call>{"name":"f"}</tool_call>"#,
            expect![[r#"
                rejected "<tool_call>{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,\"k\":1,\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"p\":1,\"name\":\"f\"}</tool_call>" of ?: the block has more than 16 keys; it needs `name` and `arguments` only
                call f {}
            "#]],
        ),
        case(
            "arguments under another name",
            r#"<tool_call>{"name":"f","parameters":{}}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\",\"parameters\":{}}</tool_call>" of f: `parameters` is not a key of a call; put every argument into `arguments`
        "#]],
        ),
        case(
            "another member of a strict tool",
            r#"<tool_call>{"name":"strict","arguments":"","why":"x"}</tool_call>"#,
            expect![[r#"
                rejected "<tool_call>{\"name\":\"strict\",\"arguments\":\"\",\"why\":\"x\"}</tool_call>" of strict: `why` is not a key of a call; put every argument into `arguments`
            "#]],
        ),
    ]
}

/// Arguments that are not an object.
fn wrong_arguments() -> Vec<Case> {
    vec![
        case(
            "arguments that are a number",
            r#"<tool_call>{"name":"f","arguments":1}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\",\"arguments\":1}</tool_call>" of f: `arguments` is neither a string nor an object; give a string that holds a JSON object
        "#]],
        ),
        case(
            "arguments that are nothing",
            r#"<tool_call>{"name":"f","arguments":null}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\",\"arguments\":null}</tool_call>" of f: `arguments` is neither a string nor an object; give a string that holds a JSON object
        "#]],
        ),
        case(
            "arguments that hold a list",
            r#"<tool_call>{"name":"f","arguments":"[1]"}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\",\"arguments\":\"[1]\"}</tool_call>" of f: `arguments` does not hold a JSON object; it must begin with `{`
        "#]],
        ),
        case(
            "arguments that hold prose",
            r#"<tool_call>{"name":"f","arguments":"now"}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\",\"arguments\":\"now\"}</tool_call>" of f: `arguments` does not hold a JSON object; it must begin with `{`
        "#]],
        ),
        case(
            "arguments that are cut",
            r#"<tool_call>{"name":"f","arguments":"{\"a\":\"b"}</tool_call>"#,
            expect![[r#"
            rejected "<tool_call>{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":\\\"b\"}</tool_call>" of f: `arguments` does not hold JSON: at byte 7, it ends too early
        "#]],
        ),
        case(
            "arguments that are broken",
            r#"<tool_call>{"name":"f","arguments":"{\"a\" 1}"}</tool_call>"#,
            expect![[r#"
                rejected "<tool_call>{\"name\":\"f\",\"arguments\":\"{\\\"a\\\" 1}\"}</tool_call>" of f: `arguments` does not hold JSON: at byte 5, a colon was expected
            "#]],
        ),
    ]
}
