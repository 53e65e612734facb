//! Turns what the validator found into what the author of the value should write instead.
//!
//! The only file that reads the validator's errors. Its texts are never used, only the kind, the place and
//! the keyword; the words come from the schema itself, which knows the fields and what they are for.

use envelope::{SchemaProblem, is_invisible, nearest};
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::{Map, Value};

use super::limits::plain;
use super::reference::follow;
use super::screen::MAX_PATTERN_BYTES;
use super::words::{alternatives, described, found, literal, name, names, options, type_name};
use super::{SchemaRefused, choice};

/// The longest description that is repeated in a hint.
const DESCRIPTION_CHARS: usize = 160;

pub(super) struct Explainer<'s> {
    /// The schema.
    pub(super) root: &'s Value,
    /// The whole value that is checked.
    pub(super) value: &'s Value,
}

impl<'s> Explainer<'s> {
    /// Adds the problems that one error stands for.
    #[allow(clippy::wildcard_enum_match_arm, reason = "`plain` names every other kind")]
    pub(super) fn explain(&self, error: &ValidationError<'_>, problems: &mut Vec<SchemaProblem>) {
        let mut add = |message: String, hint: Option<String>| {
            problems.push(SchemaProblem {
                pointer: error.instance_path().as_str().to_owned(),
                message,
                hint,
                from_choice: false,
            });
        };
        match error.kind() {
            ValidationErrorKind::Type { kind } => {
                let (message, hint) = self.wrong_type(error, kind);
                add(message, hint);
            }
            ValidationErrorKind::Required { property } => {
                let field = property.as_str().unwrap_or_default();
                add(format!("{} is missing", name(field)), self.field_hint(error, field));
            }
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                for field in unexpected {
                    add(format!("unknown field {}", name(field)), self.known_fields(error, field));
                }
            }
            ValidationErrorKind::FalseSchema if self.closed_object(error).is_some() => {
                for field in self.closed_object(error).into_iter().flat_map(Map::keys) {
                    add(format!("unknown field {}", name(field)), self.known_fields(error, field));
                }
            }
            ValidationErrorKind::Enum { options: allowed } => {
                let allowed: Vec<&Value> = allowed.as_array().into_iter().flatten().collect();
                let hint = nearest_option(error.instance(), &allowed).or_else(|| self.about(error));
                add(not_an_option(error.instance(), &allowed), hint);
            }
            ValidationErrorKind::Constant { expected_value } => {
                add(not_an_option(error.instance(), &[expected_value]), None);
            }
            ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
                choice::none_fits(self, error, context, problems);
            }
            ValidationErrorKind::OneOfMultipleValid { context } => {
                problems.push(choice::several_fit(self, error, context));
            }
            ValidationErrorKind::PropertyNames { error: inner } => {
                let field = inner.instance().as_str().unwrap_or_default();
                let rule = plain(inner.kind(), inner.instance());
                add(format!("{} cannot be a field name: {rule}", name(field)), self.about(error));
            }
            other => add(plain(other, error.instance()), self.about(error)),
        }
    }

    /// The schema object that holds the keyword of an error.
    pub(super) fn holder(&self, error: &ValidationError<'_>) -> Option<&'s Map<String, Value>> {
        let (holder, _) = error.schema_path().as_str().rsplit_once('/')?;
        self.root.pointer(holder)?.as_object()
    }

    /// The object that has fields though none is known. The validator then reports the object's place with
    /// a field's value, so the object is looked up.
    fn closed_object(&self, error: &ValidationError<'_>) -> Option<&'s Map<String, Value>> {
        let closed = error.schema_path().as_str().ends_with("/additionalProperties");
        self.value.pointer(error.instance_path().as_str())?.as_object().filter(|_| closed)
    }

    /// What the schema says about the value that is wrong.
    fn about(&self, error: &ValidationError<'_>) -> Option<String> {
        self.holder(error).and_then(description)
    }

    fn wrong_type(&self, error: &ValidationError<'_>, kind: &TypeKind) -> (String, Option<String>) {
        let mut types: Vec<&str> = match kind {
            TypeKind::Single(single) => vec![single.as_str()],
            TypeKind::Multiple(set) => set.iter().map(|json_type| json_type.as_str()).collect(),
        };
        let value = error.instance();
        // "A string or null" reads better than the order of a bit set.
        types.sort_by_key(|json_type| *json_type == "null");
        let expected = alternatives(types.iter().map(|json_type| type_name(json_type).to_owned()));
        let hint = slip(value, &types)
            .or_else(|| self.can_be_left_out(error).filter(|_| value.is_null()))
            .or_else(|| self.about(error));
        (format!("expected {expected}, found {}", found(value)), hint)
    }

    /// A model often writes null for "nothing"; an optional field says that by its absence.
    fn can_be_left_out(&self, error: &ValidationError<'_>) -> Option<String> {
        let (field_schema, _) = error.schema_path().as_str().rsplit_once('/')?;
        let (properties, field) = field_schema.rsplit_once('/')?;
        let holder = self.root.pointer(properties.strip_suffix("/properties")?)?;
        let required = holder.get("required").and_then(Value::as_array);
        let optional = required.is_none_or(|required| !required.iter().any(|name| name == field));
        optional.then(|| format!("leave {} out instead", name(field)))
    }

    fn field_hint(&self, error: &ValidationError<'_>, field: &str) -> Option<String> {
        let schema = self.holder(error)?.get("properties")?.get(field)?;
        let expected = described(schema, self.root);
        let about = schema
            .as_object()
            .and_then(description)
            .or_else(|| follow(schema, self.root).as_object().and_then(description));
        Some(match about {
            Some(about) => format!("add {}, {expected}: {about}", name(field)),
            None => format!("add {}, {expected}", name(field)),
        })
    }

    fn known_fields(&self, error: &ValidationError<'_>, field: &str) -> Option<String> {
        let known = self.holder(error)?.get("properties").and_then(Value::as_object);
        let Some(known) = known.filter(|known| !known.is_empty()) else {
            return Some("no fields are known here: leave it out".to_owned());
        };
        let known: Vec<&str> = known.keys().map(String::as_str).collect();
        // A field that is there already was not misspelt.
        let missing = known.iter().copied().filter(|known| error.instance().get(known).is_none());
        let list = format!("known fields: {}", names(known.iter().copied()));
        Some(match nearest(field, missing) {
            Some(meant) => format!("did you mean {}? {list}", name(meant)),
            None => list,
        })
    }
}

/// The message for a schema that is itself not valid.
pub(super) fn not_a_schema(error: &ValidationError<'_>) -> SchemaRefused {
    let pointer = error.instance_path().as_str().to_owned();
    let is_regex = matches!(error.kind(), ValidationErrorKind::Format { format } if format == "regex");
    if is_regex || error.kind().keyword() == "pattern" {
        return SchemaRefused::BadPattern { pointer, limit: MAX_PATTERN_BYTES };
    }
    let nowhere = Value::Null;
    let mut problems = Vec::new();
    Explainer { root: &nowhere, value: &nowhere }.explain(error, &mut problems);
    let message = problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("; ");
    SchemaRefused::NotASchema { pointer, message }
}

/// A first sentence of a description, on one line.
fn description(schema: &Map<String, Value>) -> Option<String> {
    let text = schema.get("description")?.as_str()?;
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let line: String = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|c| !is_invisible(*c)).take(DESCRIPTION_CHARS).collect();
    if line.is_empty() { None } else { Some(line) }
}

