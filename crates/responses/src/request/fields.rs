//! Typed access to the fields of a JSON object, with one wording for errors.
//!
//! A field that is `null` counts as absent: clients write out fields that they did not set. Fields that were not read
//! remain; the reader of the object decides whether that is an error.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::field_path::FieldPath;
use crate::error::ApiError;

/// Longer values are cut in errors.
const SHOWN_CHARS: usize = 64;

/// The fields of one object that were not read yet.
pub(super) struct UnreadFields<'p> {
    pub(super) at: FieldPath<'p>,
    fields: Map<String, Value>,
}

impl<'p> UnreadFields<'p> {
    pub(super) fn new(value: Value, at: FieldPath<'p>) -> Result<UnreadFields<'p>, ApiError> {
        match value {
            Value::Object(fields) => Ok(UnreadFields { at, fields }),
            other
            @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                Err(wrong_type(&at, "an object", &other))
            }
        }
    }

    /// Takes a field, unless it is absent or `null`.
    pub(super) fn value(&mut self, key: &str) -> Option<Value> {
        self.fields.swap_remove(key).filter(|value| !value.is_null())
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.fields.get(key).is_some_and(|value| !value.is_null())
    }

    /// Returns a text without taking it.
    pub(super) fn peek(&self, key: &str) -> Option<&str> {
        self.fields.get(key).and_then(Value::as_str)
    }

    pub(super) fn string(&mut self, key: &str) -> Result<Option<String>, ApiError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong_type(&self.at.key(key), "a string", &other)),
        }
    }

    pub(super) fn required_string(&mut self, key: &str) -> Result<String, ApiError> {
        self.string(key)?.ok_or_else(|| missing(&self.at.key(key), "a string"))
    }

    /// Takes a string that must not be empty.
    pub(super) fn required_text(&mut self, key: &str) -> Result<String, ApiError> {
        let text = self.required_string(key)?;
        if text.is_empty() {
            return Err(invalid(&self.at.key(key), "a string that is not empty", "an empty string"));
        }
        Ok(text)
    }

    /// Takes one word of a list.
    pub(super) fn word(&mut self, key: &str, known: &[&str]) -> Result<Option<String>, ApiError> {
        let Some(word) = self.string(key)? else { return Ok(None) };
        if known.contains(&word.as_str()) {
            return Ok(Some(word));
        }
        Err(invalid(&self.at.key(key), &one_of_words(known), &quoted(&word)))
    }

    pub(super) fn boolean(&mut self, key: &str) -> Result<Option<bool>, ApiError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(wrong_type(&self.at.key(key), "true or false", &other)),
        }
    }

    pub(super) fn number(&mut self, key: &str, range: RangeInclusive<f64>) -> Result<Option<f64>, ApiError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let expected = || format!("a number from {} to {}", range.start(), range.end());
        let Some(number) = value.as_f64() else {
            return Err(wrong_type(&self.at.key(key), &expected(), &value));
        };
        if range.contains(&number) {
            return Ok(Some(number));
        }
        Err(invalid(&self.at.key(key), &expected(), &number.to_string()))
    }

    /// Takes a whole number.
    pub(super) fn count(&mut self, key: &str, least: u64) -> Result<Option<u64>, ApiError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let expected = format!("a whole number of at least {least}");
        match value.as_u64() {
            Some(count) if count >= least => Ok(Some(count)),
            Some(count) => Err(invalid(&self.at.key(key), &expected, &count.to_string())),
            None if value.is_number() => Err(invalid(&self.at.key(key), &expected, &value.to_string())),
            None => Err(wrong_type(&self.at.key(key), &expected, &value)),
        }
    }

    pub(super) fn array(&mut self, key: &str, most: usize) -> Result<Option<Vec<Value>>, ApiError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Array(list)) => check_length(list, &self.at.key(key), most).map(Some),
            Some(other) => Err(wrong_type(&self.at.key(key), "an array", &other)),
        }
    }

    pub(super) fn object(&mut self, key: &str) -> Result<Option<Map<String, Value>>, ApiError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(map)),
            Some(other) => Err(wrong_type(&self.at.key(key), "an object", &other)),
        }
    }

    /// Returns the names of unread fields that are not `null`, in alphabetical order.
    pub(super) fn unread(self) -> Vec<String> {
        let left = self.fields.into_iter();
        let mut left: Vec<String> = left.filter(|(_, value)| !value.is_null()).map(|(key, _)| key).collect();
        left.sort_unstable();
        left
    }
}

pub(super) fn check_length(
    list: Vec<Value>,
    at: &FieldPath<'_>,
    most: usize,
) -> Result<Vec<Value>, ApiError> {
    if list.len() > most {
        let message = format!("`{at}` has {} entries; at most {most} are taken", list.len());
        return Err(ApiError::invalid(at.to_string(), "array_above_max_length", message));
    }
    Ok(list)
}

pub(super) fn missing(at: &FieldPath<'_>, expected: &str) -> ApiError {
    ApiError::invalid(
        at.to_string(),
        "missing_required_parameter",
        format!("`{at}` is missing; it must be {expected}"),
    )
}

pub(super) fn wrong_type(at: &FieldPath<'_>, expected: &str, given: &Value) -> ApiError {
    // The root has no name.
    let (place, param) = match at {
        FieldPath::Root => ("the body".to_owned(), None),
        FieldPath::Key(..) | FieldPath::Index(..) => (format!("`{at}`"), Some(at.to_string())),
    };
    let message = format!("{place} must be {expected}, and is {}", type_name(given));
    ApiError { param, ..ApiError::invalid("", "invalid_type", message) }
}

pub(super) fn invalid(at: &FieldPath<'_>, expected: &str, given: &str) -> ApiError {
    ApiError::invalid(at.to_string(), "invalid_value", format!("`{at}` must be {expected}, and is {given}"))
}

/// An option of the API that this server does not support. `hint` is the alternative.
pub(super) fn unsupported(at: &FieldPath<'_>, hint: &str) -> ApiError {
    ApiError::invalid(
        at.to_string(),
        "unsupported_parameter",
        format!("`{at}` is not supported here; {hint}"),
    )
}

/// Quotes a client's text, cut for an error.
pub(super) fn quoted(text: &str) -> String {
    let mut cut: String = text.chars().take(SHOWN_CHARS).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    format!("{cut:?}")
}

pub(super) fn one_of_words(known: &[&str]) -> String {
    let quoted: Vec<String> = known.iter().map(|word| format!("\"{word}\"")).collect();
    format!("one of {}", quoted.join(", "))
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
