//! Reads the fields of an object leniently: every problem becomes a finding, and reading continues.
//!
//! A field under a wrong but recognisable name is read as if it had the right name, so that the finding about
//! the name does not hide findings about the value.

use std::collections::HashMap;

use envelope::nearest;
use serde_json::{Map, Value};

use super::unknown_field;
use crate::{FindingCode, PlanFinding, json_pointer};

/// A value with its position in the plan.
#[derive(Debug, Clone)]
pub(super) struct LocatedValue<T> {
    pub(super) pointer: String,
    pub(super) value: T,
}

/// A field of the plan format, with the wrong names that models use for it.
pub(super) struct KnownField {
    pub(super) name: &'static str,
    pub(super) synonyms: &'static [&'static str],
}

/// Collects findings about one step, or about the plan itself.
pub(super) struct FindingCollector<'a> {
    pub(super) findings: &'a mut Vec<PlanFinding>,
    pub(super) step: Option<&'a str>,
}

impl FindingCollector<'_> {
    fn extend(&mut self, finding: Option<PlanFinding>) {
        self.findings.extend(finding.map(|finding| finding.in_step(self.step)));
    }

    pub(super) fn push(&mut self, finding: PlanFinding) {
        self.findings.push(finding.in_step(self.step));
    }
}

/// The fields of one object, under their correct names.
pub(super) struct ObjectFields<'a> {
    pointer: String,
    found: HashMap<&'static str, LocatedValue<&'a Value>>,
}