/// The mistakes that models make with types, and the way out of each.
fn slip(value: &Value, types: &[&str]) -> Option<String> {
    let wants = |json_type: &str| types.contains(&json_type);
    match value {
        Value::String(text) => {
            let parsed: Value = serde_json::from_str(text.trim()).unwrap_or_default();
            let bare = (parsed.is_number() && (wants("number") || (wants("integer") && is_whole(&parsed))))
                || (parsed.is_boolean() && wants("boolean"));
            if bare {
                Some(format!("write {parsed} without quotes"))
            } else if (parsed.is_object() && wants("object")) || (parsed.is_array() && wants("array")) {
                Some("write the JSON itself, not a string that contains it".to_owned())
            } else if wants("array") {
                Some(format!("write a list: [{}]", literal(value)))
            } else {
                None
            }
        }
        Value::Number(_) | Value::Bool(_) if wants("string") => Some(format!("write \"{value}\"")),
        Value::Array(items) if items.len() == 1 && items[0].is_string() && wants("string") => {
            Some(format!("write the item itself: {}", literal(&items[0])))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.is_u64()
}

pub(super) fn not_an_option(value: &Value, allowed: &[&Value]) -> String {
    let found = match value {
        Value::String(_) => literal(value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => found(value),
    };
    format!("expected {}, found {found}", options(allowed))
}

pub(super) fn nearest_option(value: &Value, allowed: &[&Value]) -> Option<String> {
    let meant = nearest(value.as_str()?, allowed.iter().filter_map(|option| option.as_str()))?;
    Some(format!("did you mean {}?", literal(&Value::from(meant))))
}
