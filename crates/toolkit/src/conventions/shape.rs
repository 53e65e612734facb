//! Shape of a tool's schemas: objects that list their fields and accept no others.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// One object of a schema and its location.
pub(super) struct ObjectSchema<'a> {
    /// Location, such as `input.range` or `output.items[]`.
    pub(super) at: String,
    pub(super) schema: &'a Map<String, Value>,
}

impl<'a> ObjectSchema<'a> {
    pub(super) fn properties(&self) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
        let properties = self.schema.get("properties").and_then(Value::as_object);
        properties.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
    }

    pub(super) fn requires(&self, field: &str) -> bool {
        let required = self.schema.get("required").and_then(Value::as_array);
        required.into_iter().flatten().any(|name| name == field)
    }

    /// True for an explicitly declared map from any key to a value, as opposed to a struct that is not strict by
    /// mistake.
    fn is_free_form(&self) -> bool {
        let listed =
            self.schema.get("properties").and_then(Value::as_object).is_some_and(|map| !map.is_empty());
        let open = self.schema.get("additionalProperties").is_some_and(|value| value != &Value::Bool(false));
        open && !listed
    }
}

pub(super) fn check(side: &str, schema: &Value, problems: &mut Vec<String>) {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        problems.push(format!("{side}: make it a struct, so that its schema is of type `object`"));
        return;
    }
    for object in objects(side, schema) {
        let strict = object.schema.get("additionalProperties") == Some(&Value::Bool(false));
        let is_root = object.at == side;
        if !strict && (is_root || !object.is_free_form()) {
            problems.push(format!(
                "{}: refuse unknown fields (`#[serde(deny_unknown_fields)]`, `additionalProperties: false`)",
                object.at
            ));
        }
        let required = object.schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if object.properties().all(|(known, _)| known != name) {
                problems.push(format!("{}: `required` names `{name}`, which is not a property", object.at));
            }
        }
    }
}

/// Returns every object of a schema, the root first, each once however often it is referenced.
pub(super) fn objects<'a>(side: &str, schema: &'a Value) -> Vec<ObjectSchema<'a>> {
    let mut walk = ObjectCollector { root: schema, followed: HashSet::new(), found: Vec::new() };
    walk.visit(schema, side.to_owned());
    walk.found
}

struct ObjectCollector<'a> {
    root: &'a Value,
    followed: HashSet<&'a str>,
    found: Vec<ObjectSchema<'a>>,
}

impl<'a> ObjectCollector<'a> {
    fn visit(&mut self, schema: &'a Value, at: String) {
        let Some(map) = schema.as_object() else { return };
        if let Some(reference) = map.get("$ref").and_then(Value::as_str)
            && self.followed.insert(reference)
            && let Some(target) = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer))
        {
            self.visit(target, at.clone());
        }
        if is_object(map) {
            let object = ObjectSchema { at: at.clone(), schema: map };
            let properties: Vec<_> = object.properties().collect();
            self.found.push(object);
            for (name, property) in properties {
                self.visit(property, format!("{at}.{name}"));
            }
        }
        for choice in ["anyOf", "oneOf", "allOf"] {
            for branch in map.get(choice).and_then(Value::as_array).into_iter().flatten() {
                self.visit(branch, at.clone());
            }
        }
        if let Some(items) = map.get("items") {
            self.visit(items, format!("{at}[]"));
        }
        if let Some(values) = map.get("additionalProperties") {
            self.visit(values, format!("{at}.*"));
        }
    }
}

fn is_object(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == "object",
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        _ => schema.contains_key("properties"),
    }
}

/// Adds `required: []` where the derived schema omits it: readers of a published schema need not know what its
/// absence means.
pub(crate) fn explicit_required(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let is_struct = is_object(map) && map.get("properties").is_some_and(Value::is_object);
            let is_closed = is_object(map) && map.get("additionalProperties") == Some(&Value::Bool(false));
            if (is_struct || is_closed) && !map.contains_key("required") {
                map.insert("required".to_owned(), Value::Array(Vec::new()));
            }
            for (key, value) in map.iter_mut() {
                // Example values are data, not schemas.
                if !matches!(key.as_str(), "default" | "const" | "enum" | "examples") {
                    explicit_required(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(explicit_required),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