impl<'a> ObjectFields<'a> {
    pub(super) fn read(
        map: &'a Map<String, Value>,
        pointer: &str,
        known: &'static [KnownField],
        notes: &mut FindingCollector<'_>,
    ) -> ObjectFields<'a> {
        let mut found = HashMap::new();
        for (key, value) in map {
            let at = LocatedValue { pointer: json_pointer::join(pointer, key), value };
            if let Some(field) = known.iter().find(|field| field.name == key) {
                found.insert(field.name, at);
                continue;
            }
            let meant = unknown_field::intended_field(key, known);
            let free = meant.filter(|name| !map.contains_key(*name) && !found.contains_key(name));
            notes.push(unknown_field::finding(key, &at.pointer, meant, free.is_some(), known));
            if let Some(name) = free {
                found.insert(name, at);
            }
        }
        ObjectFields { pointer: pointer.to_owned(), found }
    }

    pub(super) fn get(&self, name: &'static str) -> Option<&LocatedValue<&'a Value>> {
        self.found.get(name)
    }

    /// Returns an optional field; `null` counts as absent.
    fn given(&self, name: &'static str) -> Option<&LocatedValue<&'a Value>> {
        self.get(name).filter(|at| !at.value.is_null())
    }

    /// Reports the field if it is missing.
    pub(super) fn require(&self, name: &'static str, hint: &str, notes: &mut FindingCollector<'_>) {
        if !self.found.contains_key(name) {
            let finding = PlanFinding::error(
                FindingCode::MissingField,
                self.pointer.clone(),
                format!("the field `{name}` is missing"),
            );
            notes.push(finding.hint(hint));
        }
    }

    /// Like `require`, for a field whose reader treats `null` as absent.
    pub(super) fn require_value(&self, name: &'static str, hint: &str, notes: &mut FindingCollector<'_>) {
        match self.get(name) {
            Some(at) if at.value.is_null() => {
                let message = format!("the field `{name}` is null, but it has no default");
                notes
                    .push(PlanFinding::error(FindingCode::WrongType, at.pointer.clone(), message).hint(hint));
            }
            Some(_) | None => self.require(name, hint, notes),
        }
    }

    pub(super) fn text(
        &self,
        name: &'static str,
        notes: &mut FindingCollector<'_>,
    ) -> Option<LocatedValue<&'a str>> {
        let at = self.get(name)?;
        match at.value.as_str() {
            Some(value) => Some(LocatedValue { pointer: at.pointer.clone(), value }),
            None => {
                notes.push(wrong_type(at, name, "a string", "write it as text in double quotes"));
                None
            }
        }
    }

    pub(super) fn optional_text(
        &self,
        name: &'static str,
        notes: &mut FindingCollector<'_>,
    ) -> Option<LocatedValue<&'a str>> {
        self.given(name)?;
        self.text(name, notes)
    }

    pub(super) fn object(
        &self,
        name: &'static str,
        hint: &str,
        notes: &mut FindingCollector<'_>,
    ) -> Option<LocatedValue<&'a Map<String, Value>>> {
        let at = self.get(name)?;
        match at.value.as_object() {
            Some(value) => Some(LocatedValue { pointer: at.pointer.clone(), value }),
            None => {
                notes.push(wrong_type(at, name, "an object", hint));
                None
            }
        }
    }

    pub(super) fn optional_object(
        &self,
        name: &'static str,
        hint: &str,
        notes: &mut FindingCollector<'_>,
    ) -> Option<LocatedValue<&'a Map<String, Value>>> {
        self.given(name)?;
        self.object(name, hint, notes)
    }

    /// Returns the elements of a list, each with its position.
    pub(super) fn list(
        &self,
        name: &'static str,
        hint: &str,
        notes: &mut FindingCollector<'_>,
    ) -> Option<Vec<LocatedValue<&'a Value>>> {
        let at = self.get(name)?;
        let Some(items) = at.value.as_array() else {
            notes.push(wrong_type(at, name, "a list", hint));
            return None;
        };
        let place = |index: usize| json_pointer::join(&at.pointer, &index.to_string());
        Some(
            items
                .iter()
                .enumerate()
                .map(|(index, value)| LocatedValue { pointer: place(index), value })
                .collect(),
        )
    }

    /// Returns the strings of a list; reports the other elements.
    pub(super) fn texts(
        &self,
        name: &'static str,
        notes: &mut FindingCollector<'_>,
    ) -> Vec<LocatedValue<&'a str>> {
        if let Some(LocatedValue { pointer, value: Value::String(value) }) = self.get(name) {
            // A single text instead of a list of one is unambiguous, so it is checked as well.
            let hint = format!("write `\"{name}\": [\"{value}\"]`");
            notes.extend(self.get(name).map(|at| wrong_type(at, name, "a list", &hint)));
            return vec![LocatedValue { pointer: pointer.clone(), value }];
        }
        let hint = format!("write `\"{name}\": [\"…\"]`, or leave it out");
        let mut texts = Vec::new();
        for at in self.list(name, &hint, notes).unwrap_or_default() {
            match at.value.as_str() {
                Some(value) => texts.push(LocatedValue { pointer: at.pointer, value }),
                None => {
                    notes.push(wrong_type(
                        &at,
                        name,
                        "a string",
                        "write each entry as text in double quotes",
                    ));
                }
            }
        }
        texts
    }

    /// Returns a whole number within inclusive bounds.
    pub(super) fn whole(
        &self,
        name: &'static str,
        (min, max): (u64, u64),
        notes: &mut FindingCollector<'_>,
    ) -> Option<LocatedValue<u64>> {
        let at = self.given(name)?;
        let range = format!("write a whole number from {min} to {max}");
        let Some(value) = at.value.as_u64() else {
            if at.value.is_i64() {
                let message = format!("`{name}` is {}, which is below {min}", at.value);
                notes
                    .push(PlanFinding::error(FindingCode::BadValue, at.pointer.clone(), message).hint(range));
            } else if at.value.is_f64() {
                let message = format!("`{name}` must be a whole number, but this is {}", at.value);
                notes.push(
                    PlanFinding::error(FindingCode::WrongType, at.pointer.clone(), message).hint(range),
                );
            } else {
                notes.push(wrong_type(at, name, "a whole number", &range));
            }
            return None;
        };
        if value < min || value > max {
            let side = if value < min { format!("below {min}") } else { format!("above {max}") };
            let message = format!("`{name}` is {value}, which is {side}");
            notes.push(PlanFinding::error(FindingCode::BadValue, at.pointer.clone(), message).hint(range));
            return None;
        }
        Some(LocatedValue { pointer: at.pointer.clone(), value })
    }

    /// Returns a boolean; `None` if the field is absent.
    pub(super) fn flag(&self, name: &'static str, notes: &mut FindingCollector<'_>) -> Option<bool> {
        let at = self.given(name)?;
        if !at.value.is_boolean() {
            notes.push(wrong_type(at, name, "true or false", "write `true` or `false`, without quotes"));
        }
        at.value.as_bool()
    }

    /// Returns one of a closed list of words.
    pub(super) fn choice<T: Copy>(
        &self,
        name: &'static str,
        allowed: &[(&'static str, T)],
        notes: &mut FindingCollector<'_>,
    ) -> Option<LocatedValue<T>> {
        let at = self.optional_text(name, notes)?;
        if let Some((_, value)) = allowed.iter().find(|(word, _)| *word == at.value) {
            return Some(LocatedValue { pointer: at.pointer, value: *value });
        }
        let words = || allowed.iter().map(|(word, _)| *word);
        let list = words().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let spelled = at.value.replace(['_', ' '], "-");
        let hint = match nearest(&spelled, words()) {
            _ if allowed.len() == 1 => format!("write {list}"),
            Some(word) => format!("did you mean `{word}`? Allowed are {list}"),
            None => format!("allowed are {list}"),
        };
        let message = format!("`{}` is not a value of `{name}`", at.value);
        notes.push(PlanFinding::error(FindingCode::BadValue, at.pointer, message).hint(hint));
        None
    }
}

pub(super) fn wrong_type(at: &LocatedValue<&Value>, name: &str, wanted: &str, hint: &str) -> PlanFinding {
    let message = format!("`{name}` must be {wanted}, but this is {}", describe(at.value));
    PlanFinding::error(FindingCode::WrongType, at.pointer.clone(), message).hint(hint)
}

/// Returns the JSON type of a value in words.
pub(super) fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
