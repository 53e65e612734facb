//! Tests that shapes allow at least what their schemas do: random schemas, compared with a real validator.

use proptest::prelude::{Just, Strategy, any, prop, prop_assume, prop_oneof, proptest};
use proptest::test_runner::Config;
use serde_json::{Map, Value, json};

use super::shape::ValueShape;
use super::shape_lookup::{PathLookup, look_up};
use super::type_fit::{TypeFit, check_fit};
use crate::PathSegment;

const KEYS: [&str; 3] = ["a", "b", "c"];

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(vec!["null", "boolean", "integer", "number", "string"])
            .prop_map(|kind| json!({ "type": kind })),
        Just(json!({ "type": ["string", "null"] })),
        Just(json!({ "enum": ["x", "y"] })),
        Just(json!({ "const": "x" })),
        Just(json!({ "$ref": "#/$defs/Pair" })),
        Just(json!(true)),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 16, 3, |inner| {
        let fields =
            prop::collection::vec((prop::sample::select(KEYS.to_vec()), any::<bool>(), inner.clone()), 0..4);
        prop_oneof![
            inner.clone().prop_map(|items| json!({ "type": "array", "items": items })),
            prop::collection::vec(inner, 1..3).prop_map(|choices| json!({ "anyOf": choices })),
            (fields, any::<bool>()).prop_map(|(fields, closed)| object(fields, closed)),
        ]
    })
}

fn object(fields: Vec<(&str, bool, Value)>, closed: bool) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, always, schema) in fields {
        if properties.insert(name.to_owned(), schema).is_none() && always {
            required.push(name);
        }
    }
    let mut schema = json!({ "type": "object", "properties": properties, "required": required });
    if closed {
        schema["additionalProperties"] = json!(false);
    }
    schema
}

/// Adds the definitions that the references of a schema need.
fn document(schema: Value) -> Value {
    let pair = json!({
        "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "integer" } },
        "required": ["a"], "additionalProperties": false
    });
    json!({ "$defs": { "Pair": pair }, "anyOf": [schema] })
}

/// Returns a value that matches the schema, chosen by the numbers. Lists have at least one element.
fn sample(schema: &Value, root: &Value, dice: &mut dyn Iterator<Item = usize>) -> Value {
    let roll = dice.next().unwrap_or_default();
    if schema == &Value::Bool(true) {
        return [json!(null), json!("z"), json!(1), json!({ "a": 1 }), json!([1])][roll % 5].clone();
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return sample(root.pointer(&target[1..]).unwrap(), root, dice);
    }
    for list in ["enum", "anyOf"] {
        if let Some(choices) = schema.get(list).and_then(Value::as_array) {
            let choice = &choices[roll % choices.len()];
            return if list == "enum" { choice.clone() } else { sample(choice, root, dice) };
        }
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds[roll % kinds.len()].as_str(),
        Value::String(kind) => Some(kind.as_str()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    match kind.unwrap() {
        "null" => Value::Null,
        "boolean" => json!(roll.is_multiple_of(2)),
        "integer" => json!(roll),
        "number" => json!(0.5),
        "string" => json!(["x", "other"][roll % 2]),
        "array" => json!([sample(&schema["items"], root, dice)]),
        _ => sample_object(schema, root, dice),
    }
}

fn sample_object(schema: &Value, root: &Value, dice: &mut dyn Iterator<Item = usize>) -> Value {
    let mut map = Map::new();
    for (name, part) in schema["properties"].as_object().unwrap() {
        let always = schema["required"].as_array().unwrap().iter().any(|required| required == name);
        if always || dice.next().unwrap_or_default().is_multiple_of(2) {
            map.insert(name.clone(), sample(part, root, dice));
        }
    }
    let free = schema.get("additionalProperties").is_none() && schema["properties"].get("c").is_none();
    if free && dice.next().unwrap_or_default().is_multiple_of(3) {
        map.insert("c".to_owned(), json!("extra"));
    }
    Value::Object(map)
}

fn segment() -> impl Strategy<Value = PathSegment> {
    prop_oneof![
        3 => prop::sample::select(KEYS.to_vec()).prop_map(|key| PathSegment::Key(key.to_owned())),
        1 => (0_usize..2).prop_map(PathSegment::Index),
    ]
}

fn enter<'v>(value: &'v Value, segment: &PathSegment) -> Option<&'v Value> {
    match segment {
        PathSegment::Key(key) => value.get(key),
        PathSegment::Index(index) => value.get(index),
    }
}

fn is_valid(schema: &Value, value: &Value) -> bool {
    jsonschema::validator_for(schema).unwrap().is_valid(value)
}

/// Returns the same schema with fractions allowed, so that every valid value stays valid.
fn wider(schema: &Value) -> Value {
    match schema {
        Value::Array(items) => items.iter().map(wider).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), wider(value))).collect(),
        Value::String(word) if word == "integer" => json!("number"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

    #[test]
    fn what_a_path_finds_is_what_the_shape_foretold(
        schema in schema(),
        path in prop::collection::vec(segment(), 1..4),
        dice in prop::collection::vec(0_usize..12, 40),
    ) {
        let root = document(schema);
        let value = sample(&root, &root, &mut dice.into_iter());
        prop_assume!(is_valid(&root, &value));
        let mut shape = ValueShape::Schema { schema: &root, root: &root };
        let mut found = Some(&value);
        for segment in &path {
            let part = found.and_then(|value| enter(value, segment));
            match look_up(&shape, segment) {
                // The shape makes no prediction about an unknown value.
                PathLookup::Always(_) if shape.cases().is_none() => return Ok(()),
                PathLookup::Always(next) => {
                    assert!(found.is_none() || part.is_some(), "{segment:?} of {value} under {root}");
                    shape = next;
                }
                PathLookup::Sometimes(next) => shape = next,
                PathLookup::Never => {
                    assert!(part.is_none(), "{segment:?} of {value} under {root}");
                    return Ok(());
                }
            }
            found = part;
        }
    }

    #[test]
    fn every_value_fits_its_own_schema_and_a_wider_one(
        schema in schema(),
        dice in prop::collection::vec(0_usize..12, 40),
    ) {
        let root = document(schema);
        let value = sample(&root, &root, &mut dice.into_iter());
        let wide = wider(&root);
        for target in [&root, &wide] {
            let target = ValueShape::Schema { schema: target, root: target };
            for source in [ValueShape::Schema { schema: &root, root: &root }, ValueShape::Exactly(&value)] {
                let fit = check_fit(&source, &target);
                assert!(!matches!(fit, TypeFit::Never(_)), "{fit:?}: {value} under {root}");
            }
        }
    }

    #[test]
    fn what_never_fits_is_never_valid(
        from in schema(),
        to in schema(),
        dice in prop::collection::vec(0_usize..12, 40),
    ) {
        let (from, to) = (document(from), document(to));
        let value = sample(&from, &from, &mut dice.into_iter());
        prop_assume!(is_valid(&from, &value));
        let source = ValueShape::Schema { schema: &from, root: &from };
        let target = ValueShape::Schema { schema: &to, root: &to };
        if let TypeFit::Never(why) = check_fit(&source, &target) {
            assert!(!is_valid(&to, &value), "{value} is valid under {to}, but: {why}");
        }
        // A value is the most exact shape of itself.
        match check_fit(&ValueShape::Exactly(&value), &target) {
            TypeFit::Never(why) => assert!(!is_valid(&to, &value), "{value} is valid under {to}, but: {why}"),
            TypeFit::Yes => assert!(is_valid(&to, &value), "{value} is not valid under {to}"),
            TypeFit::Maybe(_) => {}
        }
    }
}
