//! The edit behind `vault.updateFrontmatter`: sets, removes and extends properties of a note.
//!
//! The lines of a property change, nothing else: comments, order and quoting of all the others stay, byte for
//! byte. Text is put in place by its position and never written anew from what was read, and the result is
//! read again to prove it. A frontmatter that cannot be read strictly is not touched.
//!
//! Rules, as people know them from Obsidian:
//! - A name is matched exactly; if there is none like it, one that differs in case is meant, and its spelling
//!   stays. New properties follow the others, in the order given.
//! - Appending adds what the list does not have yet. A missing or empty property becomes a list. A single
//!   value becomes one only in `tags`, `aliases` and `cssclasses`, which are lists by meaning.
//! - A block whose last property is removed goes away, unless comments are left in it. A note without a block
//!   gets one, behind a byte order mark and with the line endings of the note.
//! - Removing what is not there changes nothing, and neither does setting what is already so.

pub(in crate::edit) mod block;
mod node;
mod place;
mod proof;
mod read;
mod wish;

use envelope::{Failure, Fault};
use serde_json::{Map, Value};

use self::block::Block;
use self::node::Node;
use self::place::Place;
use self::proof::{Expected, holds};
use self::read::{Property, Unreadable, read};
use self::wish::{Wish, Work, wishes};
use super::lines::LineEnding;
use super::splice::{Splice, spliced};
use crate::text::yaml;

/// What to do with the properties of a note. No name may stand in two of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Update {
    pub(crate) set: Map<String, Value>,
    pub(crate) remove: Vec<String>,
    /// One value, or a list of values, for each list.
    pub(crate) append: Map<String, Value>,
}

/// A note with other properties. Names are spelled as in the note.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Updated {
    pub(crate) text: String,
    pub(crate) added: Vec<String>,
    pub(crate) changed: Vec<String>,
    pub(crate) removed: Vec<String>,
    /// Already as asked for.
    pub(crate) unchanged: Vec<String>,
}

/// Changes the properties of `note`.
pub(crate) fn update(note: &str, update: &Update) -> Result<Updated, Fault> {
    let block = block::find(note);
    let body = block.as_ref().map_or("", |block| &note[block.body.clone()]);
    let properties = read(body).map_err(unreadable)?;
    let wishes = wishes(update, &properties)?;
    let newline = LineEnding::of(note).as_str();

    let mut draft = Draft {
        expected: (0..properties.len()).map(|at| Some(Expected::Same(at))).collect(),
        ..Draft::default()
    };
    for wish in &wishes {
        draft.apply(wish, body, &properties, newline)?;
    }
    let Draft { mut splices, new, expected, mut outcome } = draft;
    if splices.is_empty() && new.is_empty() {
        outcome.text = note.to_owned();
        return Ok(outcome);
    }
    splices.sort_by_key(|splice| splice.range.start);
    let mut body = spliced(body, &splices);
    body.push_str(&new);
    let expected: Vec<Expected<'_>> = expected.into_iter().flatten().collect();
    outcome.text = candidates(note, block.as_ref(), &body, newline)
        .into_iter()
        .find(|text| holds(note, &properties, text, &expected))
        .ok_or_else(|| refused("the result would not read as asked"))?;
    Ok(outcome)
}

/// The notes that the new body could make, best first.
fn candidates(note: &str, block: Option<&Block>, body: &str, newline: &str) -> Vec<String> {
    let Some(block) = block else {
        let (mark, text) = note.split_at(block::note_start(note));
        return vec![format!("{mark}---{newline}{body}---{newline}{text}")];
    };
    let with = |splice: Splice| spliced(note, &[splice]);
    let mut notes = Vec::with_capacity(2);
    if body.trim().is_empty() {
        notes.push(with(Splice { range: block.outer.clone(), text: String::new() }));
    }
    // Also for an empty body: text that begins with `---` would become frontmatter without it.
    notes.push(with(Splice { range: block.body.clone(), text: body.to_owned() }));
    notes
}

/// An edit in the making.
#[derive(Default)]
struct Draft<'a> {
    /// In the body as it is.
    splices: Vec<Splice>,
    /// Below the body.
    new: String,
    /// One for each old property, `None` when it goes, and then the new ones.
    expected: Vec<Option<Expected<'a>>>,
    outcome: Updated,
}

