//! Schemas of untrusted servers: rejected before anything is compiled or fetched.

use expect_test::{Expect, expect};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use serde_json::{Value, json};
use toolkit::CompiledSchema;

/// The only place in this file that calls the API.
#[track_caller]
fn check(schema: Value, expect: Expect) {
    let answer = match CompiledSchema::compile(&schema) {
        Ok(_) => "accepted".to_owned(),
        Err(refused) => refused.to_string(),
    };
    expect.assert_eq(&answer);
}

/// A reference to a file once copied the content of the file into the error text.
#[test]
fn no_reference_reads_a_file_and_no_content_leaks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cfg.json");
    std::io::Write::write_all(
        &mut std::fs::File::create(&file).unwrap(),
        br#"{"auth": {"token": "sk-CANARY-777"}, "type": "string"}"#,
    )
    .unwrap();
    let url = format!("file://{}", file.display());
    let probes = [
        json!({"$ref": format!("{url}#/auth/token")}),
        json!({"$ref": url}),
        json!({"properties": {"a": {"items": {"$ref": format!("{url}#")}}}}),
        json!({"$dynamicRef": url}),
        json!({"$recursiveRef": url}),
        json!({"$id": format!("file://{}/", folder.path().display()), "$ref": "cfg.json"}),
        json!({"$id": url, "$ref": "#/auth/token"}),
        json!({"allOf": [{"$id": url, "$ref": "#/auth/token"}]}),
        json!({"$ref": "#/default", "default": {"$ref": url}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$schema": url}}}),
        json!({"$schema": url, "type": "string"}),
    ];
    for probe in probes {
        let refused = CompiledSchema::compile(&probe).expect_err(&probe.to_string());
        assert!(!refused.to_string().contains("CANARY"), "{refused}");
    }
}

#[test]
fn a_reference_that_leads_outside_is_refused_with_a_way_out() {
    check(
        json!({"$ref": "http://127.0.0.1:9/x.json"}),
        expect![
            "`/$ref` refers to `http://127.0.0.1:9/x.json`, outside this schema; copy what it names under `$defs` and write `#/$defs/<name>`"
        ],
    );
    check(
        json!({"properties": {"a/b": {"$ref": "other.json"}}}),
        expect![
            "`/properties/a~1b/$ref` refers to `other.json`, outside this schema; copy what it names under `$defs` and write `#/$defs/<name>`"
        ],
    );
    check(
        json!({"$dynamicRef": "https://example.com/x"}),
        expect![
            "`/$dynamicRef` refers to `https://example.com/x`, outside this schema; copy what it names under `$defs` and write `#/$defs/<name>`"
        ],
    );
    check(
        json!({"$dynamicRef": "#meta"}),
        expect![
            "`/$dynamicRef` changes what references mean; write a plain `$ref` to `#/$defs/<name>` instead"
        ],
    );
    check(
        json!({"$defs": {"a": {"$anchor": "x"}}, "$ref": "#x"}),
        expect!["`/$ref` changes what references mean; write a plain `$ref` to `#/$defs/<name>` instead"],
    );
    check(
        json!({"properties": {"a": {"$id": "https://example.com/"}}}),
        expect![
            "`/properties/a/$id` changes what references mean; write a plain `$ref` to `#/$defs/<name>` instead"
        ],
    );
    check(
        json!({"$schema": "https://example.com/dialect"}),
        expect![
            "`/$schema` names `https://example.com/dialect`; use JSON Schema 2020-12 or draft-07, or leave `$schema` out"
        ],
    );
    check(
        json!({"$ref": "#/$defs/none"}),
        expect!["a `$ref` to `#/$defs/none` leads nowhere in this schema"],
    );
}

#[test]
fn ordinary_schemas_are_accepted() {
    for schema in [
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/a", "$ref": "#/$defs/a%20b",
               "$defs": {"a b": {"type": "string"}}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "string"}},
               "properties": {"a": {"$ref": "#/definitions/a"}}}),
        json!({"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}, "pattern": {"type": "string"}}}),
        // A tree, a linked list, any JSON, and a filter language: recursive, but no part is checked twice.
        json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}, "additionalProperties": false}),
        json!({"anyOf": [{"type": "object", "properties": {"next": {"$ref": "#"}}}, {"type": "null"}]}),
        json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#"}},
               {"type": "object", "additionalProperties": {"$ref": "#"}}]}),
        json!({"oneOf": [
            {"properties": {"and": {"items": {"$ref": "#"}}}, "required": ["and"], "additionalProperties": false},
            {"properties": {"or": {"items": {"$ref": "#"}}}, "required": ["or"], "additionalProperties": false},
            {"properties": {"not": {"$ref": "#"}}, "required": ["not"], "additionalProperties": false}]}),
        json!(true),
    ] {
        let text = schema.to_string();
        assert!(CompiledSchema::compile(&schema).is_ok(), "{text}: {:?}", CompiledSchema::compile(&schema));
    }
}

