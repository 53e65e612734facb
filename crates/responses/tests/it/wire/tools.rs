//! Tools in every shape that clients send.

use std::fmt::Write as _;
use std::sync::Arc;

use expect_test::{Expect, expect};
use responses::event::EventFraming;
use responses::request::{Request, SchemaCache, ServerTools, parse};
use responses::tools::ToolKind;
use serde_json::{Value, json};

use crate::wire::playing::{Ending, play};
use crate::wire::reading::{all_refused, read, with};

fn tools(list: Value) -> Request {
    read(&with(json!({ "tools": list })))
}

/// As the client gets them back.
fn echoed(request: &Request) -> Vec<Value> {
    request.echoed_tools.clone()
}

/// The tools as the model sees them, and as the client gets them back.
#[track_caller]
fn check(list: Value, expect: Expect) {
    let request = tools(list);
    let mut shown = String::new();
    for tool in &request.tools {
        let kind = match tool.kind {
            ToolKind::Function => "function",
            ToolKind::Custom => "custom",
        };
        let strict = if tool.strict { " strict" } else { "" };
        writeln!(
            shown,
            "{kind}{strict} {} <- {:?} {} {:?} {}",
            tool.name, tool.namespace, tool.own_name, tool.description, tool.parameters
        )
        .unwrap();
    }
    for echoed in echoed(&request) {
        writeln!(shown, "echo {echoed}").unwrap();
    }
    writeln!(shown, "ignored {:?}", request.ignored).unwrap();
    expect.assert_eq(&shown);
}

// Conformance: proxy 1.6
//     D4: both shapes of a tool become one; a field may come from either place.
//     In: responses/request/tool_definition.rs
// Conformance: proxy 5.1
//     One canonical shape of a tool: name, description, parameters, strict.
//     In: responses/tools.rs
#[test]
fn both_shapes_of_a_function_are_the_same_tool() {
    let flat = json!([{
        "type": "function", "name": "f", "description": "d", "strict": true,
        "parameters": { "type": "object", "properties": { "a": { "type": "string" } } },
    }]);
    let deep = json!([{ "type": "function", "function": {
        "name": "f", "description": "d", "strict": true,
        "parameters": { "type": "object", "properties": { "a": { "type": "string" } } },
    } }]);
    let (flat, deep) = (tools(flat), tools(deep));
    assert_eq!(flat.tools, deep.tools);
    assert_eq!(flat.echoed_tools, deep.echoed_tools);
}