impl<'a> Draft<'a> {
    fn apply(
        &mut self,
        wish: &'a Wish<'a>,
        body: &str,
        properties: &'a [Property],
        newline: &str,
    ) -> Result<(), Fault> {
        let Some((at, property)) = wish.target.and_then(|at| Some((at, properties.get(at)?))) else {
            self.add(wish, body, properties, newline);
            return Ok(());
        };
        let name = property.name.as_str();
        let next = properties.get(at + 1).map_or(body.len(), |next| next.key.start);
        let place = Place::find(body, property, next)
            .ok_or_else(|| refused(&format!("`{name}` is not written as `{name}:` on a line of its own")))?;
        let (splice, expected) = match &wish.work {
            Work::Set(value) if property.value.means(value) => {
                self.outcome.unchanged.push(name.to_owned());
                return Ok(());
            }
            Work::Set(value) => (place.set(value, newline), Some(Expected::Is { name, value })),
            Work::Remove => (place.remove(), None),
            Work::Append(values) if values.is_empty() => {
                self.outcome.unchanged.push(name.to_owned());
                return Ok(());
            }
            Work::Append(values) => append(&place, property, values, newline)?,
        };
        let list = if expected.is_some() { &mut self.outcome.changed } else { &mut self.outcome.removed };
        list.push(name.to_owned());
        self.splices.push(splice);
        if let Some(slot) = self.expected.get_mut(at) {
            *slot = expected;
        }
        Ok(())
    }

    /// A property that the note does not have.
    fn add(&mut self, wish: &'a Wish<'a>, body: &str, properties: &[Property], newline: &str) {
        let owned;
        let value = match &wish.work {
            Work::Set(value) => *value,
            Work::Append(values) if !values.is_empty() => {
                owned = Value::Array(values.clone());
                &owned
            }
            Work::Append(_) | Work::Remove => {
                self.outcome.unchanged.push(wish.name.to_owned());
                return;
            }
        };
        let indent = properties.first().map_or("", |first| {
            let start = super::lines::line_start(body, first.key.start);
            &body[start..first.key.start]
        });
        let mut text = String::new();
        yaml::property(&mut text, wish.name, value, newline);
        for line in text.split_inclusive('\n') {
            self.new.push_str(indent);
            self.new.push_str(line);
        }
        self.expected.push(Some(match &wish.work {
            Work::Set(value) => Expected::Is { name: wish.name, value },
            Work::Append(values) => Expected::Longer { name: wish.name, before: &[], added: values },
            Work::Remove => return,
        }));
        self.outcome.added.push(wish.name.to_owned());
    }
}

fn append<'a>(
    place: &Place<'_>,
    property: &'a Property,
    values: &'a [Value],
    newline: &str,
) -> Result<(Splice, Option<Expected<'a>>), Fault> {
    let name = property.name.as_str();
    let expected = |before: &'a [Node]| Some(Expected::Longer { name, before, added: values });
    if property.value.is_null() || is_empty_list_text(property) {
        return Ok((place.set(&Value::Array(values.to_vec()), newline), expected(&[])));
    }
    match &property.value.kind {
        node::Kind::List { items, .. } => place
            .append(values, newline)
            .map(|splice| (splice, expected(items)))
            .ok_or_else(|| refused(&format!("the end of the list `{name}` cannot be told"))),
        node::Kind::Scalar { text, .. } if wish::is_list_by_meaning(name, text) => place
            .make_list(values, newline)
            .map(|splice| (splice, expected(std::slice::from_ref(&property.value))))
            .ok_or_else(|| refused(&format!("the value of `{name}` takes several lines"))),
        node::Kind::Scalar { .. } | node::Kind::Map { .. } | node::Kind::Alias(_) => Err(Fault::new(
            Failure::PreconditionFailed,
            format!("the property `{name}` is no list, so nothing can be appended to it"),
        )
        .hint("set the property to the whole list instead")),
    }
}

/// `tags: ""` has no tag in it.
fn is_empty_list_text(property: &Property) -> bool {
    property.value.means(&Value::String(String::new())) && wish::is_list_by_meaning(&property.name, "")
}

fn unreadable(Unreadable { line, reason }: Unreadable) -> Fault {
    // The fence is the first line of the note.
    let line = line + 1;
    Fault::new(
        Failure::PreconditionFailed,
        format!("the frontmatter cannot be edited: line {line}: {reason}"),
    )
    .hint("mend the frontmatter by replacing that line, then try again")
    .detail("line", line)
}

fn refused(reason: &str) -> Fault {
    Fault::new(
        Failure::PreconditionFailed,
        format!("the frontmatter cannot be edited without changing other parts of it: {reason}"),
    )
    .hint("change the text of the frontmatter directly")
}

#[cfg(test)]
mod tests;
