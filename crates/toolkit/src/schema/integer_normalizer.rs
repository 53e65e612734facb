//! Normalizes integers that are written like fractions.
//!
//! To JSON Schema `1000`, `1000.0`, `1e3` and `-0` are integers; the deserializer of a Rust integer rejects the
//! last three. So that a validated value can also be deserialized, such numbers are rewritten where the schema
//! requires an integer, and only there: an unconstrained value keeps its spelling.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::reference_resolver::follow;

/// Returns `value` with every integer normalized where `schema` requires an integer.
pub(crate) fn normalize_integers<'v>(schema: &Value, value: &'v Value) -> Cow<'v, Value> {
    // Almost no value has any, and then nothing is copied.
    if !has_whole_fraction(value) {
        return Cow::Borrowed(value);
    }
    let mut value = value.clone();
    let mut here = Vec::new();
    alternatives(schema, schema, &mut here);
    rewrite(schema, &here, &mut value);
    Cow::Owned(value)
}

fn has_whole_fraction(value: &Value) -> bool {
    match value {
        Value::Number(number) => whole(number).is_some(),
        Value::Array(items) => items.iter().any(has_whole_fraction),
        Value::Object(fields) => fields.values().any(has_whole_fraction),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// Returns the integer that a fraction equals. An out-of-range number stays as it is and is rejected when
/// deserialized.
fn whole(number: &Number) -> Option<Number> {
    if !number.is_f64() {
        return None;
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
    // Printed without an exponent and without a fraction: exact, whatever the size.
    let digits = format!("{float:.0}");
    let digits = if digits == "-0" { "0" } else { digits.as_str() };
    digits.parse::<u64>().map(Number::from).or_else(|_| digits.parse::<i64>().map(Number::from)).ok()
}

/// Returns the schema itself and every schema that may apply to the same location.
fn alternatives<'s>(schema: &'s Value, root: &'s Value, found: &mut Vec<&'s Value>) {
    let schema = follow(schema, root);
    found.push(schema);
    for choice in ["anyOf", "oneOf", "allOf"] {
        for branch in schema.get(choice).and_then(Value::as_array).into_iter().flatten() {
            alternatives(branch, root, found);
        }
    }
}

fn rewrite(root: &Value, here: &[&Value], value: &mut Value) {
    match value {
        Value::Number(number) => {
            let wanted = |name: &str| here.iter().any(|schema| allows(schema, name));
            if wanted("integer")
                && !wanted("number")
                && let Some(integer) = whole(number)
            {
                *number = integer;
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                rewrite(root, &below(root, here, |schema| item_schema(schema, index)), item);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                rewrite(root, &below(root, here, |schema| field_schema(schema, name)), field);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn allows(schema: &Value, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(|known| known == name),
        Some(only) => only == name,
        None => false,
    }
}

fn below<'s>(
    root: &'s Value,
    here: &[&'s Value],
    child: impl Fn(&'s Value) -> Option<&'s Value>,
) -> Vec<&'s Value> {
    let mut found = Vec::new();
    for schema in here.iter().filter_map(|schema| child(schema)) {
        alternatives(schema, root, &mut found);
    }
    found
}

fn item_schema(schema: &Value, index: usize) -> Option<&Value> {
    schema.get("prefixItems").and_then(|list| list.get(index)).or_else(|| schema.get("items"))
}

fn field_schema<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    schema
        .get("properties")
        .and_then(|fields| fields.get(name))
        .or_else(|| schema.get("additionalProperties"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::normalize_integers;

    fn check(schema: &Value, text: &str) -> String {
        let value: Value = serde_json::from_str(text).unwrap();
        normalize_integers(schema, &value).to_string()
    }

    #[test]
    fn whole_numbers_become_integers_in_every_spelling_and_others_stay() {
        let schema = json!({"type": "integer"});
        for (sent, read) in [
            ("7", "7"),
            ("7.0", "7"),
            ("1e3", "1000"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("-3.0", "-3"),
            ("1e19", "10000000000000000000"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808.0", "-9223372036854775808"),
            ("18446744073709551616.0", "1.8446744073709552e+19"),
            ("1e20", "1e+20"),
            ("-1e19", "-1e+19"),
            ("1.5", "1.5"),
            ("1e300", "1e+300"),
            ("\"7.0\"", "\"7.0\""),
        ] {
            assert_eq!(check(&schema, sent), read, "{sent}");
        }
    }

    #[test]
    fn only_where_the_schema_asks_for_an_integer() {
        let schema = json!({
            "type": "object",
            "properties": {
                "optional": {"type": ["integer", "null"]},
                "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                "float": {"type": "number"},
                "both": {"anyOf": [{"type": "integer"}, {"type": "number"}]},
                "free": true,
                "list": {"type": "array", "items": {"$ref": "#/$defs/size"}},
                "pair": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "integer"}]},
                "nested": {"oneOf": [{"type": "object", "properties": {"n": {"type": "integer"}}}]},
                "map": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
            "$defs": {"size": {"type": "integer"}},
        });
        let sent = r#"{"optional":2.0,"either":2.0,"float":2.0,"both":2.0,"free":{"x":2.0},"list":[2.0,1e1],"pair":[2.0,2.0],"nested":{"n":2.0,"other":2.0},"map":{"k":2.0},"unknown":2.0}"#;
        let read = r#"{"optional":2,"either":2,"float":2.0,"both":2.0,"free":{"x":2.0},"list":[2,10],"pair":[2.0,2],"nested":{"n":2,"other":2.0},"map":{"k":2},"unknown":2.0}"#;
        assert_eq!(check(&schema, sent), read);
    }
}