// Conformance: proxy 1.6
#[test]
fn a_field_may_come_from_either_place_and_the_outer_one_counts() {
    check(
        json!([{ "type": "function", "name": "outer", "function": { "name": "inner", "description": "d" } }]),
        expect![[r#"
            function outer <- None outer "d" {"type":"object","properties":{}}
            echo {"type":"function","name":"outer","description":"d","parameters":{"type":"object","properties":{}},"strict":false}
            ignored []
        "#]],
    );
}

// Conformance: proxy 1.7
//     D5: the schema is enforced only where `strict` is true; omitted, null and false are the same. The schema is
//     told to the model in any case.
//     In: sentinel/answer_parser.rs, responses/prompt/instructions.rs
// Conformance: proxy 5.1
#[test]
fn what_is_absent_or_null_is_filled_in() {
    check(
        json!([{ "type": "function", "name": "f", "description": null, "parameters": null, "strict": null }]),
        expect![[r#"
            function f <- None f "" {"type":"object","properties":{}}
            echo {"type":"function","name":"f","description":null,"parameters":{"type":"object","properties":{}},"strict":false}
            ignored []
        "#]],
    );
}

#[test]
fn a_custom_tool_takes_one_text_and_its_grammar_is_told_to_the_model() {
    check(
        json!([
            { "type": "custom", "name": "sql", "description": "Runs SQL" },
            { "type": "custom", "name": "c", "format": {
                "type": "grammar", "syntax": "lark", "definition": "start: \"a\"",
            } },
        ]),
        expect![[r#"
            custom sql <- None sql "Runs SQL" {"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}
            custom c <- None c "" {"type":"object","properties":{"input":{"type":"string","description":"The whole text must match this lark grammar:\nstart: \"a\""}},"required":["input"],"additionalProperties":false}
            echo {"type":"custom","name":"sql","description":"Runs SQL","format":{"type":"text"}}
            echo {"type":"custom","name":"c","description":null,"format":{"type":"grammar","syntax":"lark","definition":"start: \"a\""}}
            ignored ["tools[1].format.grammar"]
        "#]],
    );
}

#[test]
fn the_arguments_of_a_custom_tool_become_its_text() {
    let request = tools(json!([{ "type": "custom", "name": "sql" }, { "type": "function", "name": "f" }]));
    let (sql, f) = (&request.tools[0], &request.tools[1]);
    assert_eq!(sql.payload(r#"{"input":"select 1"}"#), "select 1");
    // Other arguments are the text itself.
    assert_eq!(sql.payload("select 1"), "select 1");
    assert_eq!(sql.payload(r#"{"input":1}"#), r#"{"input":1}"#);
    assert_eq!(f.payload(r#"{"input":"select 1"}"#), r#"{"input":"select 1"}"#);
}

// Conformance: proxy 13.7
//     4, registry and injection: tools are normalised, known by name, and told to the model.
//     In: responses/answer/tool_set.rs
#[test]
fn tools_in_a_namespace_get_names_of_their_own() {
    check(
        json!([
            { "type": "function", "name": "agents__wait" },
            { "type": "namespace", "name": "agents", "description": "d", "tools": [
                { "type": "function", "name": "wait" },
                { "type": "custom", "name": "exec" },
                { "type": "web_search" },
            ] },
            { "type": "function", "name": "wait" },
            { "type": "function", "name": "vault.read" },
        ]),
        expect![[r#"
            function agents__wait <- None agents__wait "" {"type":"object","properties":{}}
            function agents__wait_2 <- Some("agents") wait "" {"type":"object","properties":{}}
            custom agents__exec <- Some("agents") exec "" {"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}
            function wait <- None wait "" {"type":"object","properties":{}}
            function vault_read <- None vault.read "" {"type":"object","properties":{}}
            echo {"type":"function","name":"agents__wait","description":null,"parameters":{"type":"object","properties":{}},"strict":false}
            echo {"type":"namespace","name":"agents","description":"d","tools":[{"type":"function","name":"wait","description":null,"parameters":{"type":"object","properties":{}},"strict":false},{"type":"custom","name":"exec","description":null,"format":{"type":"text"}},{"type":"web_search"}]}
            echo {"type":"function","name":"wait","description":null,"parameters":{"type":"object","properties":{}},"strict":false}
            echo {"type":"function","name":"vault.read","description":null,"parameters":{"type":"object","properties":{}},"strict":false}
            ignored ["tools[1].tools[2].web_search"]
        "#]],
    );
}

// Conformance: proxy 2.1
//     Tools that a service would run itself are not emulated: they are accepted, named in a header, and never
//     offered; forcing one is refused.
//     In: responses/request/tools.rs
#[test]
fn hosted_tools_are_accepted_repeated_without_secrets_and_never_offered() {
    check(
        json!([
            { "type": "web_search", "external_web_access": false },
            { "type": "web_search_preview_2025_03_11" },
            { "type": "mcp", "server_label": "s", "server_url": "https://e.org", "authorization": "secret",
              "headers": { "x": "secret" } },
        ]),
        expect![[r#"
            echo {"type":"web_search","external_web_access":false}
            echo {"type":"web_search_preview_2025_03_11"}
            echo {"type":"mcp","server_label":"s","server_url":"https://e.org"}
            ignored ["tools[0].web_search", "tools[1].web_search_preview_2025_03_11", "tools[2].mcp"]
        "#]],
    );
}

#[test]
fn tools_that_stand_in_the_input_are_offered_and_the_later_ones_count() {
    let request = read(&json!({ "model": "m", "input": [
        { "type": "additional_tools", "role": "developer", "tools": [
            { "type": "custom", "name": "exec" },
            { "type": "namespace", "name": "agents", "tools": [{ "type": "function", "name": "wait" }] },
        ] },
        { "role": "user", "content": "hi" },
        { "type": "additional_tools", "role": "developer", "tools": [
            { "type": "custom", "name": "exec", "description": "changed" },
        ] },
    ] }));
    let names: Vec<(&str, &str)> =
        request.tools.iter().map(|tool| (tool.name.as_str(), tool.description.as_str())).collect();
    assert_eq!(names, [("exec", "changed"), ("agents__wait", "")]);
    assert_eq!(request.echoed_tools, [] as [Value; 0]);
    assert_eq!(request.input.len(), 1);
}

#[test]
fn server_side_tools_are_asked_for_with_a_type_of_our_own() {
    let asked = |tool: Value| tools(json!([tool]));
    assert_eq!(tools(json!([])).server_tools, ServerTools::NotAsked);
    assert_eq!(asked(json!({ "type": "tollgate" })).server_tools, ServerTools::All { events: false });
    let named = asked(json!({ "type": "tollgate", "names": ["vault.readFile"], "events": true }));
    assert_eq!(
        named.server_tools,
        ServerTools::Named { names: vec!["vault.readFile".to_owned()], events: true }
    );
    assert!(named.server_tools.wants_events() && named.tools.is_empty() && named.ignored.is_empty());
    assert_eq!(echoed(&named), [json!({ "type": "tollgate", "names": ["vault.readFile"], "events": true })]);
}

#[test]
fn a_tool_that_is_wrong_is_named_with_the_way_out() {
    let list = |tools: Value| with(json!({ "tools": tools }));
    expect![[r#"
        invalid_type tools: `tools` must be an array, and is an object
        invalid_type tools[0]: `tools[0]` must be an object, and is a string
        missing_required_parameter tools[0].type: `tools[0].type` is missing; it must be the type of the tool
        invalid_value tools[0].type: `tools[0].type` must be "function", "custom", "namespace", "tollgate" or a known hosted tool, and is "laser"
        missing_required_parameter tools[0].name: `tools[0].name` is missing; it must be 1 to 128 letters, digits, `_`, `-` or `.`
        invalid_value tools[0].name: `tools[0].name` must be 1 to 128 letters, digits, `_`, `-` or `.`, and is "a b"
        invalid_value tools[0].name: `tools[0].name` must be 1 to 128 letters, digits, `_`, `-` or `.`, and is "</tool_call>"
        invalid_type tools[0].strict: `tools[0].strict` must be true or false, and is a string
        invalid_type tools[0].parameters: `tools[0].parameters` must be an object, and is an array
        invalid_function_parameters tools[0].parameters: `tools[0].parameters` must be the schema of an object, since arguments are one; write "type": "object"
        invalid_function_parameters tools[0].parameters: `tools[0].parameters` cannot be used: `/properties/a/$ref` refers to `https://e.org/s.json`, outside this schema; copy what it names under `$defs` and write `#/$defs/<name>`
        duplicate_tool tools[1].name: `tools[1]` has the name `f`, which another tool has already
        duplicate_tool tools[1].name: `tools[1]` has the name `f`, which another tool has already
        invalid_value tools[0].tools[0].type: `tools[0].tools[0].type` must be one of "function", "custom", and is "namespace"
        duplicate_tool tools[1]: `tools[1]` asks for server-side tools a second time; put all names into one list
        invalid_type tools[0].names[0]: `tools[0].names[0]` must be the name of a tool, and is a number
    "#]].assert_eq(&all_refused(&[
        list(json!({})),
        list(json!(["f"])),
        list(json!([{ "name": "f" }])),
        list(json!([{ "type": "laser" }])),
        list(json!([{ "type": "function" }])),
        list(json!([{ "type": "function", "name": "a b" }])),
        list(json!([{ "type": "function", "name": "</tool_call>" }])),
        list(json!([{ "type": "function", "name": "f", "strict": "yes" }])),
        list(json!([{ "type": "function", "name": "f", "parameters": [] }])),
        list(json!([{ "type": "function", "name": "f", "parameters": { "type": "string" } }])),
        list(json!([{ "type": "function", "name": "f", "parameters": {
            "type": "object", "properties": { "a": { "$ref": "https://e.org/s.json" } },
        } }])),
        list(json!([{ "type": "function", "name": "f" }, { "type": "function", "function": { "name": "f" } }])),
        list(json!([{ "type": "function", "name": "f" }, { "type": "custom", "name": "f" }])),
        list(json!([{ "type": "namespace", "name": "n", "tools": [{ "type": "namespace", "name": "m" }] }])),
        list(json!([{ "type": "tollgate" }, { "type": "tollgate" }])),
        list(json!([{ "type": "tollgate", "names": [7] }])),
    ]));
}

#[test]
fn the_number_of_tools_has_an_end_with_those_in_namespaces() {
    let functions = |count: usize| -> Vec<Value> {
        (0..count).map(|index| json!({ "type": "function", "name": format!("f{index}") })).collect()
    };
    assert_eq!(tools(json!(functions(512))).tools.len(), 512);
    let mut list = functions(300);
    list.push(json!({ "type": "namespace", "name": "n", "tools": functions(300) }));
    expect![[r#"
        array_above_max_length tools: `tools` has 513 entries; at most 512 are taken
        array_above_max_length tools[300].tools[212]: the request has more than 512 tools, counting those in namespaces
    "#]]
        .assert_eq(&all_refused(&[with(json!({ "tools": functions(513) })), with(json!({ "tools": list }))]));
}

#[test]
fn a_list_that_was_read_before_means_the_same_again() {
    let own = json!({ "type": "function", "name": "again", "description": "a \u{2028} b", "parameters": { "type": "object" } });
    let here = json!({ "type": "tollgate", "names": ["vault.readFile"] });
    means_the_same_again(&json!([own, { "type": "web_search" }, here]), &["tools[1].web_search"]);
    means_the_same_again(&json!([own, here]), &[]);
}

fn means_the_same_again(list: &Value, ignored: &[&str]) {
    let schemas = SchemaCache::default();
    let ask = |more: Value| {
        let mut body = json!({ "model": "m", "input": "hi", "tools": list });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        parse(body.to_string().as_bytes(), &schemas)
    };
    let first = ask(json!({})).unwrap();
    for _ in 0..3 {
        let again = ask(json!({})).unwrap();
        assert_eq!(first, again);
        assert!(Arc::ptr_eq(&first.tools[0].schema, &again.tools[0].schema), "it was compiled again");
    }
    let events = String::from_utf8(play(&first, EventFraming::Stream, &[], Ending::Complete).0).unwrap();
    assert!(events.contains("\\u2028") && !events.contains('\u{2028}'), "{events}");
    assert_eq!(first.ignored, ignored);

    let chosen = ask(json!({ "tool_choice": { "type": "function", "name": "again" } })).unwrap();
    assert_eq!((&chosen.tools, &chosen.ignored), (&first.tools, &first.ignored));
    let unknown = ask(json!({ "tool_choice": { "type": "function", "name": "other" } })).unwrap_err();
    assert_eq!(unknown.param.as_deref(), Some("tool_choice"));

    let extended = ask(json!({ "input": [
        { "role": "user", "content": "hi" },
        { "type": "additional_tools", "role": "developer", "tools": [{ "type": "custom", "name": "exec" }] },
    ] }))
    .unwrap();
    let names: Vec<&str> = extended.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["again", "exec"]);
    assert_eq!(first, ask(json!({})).unwrap(), "what one request added is not in the next");
}

#[test]
fn a_request_with_very_many_fields_is_read_like_any_other() {
    let mut body = with(json!({ "tools": [{ "type": "function", "name": "f" }], "store": null }));
    for number in 0..100 {
        body[format!("unknown_{number:03}")] = json!(number);
    }
    let request = read(&body);
    assert_eq!((request.model.as_str(), request.tools[0].name.as_str()), ("m", "f"));
    assert_eq!((&*request.ignored[0], &*request.ignored[7]), ("unknown_000", "unknown_007"));
}

#[test]
fn a_body_is_refused_alike_whether_its_list_was_read_before_or_not() {
    let list = r#"[{"type":"function","name":"once_more"}]"#;
    for broken in [
        r#"{"model":"m","input":"hi","tools":LIST,"tools":LIST}"#,
        r#"{"model":"m","model":"m","input":"hi","tools":LIST}"#,
        r#"{"model":"m","input":[{"role":"user","role":"user"}],"tools":LIST}"#,
        r#"{"model":"m","input":"hi","tools":LIST} x"#,
        r#"{"model":"m","input":"hi","tools":LIST"#,
        r#"{"input":"hi","tools":LIST}"#,
        r#"["tools",LIST]"#,
    ] {
        let other = list.replace("once_more", &format!("only_{}", broken.len()));
        let schemas = SchemaCache::default();
        let unseen = parse(broken.replace("LIST", &other).as_bytes(), &schemas).unwrap_err();
        let good = format!(r#"{{"model":"m","input":"hi","tools":{list}}}"#);
        parse(good.as_bytes(), &schemas).unwrap();
        let seen = parse(broken.replace("LIST", list).as_bytes(), &schemas).unwrap_err();
        assert_eq!((seen.code, &seen.param), (unseen.code, &unseen.param), "{broken}");
        assert_eq!(shape(&seen.message), shape(&unseen.message));
    }
}

/// A message without its numbers: the two lists have other lengths.
fn shape(message: &str) -> String {
    message.chars().filter(|c| !c.is_ascii_digit()).collect()
}