/// Each level references the next twice: 2^levels checks of one value.
fn chain(keyword: &str, levels: usize) -> Value {
    let mut defs = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        defs.insert(format!("l{level}"), json!({keyword: [next.clone(), next]}));
    }
    defs.insert(format!("l{levels}"), json!({"type": "string"}));
    json!({"$ref": "#/$defs/l0", "$defs": defs})
}

#[test]
fn choices_that_multiply_are_refused_at_once() {
    check(
        chain("anyOf", 22),
        expect![
            "the schema's choices multiply: one value would be looked at more than 1000 times; give each alternative its own fields instead of nesting `anyOf` and `oneOf`"
        ],
    );
    for keyword in ["anyOf", "oneOf", "allOf"] {
        assert!(CompiledSchema::compile(&chain(keyword, 200)).is_err());
    }
    // Doubles with every level of the value rather than of the schema.
    let branch = |extra: &str| json!({"properties": {"a": {"$ref": "#"}}, "required": [extra]});
    check(
        json!({"anyOf": [branch("x"), branch("y")]}),
        expect![
            "the schema's choices multiply: one value would be looked at more than 1000 times; give each alternative its own fields instead of nesting `anyOf` and `oneOf`"
        ],
    );
    check(
        json!({"allOf": [{"items": {"$ref": "#"}}], "if": {"items": {"$ref": "#"}}}),
        expect![
            "the schema's choices multiply: one value would be looked at more than 1000 times; give each alternative its own fields instead of nesting `anyOf` and `oneOf`"
        ],
    );
    check(
        json!({"properties": {"a": {"$ref": "#"}}, "patternProperties": {"^a": {"$ref": "#"}}}),
        expect![
            "the schema's choices multiply: one value would be looked at more than 1000 times; give each alternative its own fields instead of nesting `anyOf` and `oneOf`"
        ],
    );
    assert!(CompiledSchema::compile(&chain("anyOf", 7)).is_ok());
}

#[test]
fn a_schema_that_never_ends_or_is_too_big_is_refused() {
    check(
        json!({"$ref": "#"}),
        expect![
            "a `$ref` leads back to itself without going deeper into the value, so no check would ever end"
        ],
    );
    check(
        json!({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}),
        expect![
            "a `$ref` leads back to itself without going deeper into the value, so no check would ever end"
        ],
    );
    check(
        json!({"description": "x".repeat(200_000)}),
        expect!["the schema has too many bytes; at most 131072 are allowed"],
    );
    let deep = (0..60).fold(json!({"type": "string"}), |inner, _| json!({"items": inner}));
    let below: serde_json::Map<String, Value> = (0..1_000).map(|n| (format!("a{n}"), json!(true))).collect();
    check(
        json!({"properties": { "a".repeat(10_000): { "properties": below } }}),
        expect!["the schema has too many bytes in the paths of its parts; at most 4194304 are allowed"],
    );
    check(deep, expect!["the schema has too many levels; at most 48 are allowed"]);
    let wide: Vec<Value> = (0..9_000).map(Value::from).collect();
    check(json!({"enum": wide}), expect!["the schema has too many parts; at most 8000 are allowed"]);
    let choices: Vec<Value> = (0..600).map(|_| json!({"not": {"type": "string"}})).collect();
    check(
        json!({"$defs": {"a": choices}}),
        expect!["the schema has too many choices; at most 500 are allowed"],
    );
}

