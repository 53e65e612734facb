//! The edit behind `vault.updateFrontmatter`: sets, removes and extends properties of a note.
//!
//! Only the lines of the edited properties change. Comments, order and quoting of all other properties stay
//! byte for byte. The edit splices text in by position, does not print the parsed YAML again, and parses the
//! result again to verify it. A frontmatter that cannot be parsed strictly is refused.
//!
//! Rules, as Obsidian users know them:
//! - A name is matched exactly. Without an exact match, a name that differs only in case is used and keeps
//!   its spelling. New properties follow the existing ones, in the order given.
//! - Appending adds values that the list does not have yet. A missing or empty property becomes a list. A
//!   single value, and several such as `tags: a, b`, become a list only in `tags`, `aliases` and `cssclasses`, which
//!   are lists by definition.
//! - Properties that are written as JSON are written as YAML by the first edit that changes one, as Obsidian does.
//! - The placeholders of a template, such as `date: {{date}}`, are text.
//! - If the last property is removed, the block is removed too, unless comments are left in it. A note
//!   without a block gets one, after a byte order mark and with the line endings of the note.
//! - Removing a missing property, or setting a property to its present value, changes nothing.

pub(crate) mod block;
mod yaml_node;
mod position;
mod verify;
mod parser;
mod placeholders;
mod changes;
mod json_block;

use envelope::{Failure, Fault};
use serde_json::{Map, Value};

use self::block::FrontmatterBlock;
use self::changes::{ChangeAction, PropertyChange, resolve_changes};
use self::parser::{FrontmatterProperty, YamlError, parse_properties};
use self::position::PropertyPosition;
use self::verify::{ExpectedProperty, is_expected_result};
use self::yaml_node::YamlNode;
use super::lines::LineEnding;
use super::splice::{TextSplice, apply_splices};
use crate::yaml;

/// The requested property changes. Each name can be in only one of the three groups.
#[derive(Debug, Clone, Default)]
pub struct FrontmatterUpdate {
    pub set: Map<String, Value>,
    pub remove: Vec<String>,
    /// One value, or a list of values, to append to each list.
    pub append: Map<String, Value>,
}

/// An updated note. Names are spelled as in the note.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct UpdatedNote {
    pub text: String,
    pub added: Vec<String>,
    pub changed: Vec<String>,
    pub removed: Vec<String>,
    /// Properties that already had the requested value.
    pub unchanged: Vec<String>,
    /// The properties were JSON and are YAML now.
    pub was_json: bool,
}

/// Returns `note` with its properties changed.
///
/// Fails if the frontmatter cannot be parsed strictly, if a name is ambiguous or given twice, or if the
/// result does not verify.
pub fn update_frontmatter(note: &str, update: &FrontmatterUpdate) -> Result<UpdatedNote, Fault> {
    let newline = LineEnding::of(note).as_str();
    let converted = match block::find(note) {
        Some(block) => json_block::as_yaml(note, &block, newline)?,
        None => None,
    };
    let Some(yaml) = converted else { return update_yaml(note, update) };
    let updated = update_yaml(&yaml, update)?;
    let is_changed = !(updated.added.is_empty() && updated.changed.is_empty() && updated.removed.is_empty());
    Ok(match is_changed {
        true => UpdatedNote { was_json: true, ..updated },
        false => UpdatedNote { text: note.to_owned(), ..updated },
    })
}

