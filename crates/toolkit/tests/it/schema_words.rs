//! Error messages for invalid values, as a table.

use expect_test::{Expect, expect};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use serde_json::{Value, json};
use toolkit::CompiledSchema;

/// The only place in this file that calls the API.
fn told(schema: &Value, value: &Value) -> String {
    let mut lines = String::new();
    for problem in CompiledSchema::compile(schema).unwrap().validate(value) {
        let mark = if problem.from_choice { " (choice)" } else { "" };
        lines.push_str(&format!("{:?}{mark}: {}", problem.pointer, problem.message));
        if let Some(hint) = problem.hint {
            lines.push_str(&format!(" -- {hint}"));
        }
        lines.push('\n');
    }
    lines
}

#[track_caller]
fn check(schema: Value, value: Value, expect: Expect) {
    expect.assert_eq(&told(&schema, &value));
}

#[track_caller]
fn check_table(rows: &[(Value, Value)], expect: Expect) {
    expect.assert_eq(&rows.iter().map(|(schema, value)| told(schema, value)).collect::<String>());
}

fn create_file() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["path", "content"],
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "Vault-relative path, `/` between segments.\n\nMore."},
            "content": {"type": "string", "description": "The note's text."},
            "ifNotExists": {"type": "boolean"},
            "collisionStrategy": {"type": "string", "enum": ["error", "create-unique", "overwrite"]},
            "limit": {"type": ["integer", "null"], "format": "uint32", "minimum": 0, "maximum": 500},
            "tags": {"type": "array", "items": {"type": "string", "pattern": "^#[a-z]+$"}, "uniqueItems": true, "maxItems": 3},
            "due": {"type": "string", "format": "date-time"},
            "range": {"anyOf": [{"$ref": "#/$defs/Range"}, {"type": "null"}]},
        },
        "$defs": {"Range": {
            "type": "object", "additionalProperties": false, "required": ["start", "end"],
            "properties": {"start": {"type": "integer"}, "end": {"type": "integer", "description": "One past the last."}},
        }},
    })
}

#[test]
fn a_valid_value_has_no_problems() {
    check(
        create_file(),
        json!({"path": "A.md", "content": "", "range": {"start": 0, "end": 2}}),
        expect![""],
    );
    check(create_file(), json!({"path": "A.md", "content": "", "range": null, "limit": null}), expect![""]);
}

