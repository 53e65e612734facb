//! Turns validator errors into messages that state what the author of the value should write instead.
//!
//! Only this file reads the validator's errors. It never uses their texts, only the kind, the location and the
//! keyword; the words come from the schema itself, which contains the fields and their descriptions.

use envelope::{SchemaProblem, is_invisible, nearest};
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::{Map, Value};

use super::formatter::{
    alternatives, count, described, format_words, found, literal, name, names, options, type_name,
};
use super::reference_resolver::follow;
use super::schema_validator::MAX_PATTERN_BYTES;
use super::{SchemaError, choice_renderer};

/// Longest description that is repeated in a hint.
const DESCRIPTION_CHARS: usize = 160;

pub(super) struct ErrorRenderer<'s> {
    /// The schema.
    pub(super) root: &'s Value,
    /// The whole value that is checked.
    pub(super) value: &'s Value,
}

impl<'s> ErrorRenderer<'s> {
    /// Adds the problems of one validator error.
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
                choice_renderer::none_fits(self, error, context, problems);
            }
            ValidationErrorKind::OneOfMultipleValid { context } => {
                problems.push(choice_renderer::several_fit(self, error, context));
            }
            ValidationErrorKind::PropertyNames { error: inner } => {
                let field = inner.instance().as_str().unwrap_or_default();
                let rule = plain(inner.kind(), inner.instance());
                add(format!("{} cannot be a field name: {rule}", name(field)), self.about(error));
            }
            other => add(plain(other, error.instance()), self.about(error)),
        }
    }

    /// Returns the schema object that contains the keyword of an error.
    pub(super) fn holder(&self, error: &ValidationError<'_>) -> Option<&'s Map<String, Value>> {
        let (holder, _) = error.schema_path().as_str().rsplit_once('/')?;
        self.root.pointer(holder)?.as_object()
    }

    /// Returns the object that has fields although none are known. The validator then reports the object's location
    /// with a field's value, so the object is looked up.
    fn closed_object(&self, error: &ValidationError<'_>) -> Option<&'s Map<String, Value>> {
        let closed = error.schema_path().as_str().ends_with("/additionalProperties");
        self.value.pointer(error.instance_path().as_str())?.as_object().filter(|_| closed)
    }

    /// Returns the schema's description of the invalid value.
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

    /// A model often writes null for "nothing"; an optional field expresses that by its absence.
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
        // A field that already exists was not misspelt.
        let missing = known.iter().copied().filter(|known| error.instance().get(known).is_none());
        let list = format!("known fields: {}", names(known.iter().copied()));
        Some(match nearest(field, missing) {
            Some(meant) => format!("did you mean {}? {list}", name(meant)),
            None => list,
        })
    }
}

/// Returns the message for a schema that is itself invalid.
pub(super) fn not_a_schema(error: &ValidationError<'_>) -> SchemaError {
    let pointer = error.instance_path().as_str().to_owned();
    let is_regex = matches!(error.kind(), ValidationErrorKind::Format { format } if format == "regex");
    if is_regex || error.kind().keyword() == "pattern" {
        return SchemaError::BadPattern { pointer, limit: MAX_PATTERN_BYTES };
    }
    let nowhere = Value::Null;
    let mut problems = Vec::new();
    ErrorRenderer { root: &nowhere, value: &nowhere }.explain(error, &mut problems);
    let message = problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("; ");
    SchemaError::NotASchema { pointer, message }
}

/// Returns the first sentence of a description, on one line.
fn description(schema: &Map<String, Value>) -> Option<String> {
    let text = schema.get("description")?.as_str()?;
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let line: String = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|c| !is_invisible(*c)).take(DESCRIPTION_CHARS).collect();
    if line.is_empty() { None } else { Some(line) }
}

/// Common type errors of models, and how to fix each.
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

/// Error kinds that the limit explains completely.
pub(super) fn plain(kind: &ValidationErrorKind, value: &Value) -> String {
    use ValidationErrorKind as Kind;
    let found = || found(value);
    let items = || count(value.as_array().map_or(0, Vec::len) as u64, "item");
    let fields = || count(value.as_object().map_or(0, Map::len) as u64, "field");
    let characters = || count(value.as_str().map_or(0, |text| text.chars().count()) as u64, "character");
    match kind {
        Kind::Minimum { limit } => format!("expected {limit} or more, found {}", found()),
        Kind::Maximum { limit } => format!("expected {limit} or less, found {}", found()),
        Kind::ExclusiveMinimum { limit } => format!("expected more than {limit}, found {}", found()),
        Kind::ExclusiveMaximum { limit } => format!("expected less than {limit}, found {}", found()),
        Kind::MultipleOf { multiple_of } => {
            format!("expected a multiple of {multiple_of}, found {}", found())
        }
        Kind::MinLength { limit } => {
            format!("expected at least {}, found {}", count(*limit, "character"), characters())
        }
        Kind::MaxLength { limit } => {
            format!("expected at most {}, found {}", count(*limit, "character"), characters())
        }
        Kind::MinItems { limit } => format!("expected at least {}, found {}", count(*limit, "item"), items()),
        Kind::MaxItems { limit } => format!("expected at most {}, found {}", count(*limit, "item"), items()),
        Kind::AdditionalItems { limit } => {
            format!("expected at most {}, found {}", count(*limit as u64, "item"), items())
        }
        Kind::MinProperties { limit } => {
            format!("expected at least {}, found {}", count(*limit, "field"), fields())
        }
        Kind::MaxProperties { limit } => {
            format!("expected at most {}, found {}", count(*limit, "field"), fields())
        }
        Kind::Pattern { pattern } => {
            format!("expected text that matches {}, found {}", name(pattern), found())
        }
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "the text could not be matched against the expected pattern".to_owned()
        }
        Kind::Format { format } => format!("expected {}, found {}", format_words(format), found()),
        Kind::ContentEncoding { content_encoding } => {
            format!("expected text encoded as {}", name(content_encoding))
        }
        Kind::FromUtf8 { .. } => "expected encoded text that is UTF-8 inside".to_owned(),
        Kind::ContentMediaType { content_media_type } => {
            format!("expected text that is {}", name(content_media_type))
        }
        Kind::UniqueItems => repeated_item(value),
        Kind::Contains => "none of the items is of the kind that is asked for".to_owned(),
        Kind::FalseSchema | Kind::UnevaluatedItems { .. } => {
            "no value is allowed here: leave it out".to_owned()
        }
        Kind::Not { .. } => format!("this value is one that is ruled out: found {}", found()),
        Kind::Referencing(_) => "a reference leads nowhere in this schema".to_owned(),
        // Kinds with their own message above, found inside a field name, and keywords that are not supported.
        Kind::Custom { .. }
        | Kind::AdditionalProperties { .. }
        | Kind::AnyOf { .. }
        | Kind::Constant { .. }
        | Kind::Enum { .. }
        | Kind::OneOfMultipleValid { .. }
        | Kind::OneOfNotValid { .. }
        | Kind::PropertyNames { .. }
        | Kind::Required { .. }
        | Kind::Type { .. }
        | Kind::UnevaluatedProperties { .. } => format!("it is not what is asked for: found {}", found()),
    }
}

fn repeated_item(value: &Value) -> String {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    // Only lists that failed reach this point. The first repetition is enough, but a long list is not searched in
    // pairs.
    let repeated = items.iter().take(1_000).enumerate().find(|(index, item)| items[..*index].contains(item));
    match repeated {
        Some((index, item)) => {
            format!("expected different items, but item {index} repeats {}", literal(item))
        }
        None => "expected different items, but some repeat".to_owned(),
    }
}