fn update_yaml(note: &str, update: &FrontmatterUpdate) -> Result<UpdatedNote, Fault> {
    let block = block::find(note);
    let body = block.as_ref().map_or("", |block| &note[block.body.clone()]);
    let properties = parse_properties(body).map_err(parse_fault)?;
    let wishes = resolve_changes(update, &properties)?;
    let newline = LineEnding::of(note).as_str();

    let mut draft = FrontmatterEdit {
        expected: (0..properties.len()).map(|at| Some(ExpectedProperty::Same(at))).collect(),
        ..FrontmatterEdit::default()
    };
    for wish in &wishes {
        draft.apply(wish, body, &properties, newline)?;
    }
    let FrontmatterEdit { mut splices, new, expected, mut outcome } = draft;
    if splices.is_empty() && new.is_empty() {
        outcome.text = note.to_owned();
        return Ok(outcome);
    }
    splices.sort_by_key(|splice| splice.range.start);
    let mut body = apply_splices(body, &splices);
    body.push_str(&new);
    let expected: Vec<ExpectedProperty<'_>> = expected.into_iter().flatten().collect();
    outcome.text = candidates(note, block.as_ref(), &body, newline)
        .into_iter()
        .find(|text| is_expected_result(note, &properties, text, &expected))
        .ok_or_else(|| cannot_edit("the result would not read as asked"))?;
    Ok(outcome)
}

/// Returns the possible notes with the new body, in order of preference.
fn candidates(note: &str, block: Option<&FrontmatterBlock>, body: &str, newline: &str) -> Vec<String> {
    let Some(block) = block else {
        let (mark, text) = note.split_at(block::note_start(note));
        return vec![format!("{mark}---{newline}{body}---{newline}{text}")];
    };
    let with = |splice: TextSplice| apply_splices(note, &[splice]);
    let mut notes = Vec::with_capacity(2);
    if body.trim().is_empty() {
        notes.push(with(TextSplice { range: block.outer.clone(), text: String::new() }));
    }
    // Also tried for an empty body: without the block, text that begins with `---` would become frontmatter.
    notes.push(with(TextSplice { range: block.body.clone(), text: body.to_owned() }));
    notes
}

/// An edit that is being assembled.
#[derive(Default)]
struct FrontmatterEdit<'a> {
    /// Splices into the existing body.
    splices: Vec<TextSplice>,
    /// Text to add below the body.
    new: String,
    /// One entry for each old property (`None` if it is removed), followed by the new properties.
    expected: Vec<Option<ExpectedProperty<'a>>>,
    outcome: UpdatedNote,
}

impl<'a> FrontmatterEdit<'a> {
    fn apply(
        &mut self,
        wish: &'a PropertyChange<'a>,
        body: &str,
        properties: &'a [FrontmatterProperty],
        newline: &str,
    ) -> Result<(), Fault> {
        let Some((at, property)) = wish.target.and_then(|at| Some((at, properties.get(at)?))) else {
            self.add(wish, body, properties, newline);
            return Ok(());
        };
        let name = property.name.as_str();
        let next = properties.get(at + 1).map_or(body.len(), |next| next.key.start);
        let place = PropertyPosition::find(body, property, next).ok_or_else(|| {
            cannot_edit(&format!("`{name}` is not written as `{name}:` on a line of its own"))
        })?;
        let (splice, expected) = match &wish.work {
            ChangeAction::Set(value) if property.value.equals_json(value) => {
                self.outcome.unchanged.push(name.to_owned());
                return Ok(());
            }
            ChangeAction::Set(value) => {
                (place.set(value, newline), Some(ExpectedProperty::Is { name, value }))
            }
            ChangeAction::Remove => (place.remove(), None),
            ChangeAction::Append(values) if values.is_empty() => {
                self.outcome.unchanged.push(name.to_owned());
                return Ok(());
            }
            ChangeAction::Append(values) => append(&place, property, values, newline)?,
        };
        let list = if expected.is_some() { &mut self.outcome.changed } else { &mut self.outcome.removed };
        list.push(name.to_owned());
        self.splices.push(splice);
        if let Some(slot) = self.expected.get_mut(at) {
            *slot = expected;
        }
        Ok(())
    }

