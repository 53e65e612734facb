//! Words for the mistakes where the keyword and its limit say it all.

use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};

use super::words::{count, format_words, found, literal, name};

/// The kinds of mistakes for which the limit says it all.
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
        // Kinds that have their own words above, met inside a field name, and keywords that we do not add.
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
    // Only lists that failed come here, and the first repetition is enough, but a long list is not searched
    // in pairs.
    let repeated = items.iter().take(1_000).enumerate().find(|(index, item)| items[..*index].contains(item));
    match repeated {
        Some((index, item)) => {
            format!("expected different items, but item {index} repeats {}", literal(item))
        }
        None => "expected different items, but some repeat".to_owned(),
    }
}
