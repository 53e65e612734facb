//! Takes an object apart field by field, and says in one manner what is wrong with a field.
//!
//! A field that is `null` counts as absent everywhere: clients write out what they did not set. Fields that nobody
//! takes stay behind; whoever reads the object decides whether that matters.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::path::Path;
use crate::responses::error::ApiError;

/// Longer values of a client are cut in errors.
const SHOWN_CHARS: usize = 64;

/// The fields of one object that are not read yet.
pub(super) struct Fields<'p> {
    pub(super) at: Path<'p>,
    /// Objects of a request are small, and each field is asked for once: a list is faster than a table.
    few: Vec<(String, Value)>,
    /// What is not small.
    many: Map<String, Value>,
}

/// The most fields that are looked through one by one. No object of the API has as many.
const FEW: usize = 64;

impl<'p> Fields<'p> {
    pub(super) fn of(value: Value, at: Path<'p>) -> Result<Fields<'p>, ApiError> {
        match value {
            Value::Object(many) if many.len() > FEW => Ok(Fields { at, few: Vec::new(), many }),
            Value::Object(few) => Ok(Fields { at, few: few.into_iter().collect(), many: Map::new() }),
            other
            @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                Err(wrong_type(&at, "an object", &other))
            }
        }
    }

    /// The field, unless it is absent or `null`.
    pub(super) fn value(&mut self, key: &str) -> Option<Value> {
        let value = match self.few.iter().position(|(name, _)| name == key) {
            Some(at) => self.few.swap_remove(at).1,
            None => self.many.swap_remove(key)?,
        };
        Some(value).filter(|value| !value.is_null())
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| !value.is_null())
    }

    /// Looks at a text without taking it.
    pub(super) fn peek(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }

    fn get(&self, key: &str) -> Option<&Value> {
        let few = self.few.iter().find(|(name, _)| name == key).map(|(_, value)| value);
        few.or_else(|| self.many.get(key))
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

    /// A string that must say something.
    pub(super) fn required_text(&mut self, key: &str) -> Result<String, ApiError> {
        let text = self.required_string(key)?;
        if text.is_empty() {
            return Err(invalid(&self.at.key(key), "a string that is not empty", "an empty string"));
        }
        Ok(text)
    }

    /// One word of a list.
    pub(super) fn word(&mut self, key: &str, known: &[&str]) -> Result<Option<String>, ApiError> {
        let Some(word) = self.string(key)? else { return Ok(None) };
        if known.contains(&word.as_str()) {
            return Ok(Some(word));
        }
        Err(invalid(&self.at.key(key), &one_of(known), &shown(&word)))
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

    /// A whole number.
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
            Some(Value::Array(list)) => bounded(list, &self.at.key(key), most).map(Some),
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

    /// What nobody took and is not `null`, in alphabetical order.
    pub(super) fn left(self) -> Vec<String> {
        let left = self.few.into_iter().chain(self.many);
        let mut left: Vec<String> = left.filter(|(_, value)| !value.is_null()).map(|(key, _)| key).collect();
        left.sort_unstable();
        left
    }
}

pub(super) fn bounded(list: Vec<Value>, at: &Path<'_>, most: usize) -> Result<Vec<Value>, ApiError> {
    if list.len() > most {
        let message = format!("`{at}` has {} entries; at most {most} are taken", list.len());
        return Err(ApiError::invalid(at.to_string(), "array_above_max_length", message));
    }
    Ok(list)
}

#[cold]
pub(super) fn missing(at: &Path<'_>, expected: &str) -> ApiError {
    ApiError::invalid(
        at.to_string(),
        "missing_required_parameter",
        format!("`{at}` is missing; it must be {expected}"),
    )
}

#[cold]
pub(super) fn wrong_type(at: &Path<'_>, expected: &str, given: &Value) -> ApiError {
    // The root has no name.
    let (place, param) = match at {
        Path::Root => ("the body".to_owned(), None),
        Path::Key(..) | Path::Index(..) => (format!("`{at}`"), Some(at.to_string())),
    };
    let message = format!("{place} must be {expected}, and is {}", kind(given));
    ApiError { param, ..ApiError::invalid("", "invalid_type", message) }
}

#[cold]
pub(super) fn invalid(at: &Path<'_>, expected: &str, given: &str) -> ApiError {
    ApiError::invalid(at.to_string(), "invalid_value", format!("`{at}` must be {expected}, and is {given}"))
}

/// Something that the API knows and this server does not do. `way_out` says what to do instead.
#[cold]
pub(super) fn unsupported(at: &Path<'_>, way_out: &str) -> ApiError {
    ApiError::invalid(
        at.to_string(),
        "unsupported_parameter",
        format!("`{at}` is not supported here; {way_out}"),
    )
}

/// A text of the client's, short enough for an error.
pub(super) fn shown(text: &str) -> String {
    let mut cut: String = text.chars().take(SHOWN_CHARS).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    format!("{cut:?}")
}

pub(super) fn one_of(known: &[&str]) -> String {
    let quoted: Vec<String> = known.iter().map(|word| format!("\"{word}\"")).collect();
    format!("one of {}", quoted.join(", "))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