    /// Adds a property that the note does not have.
    fn add(
        &mut self,
        wish: &'a PropertyChange<'a>,
        body: &str,
        properties: &[FrontmatterProperty],
        newline: &str,
    ) {
        let owned;
        let value = match &wish.work {
            ChangeAction::Set(value) => *value,
            ChangeAction::Append(values) if !values.is_empty() => {
                owned = Value::Array(values.clone());
                &owned
            }
            ChangeAction::Append(_) | ChangeAction::Remove => {
                self.outcome.unchanged.push(wish.name.to_owned());
                return;
            }
        };
        let indent = properties.first().map_or("", |first| {
            let start = super::lines::line_start(body, first.key.start);
            &body[start..first.key.start]
        });
        let mut text = String::new();
        yaml::write_property(&mut text, wish.name, value, newline);
        for line in text.split_inclusive('\n') {
            self.new.push_str(indent);
            self.new.push_str(line);
        }
        self.expected.push(Some(match &wish.work {
            ChangeAction::Set(value) => ExpectedProperty::Is { name: wish.name, value },
            ChangeAction::Append(values) => {
                ExpectedProperty::Longer { name: wish.name, before: &[], added: values }
            }
            ChangeAction::Remove => return,
        }));
        self.outcome.added.push(wish.name.to_owned());
    }
}

fn append<'a>(
    place: &PropertyPosition<'_>,
    property: &'a FrontmatterProperty,
    values: &'a [Value],
    newline: &str,
) -> Result<(TextSplice, Option<ExpectedProperty<'a>>), Fault> {
    let name = property.name.as_str();
    let expected = |before: &'a [YamlNode]| Some(ExpectedProperty::Longer { name, before, added: values });
    if property.value.is_null() || is_empty_list_text(property) {
        return Ok((place.set(&Value::Array(values.to_vec()), newline), expected(&[])));
    }
    match &property.value.kind {
        yaml_node::NodeValue::List { items, .. } => place
            .append(values, newline)
            .map(|splice| (splice, expected(items)))
            .ok_or_else(|| cannot_edit(&format!("the end of the list `{name}` cannot be determined"))),
        yaml_node::NodeValue::Scalar { text, .. } if changes::is_list_property(name, text) => place
            .convert_to_list(values, newline)
            .map(|splice| (splice, expected(std::slice::from_ref(&property.value))))
            .ok_or_else(|| cannot_edit(&format!("the value of `{name}` takes several lines"))),
        yaml_node::NodeValue::Scalar { text, .. } if changes::list_in_text(name, text).is_some() => {
            let before = changes::list_in_text(name, text).unwrap_or_default();
            let items: Vec<Value> =
                before.into_iter().map(Value::from).chain(values.iter().cloned()).collect();
            let whole = Value::Array(items);
            Ok((place.set(&whole, newline), Some(ExpectedProperty::Whole { name, value: whole })))
        }
        yaml_node::NodeValue::Scalar { .. }
        | yaml_node::NodeValue::Map { .. }
        | yaml_node::NodeValue::Alias(_) => Err(Fault::new(
            Failure::PreconditionFailed,
            format!("the property `{name}` is not a list, so nothing can be appended to it"),
        )
        .hint("set the property to the whole list instead")),
    }
}

/// Whether the property is an empty string such as `tags: ""`, which means an empty list.
fn is_empty_list_text(property: &FrontmatterProperty) -> bool {
    property.value.equals_json(&Value::String(String::new())) && changes::is_list_property(&property.name, "")
}

fn parse_fault(YamlError { line, reason }: YamlError) -> Fault {
    // Line 1 of the note is the opening fence.
    let line = line + 1;
    Fault::new(
        Failure::PreconditionFailed,
        format!("the frontmatter cannot be edited: line {line}: {reason}"),
    )
    .hint("fix that line of the frontmatter, then try again")
    .detail("line", line)
}

fn cannot_edit(reason: &str) -> Fault {
    Fault::new(
        Failure::PreconditionFailed,
        format!("the frontmatter cannot be edited without changing other parts of it: {reason}"),
    )
    .hint("change the text of the frontmatter directly")
}

#[cfg(test)]
mod tests;