#[test]
fn patterns_run_in_linear_time_or_not_at_all() {
    check(json!({"pattern": "^[a-z]+$"}), expect!["accepted"]);
    check(
        json!({"properties": {"a": {"pattern": "(a)\\1"}}}),
        expect![
            "the pattern at `/properties/a/pattern` is not usable: write a regular expression without look-around and back-references, at most 1024 bytes long and without large counted repetitions"
        ],
    );
    check(
        json!({"pattern": "^(?!a)"}),
        expect![
            "the pattern at `/pattern` is not usable: write a regular expression without look-around and back-references, at most 1024 bytes long and without large counted repetitions"
        ],
    );
    check(
        json!({"pattern": "a".repeat(1_025)}),
        expect![
            "the pattern at `/pattern` is not usable: write a regular expression without look-around and back-references, at most 1024 bytes long and without large counted repetitions"
        ],
    );
    check(
        json!({"patternProperties": {"a".repeat(1_025): true}}),
        expect![
            "the pattern at `/patternProperties` is not usable: write a regular expression without look-around and back-references, at most 1024 bytes long and without large counted repetitions"
        ],
    );
    check(
        json!({"pattern": "[\\s\\S]{0,20000}x"}),
        expect![
            "the pattern at `/pattern` is not usable: write a regular expression without look-around and back-references, at most 1024 bytes long and without large counted repetitions"
        ],
    );
}

#[test]
fn what_is_not_a_schema_is_told_in_our_words() {
    check(
        json!("string"),
        expect![[r#"the schema is not JSON Schema at "": expected an object such as {"type": "object"}"#]],
    );
    check(
        json!({"type": "text"}),
        expect![[
            r#"the schema is not JSON Schema at "/type": expected one of "array", "boolean", "integer", "null", "number", "object", "string", found "text""#
        ]],
    );
    check(
        json!({"properties": {"a": {"required": "b"}}}),
        expect![[
            r#"the schema is not JSON Schema at "/properties/a/required": expected a list, found the string "b""#
        ]],
    );
    check(
        json!({"minLength": -1}),
        expect![[
            r#"the schema is not JSON Schema at "/minLength": expected 0 or more, found the number -1"#
        ]],
    );
}

/// Values made of JSON Schema keywords, in valid and invalid places.
fn any_schema() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec![
        "$ref",
        "$defs",
        "$id",
        "$schema",
        "$anchor",
        "$dynamicRef",
        "type",
        "properties",
        "items",
        "prefixItems",
        "additionalProperties",
        "patternProperties",
        "required",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "if",
        "then",
        "else",
        "enum",
        "const",
        "pattern",
        "format",
        "minimum",
        "minLength",
        "uniqueItems",
        "contains",
        "a",
        "b",
    ]);
    let text = prop::sample::select(vec![
        "#",
        "#/$defs/a",
        "#/properties/b",
        "#/anyOf/0",
        "#/a%2",
        "#a",
        "http://x/",
        "object",
        "string",
        "array",
        "^a",
        "(",
        "date-time",
        "a",
        "b",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i8>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => prop::collection::vec((key.clone().prop_map(str::to_owned), inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_schema_makes_it_stumble(schema in any_schema(), value in any_schema()) {
        if let Ok(compiled) = CompiledSchema::compile(&schema) {
            compiled.validate(&value);
        }
    }
}