// Conformance: pipeline 2.5
//     `parse_schema` checks what the model sent against the schema the model was shown.
//     In: engine/phases/parse_schema.rs
#[test]
fn everything_that_is_wrong_is_told_in_one_go_and_in_order() {
    check(
        create_file(),
        json!({"path": 3, "contents": "x", "collisionStrategy": "replace", "tags": ["#a", 2, "b", "#a"], "limit": 900,
               "range": {"start": "1", "stop": 2}, "due": "tomorrow"}),
        expect![[r##"
            "": `content` is missing -- add `content`, a string: The note's text.
            "": unknown field `contents` -- did you mean `content`? known fields: `path`, `content`, `ifNotExists`, `collisionStrategy`, `limit`, `tags`, `due`, `range`
            "/collisionStrategy": expected one of "error", "create-unique", "overwrite", found "replace"
            "/due": expected a date and time such as 2026-01-31T09:00:00Z, found the string "tomorrow"
            "/limit": expected 500 or less, found the number 900
            "/path": expected a string, found the number 3 -- write "3"
            "/range": `end` is missing -- add `end`, an integer: One past the last.
            "/range": unknown field `stop` -- known fields: `start`, `end`
            "/range/start": expected an integer, found the string "1" -- write 1 without quotes
            "/tags": expected at most 3 items, found 4 items
            "/tags": expected different items, but item 3 repeats "#a"
            "/tags/1": expected a string, found the number 2 -- write "2"
            "/tags/2": expected text that matches `^#[a-z]+$`, found the string "b"
        "##]],
    );
}

#[test]
fn a_value_of_the_wrong_type_is_met_with_the_way_to_write_it() {
    let of = |name: &str| json!({"type": name});
    check(
        of("integer"),
        json!("3"),
        expect![[r#"
        "": expected an integer, found the string "3" -- write 3 without quotes
    "#]],
    );
    check(
        of("integer"),
        json!("3.5"),
        expect![[r#"
        "": expected an integer, found the string "3.5"
    "#]],
    );
    check(
        of("integer"),
        json!(1.5),
        expect![[r#"
        "": expected an integer, found the number 1.5
    "#]],
    );
    check(
        of("boolean"),
        json!("true"),
        expect![[r#"
        "": expected true or false, found the string "true" -- write true without quotes
    "#]],
    );
    check(
        of("string"),
        json!(7),
        expect![[r#"
        "": expected a string, found the number 7 -- write "7"
    "#]],
    );
    check(
        of("string"),
        json!(["only"]),
        expect![[r#"
        "": expected a string, found a list of 1 item -- write the item itself: "only"
    "#]],
    );
    check(
        of("array"),
        json!("md"),
        expect![[r#"
        "": expected a list, found the string "md" -- write a list: ["md"]
    "#]],
    );
    check(
        of("object"),
        json!("{\"a\": 1}"),
        expect![[r#"
        "": expected an object, found the string "{\"a\": 1}" -- write the JSON itself, not a string that contains it
    "#]],
    );
    check(
        of("object"),
        json!([1, 2]),
        expect![[r#"
        "": expected an object, found a list of 2 items
    "#]],
    );
    check(
        of("number"),
        json!({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}),
        expect![[r#"
        "": expected a number, found an object with `a`, `b`, `c`, `d`, 1 more
    "#]],
    );
    check(
        json!({"type": ["string", "null"]}),
        json!(3),
        expect![[r#"
            "": expected a string or null, found the number 3 -- write "3"
        "#]],
    );
}

#[test]
fn null_for_an_optional_field_is_told_to_be_left_out() {
    check(
        create_file(),
        json!({"path": "a", "content": "b", "ifNotExists": null}),
        expect![[r#"
        "/ifNotExists": expected true or false, found null -- leave `ifNotExists` out instead
    "#]],
    );
}

#[test]
fn limits_are_told_with_what_was_found() {
    check_table(
        &[
            (json!({"minimum": 1}), json!(0)),
            (json!({"maximum": 1}), json!(2.5)),
            (json!({"exclusiveMinimum": 0}), json!(0)),
            (json!({"exclusiveMaximum": 10}), json!(10)),
            (json!({"multipleOf": 5}), json!(7)),
            (json!({"minLength": 2, "description": "A title."}), json!("é")),
            (json!({"maxLength": 2}), json!("abc")),
            (json!({"minItems": 1}), json!([])),
            (json!({"maxItems": 1}), json!([1, 2])),
            (json!({"minProperties": 1}), json!({})),
            (json!({"maxProperties": 1}), json!({"a": 1, "b": 2})),
        ],
        expect![[r#"
            "": expected 1 or more, found the number 0
            "": expected 1 or less, found the number 2.5
            "": expected more than 0, found the number 0
            "": expected less than 10, found the number 10
            "": expected a multiple of 5, found the number 7
            "": expected at least 2 characters, found 1 character -- A title.
            "": expected at most 2 characters, found 3 characters
            "": expected at least 1 item, found 0 items
            "": expected at most 1 item, found 2 items
            "": expected at least 1 field, found 0 fields
            "": expected at most 1 field, found 2 fields
        "#]],
    );
}

#[test]
fn other_mistakes_are_told_by_what_to_change() {
    check_table(
        &[
            (json!({"uniqueItems": true}), json!([1, "a", 1])),
            (json!({"contains": {"type": "string"}}), json!([1])),
            (json!({"const": "1.0"}), json!("2.0")),
            (json!({"not": {"type": "string"}}), json!("a")),
            (json!({"prefixItems": [{"type": "string"}], "items": false}), json!(["a", 1])),
            (json!({"propertyNames": {"pattern": "^[a-z]+$"}}), json!({"A b": 1})),
            (json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1})),
            (json!({"additionalProperties": false}), json!({"a": 1})),
            (json!({"unevaluatedProperties": false, "properties": {"path": {}}}), json!({"paht": 1})),
            (json!({"format": "date"}), json!("?")),
            (json!({"format": "time"}), json!("?")),
            (json!({"format": "email"}), json!("?")),
            (json!({"format": "uri"}), json!("?")),
            (json!({"format": "uuid"}), json!("?")),
            (json!({"format": "ipv4"}), json!("?")),
        ],
        expect![[r#"
            "": expected different items, but item 2 repeats 1
            "": none of the items is of the kind that is asked for
            "": expected "1.0", found "2.0"
            "": this value is one that is ruled out: found the string "a"
            "/1": no value is allowed here: leave it out
            "": `A b` cannot be a field name: expected text that matches `^[a-z]+$`, found the string "A b"
            "": `b` is missing
            "": unknown field `a` -- no fields are known here: leave it out
            "": unknown field `paht` -- did you mean `path`? known fields: `path`
            "": expected a date such as 2026-01-31, found the string "?"
            "": expected a time such as 09:00:00Z, found the string "?"
            "": expected an email address, found the string "?"
            "": expected an absolute URI such as https://example.com/page, found the string "?"
            "": expected a UUID such as 123e4567-e89b-12d3-a456-426614174000, found the string "?"
            "": expected text in the format `ipv4`, found the string "?"
        "#]],
    );
}

#[test]
fn an_enum_written_as_alternatives_reads_like_an_enum() {
    let described = json!({"oneOf": [
        {"const": "plain", "description": "As it stands."}, {"const": "regex", "description": "A pattern."}]});
    check(
        described.clone(),
        json!("regexp"),
        expect![[r#"
        "" (choice): expected one of "plain", "regex", found "regexp" -- did you mean "regex"?
    "#]],
    );
    check(
        described,
        json!(4),
        expect![[r#"
        "" (choice): expected one of "plain", "regex", found the number 4
    "#]],
    );
    check(
        json!({"oneOf": [{"enum": ["a", "b"], "type": "string"}, {"const": "c", "type": "string"}]}),
        json!("d"),
        expect![[r#"
            "" (choice): expected one of "a", "b", "c", found "d"
        "#]],
    );
}

fn patch() -> Value {
    json!({"type": "object", "properties": {"patch": {"oneOf": [
        {"type": "object", "additionalProperties": false, "required": ["kind", "text"],
         "properties": {"kind": {"const": "append"}, "text": {"type": "string", "description": "What to add."}}},
        {"type": "object", "additionalProperties": false, "required": ["kind", "start", "end"],
         "properties": {"kind": {"const": "cut"}, "start": {"type": "integer"}, "end": {"type": "integer"}}},
    ]}}})
}

#[test]
fn of_several_alternatives_the_meant_one_is_explained() {
    check(
        patch(),
        json!({"patch": {"kind": "append", "txt": "x"}}),
        expect![[r#"
        "/patch" (choice): `text` is missing -- add `text`, a string: What to add.
        "/patch" (choice): unknown field `txt` -- did you mean `text`? known fields: `kind`, `text`
    "#]],
    );
    check(
        patch(),
        json!({"patch": {"kind": "cut", "start": "0", "end": 1}}),
        expect![[r#"
        "/patch" (choice): at `/patch/start`: expected an integer, found the string "0" -- write 0 without quotes
    "#]],
    );
    check(
        patch(),
        json!({"patch": {"kind": "trim"}}),
        expect![[r#"
        "/patch" (choice): at `/patch/kind`: expected one of "append", "cut", found "trim"
    "#]],
    );
    check(
        patch(),
        json!({"patch": "append"}),
        expect![[r#"
        "/patch" (choice): expected an object with `kind`, `text` or an object with `kind`, `start`, `end`, found the string "append"
    "#]],
    );
    let text_or_list = json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]});
    check(
        text_or_list.clone(),
        json!(3),
        expect![[r#"
        "" (choice): expected a string or a list, each item a string, found the number 3
    "#]],
    );
    check(
        text_or_list,
        json!(["a", 3]),
        expect![[r#"
        "" (choice): at `/1`: expected a string, found the number 3 -- write "3"
    "#]],
    );
    let by_fields = json!({"anyOf": [
        {"type": "object", "required": ["query"]}, {"type": "object", "required": ["regex"]}]});
    check(
        by_fields,
        json!({"q": 1}),
        expect![[r#"
        "" (choice): expected an object with `query` or an object with `regex`, found an object with `q`
    "#]],
    );
}

#[test]
fn a_value_that_fits_two_alternatives_is_told_which() {
    let schema = json!({"oneOf": [
        {"type": "object", "required": ["query"]}, {"type": "object", "required": ["regex"]}, {"type": "null"}]});
    check(
        schema,
        json!({"query": "a", "regex": "b"}),
        expect![[r#"
        "" (choice): fits more than one alternative: an object with `query` or an object with `regex` -- keep the fields of one alternative only
    "#]],
    );
}

#[test]
fn what_is_repeated_is_short_and_cannot_act_on_a_terminal() {
    check(
        json!({"type": "integer"}),
        json!("x".repeat(500)),
        expect![[r#"
        "": expected an integer, found the string "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"
    "#]],
    );
    check(
        json!({"type": "integer"}),
        json!("a\u{1b}[31m\nb\u{202e}\u{2028}\u{7f}"),
        expect![[r#"
        "": expected an integer, found the string "a\u{1b}[31m\nb\u{202e}\u{2028}\u{7f}"
    "#]],
    );
    check(
        json!({"type": "integer"}),
        json!("\u{1b}".repeat(70)),
        expect![[r#"
        "": expected an integer, found the string "\u{1b}\u{1b}\u{1b}\u{1b}\u{1b}\u{1b}\u{1b}…"
    "#]],
    );
    check(
        json!({"additionalProperties": false, "properties": {"a": {}}}),
        json!({"k\u{1b}`\n\"q\"\\": 1}),
        expect![[r#"
            "": unknown field `k\u{1b}\n"q"\` -- known fields: `a`
        "#]],
    );
    check(
        json!({"enum": [{"a": "x".repeat(100)}, "y".repeat(100)]}),
        json!([1]),
        expect![[r#"
        "": expected one of {"a":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…, "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…", found a list of 1 item
    "#]],
    );
}

#[test]
fn a_flood_of_problems_is_cut_and_says_so() {
    let problems = CompiledSchema::compile(&json!({"items": {"type": "string"}}))
        .unwrap()
        .validate(&json!(vec![1; 5_000]));
    assert_eq!(problems.len(), 64);
    assert_eq!(problems[10].pointer, "/10");
    assert_eq!(problems[63].message, "4937 more problems are not listed");
}

fn any_json() -> impl Strategy<Value = Value> {
    let keys = prop_oneof![
        Just("path".to_owned()),
        Just("content".to_owned()),
        Just("patch".to_owned()),
        Just("kind".to_owned()),
        Just("range".to_owned()),
        Just("start".to_owned()),
        Just("tags".to_owned()),
        Just("next".to_owned()),
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop_oneof![Just("append"), Just("cut"), Just("error"), Just("3"), Just("{}")].prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_value_makes_it_stumble_and_it_agrees_with_the_validator(value in any_json()) {
        let recursive = json!({"type": "object", "properties": {"next": {"$ref": "#"}, "start": {"type": "integer"}},
                               "additionalProperties": {"anyOf": [{"type": "string"}, {"$ref": "#"}]}});
        for schema in [create_file(), patch(), recursive, json!({"not": {"type": "object"}}), json!(false)] {
            let compiled = CompiledSchema::compile(&schema).unwrap();
            let reference = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
            let problems = compiled.validate(&value);
            assert_eq!(problems.is_empty(), reference.is_valid(&value));
            for problem in problems {
                assert!(value.pointer(&problem.pointer).is_some(), "{problem:?}");
                assert!(!problem.message.chars().any(char::is_control), "{problem:?}");
            }
        }
    }
}
