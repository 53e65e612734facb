//! References in the spelling of other languages, and texts that were meant as references.
//!
//! What the template compiler leaves as text is looked at once more here: `{{item.path}}`, `${item.path}`,
//! `steps.read.content` and the like are errors when what they name exists, because then there is no doubt
//! about what was meant. A text that names nothing of this plan is left alone.

use std::collections::HashSet;

use envelope::{StepId, VarName};
use serde_json::Value;

use super::follow::{Found, follow};
use super::place::{Place, spell};
use super::{foreign_braces, strings, template_notes};
use crate::reference::Spelled;
use crate::{Finding, FindingCode, Position, Reference, Root, TemplateNote};

/// Checks every string of a template, together with what the compiler noticed about them.
pub(super) fn check(
    place: &Place<'_, '_>,
    raw: &Value,
    notes: Vec<TemplateNote>,
    findings: &mut Vec<Finding>,
) {
    let mut explained = HashSet::new();
    strings::each(raw, "", &mut |at, _, text| {
        if let Some(finding) = misspelt(place, text) {
            let pointer = format!("{}{at}", place.pointer);
            findings.push(Finding { pointer, ..finding }.in_step(place.label));
            explained.insert(at.to_owned());
        }
    });
    let rest = notes
        .into_iter()
        .filter(|note| !explained.contains(&note.pointer) && !template_notes::is_escaped(note, raw))
        .collect();
    template_notes::report(place, rest, findings);
}

fn misspelt(place: &Place<'_, '_>, text: &str) -> Option<Finding> {
    let whole = text.strip_prefix('$').map(|after| Reference::read(after, &place.scope));
    if let Some(Spelled::Reference(_)) = whole {
        return None;
    }
    bare(place, text)
        .or_else(|| dollar_word(place, text))
        .or_else(|| foreign_braces::doubled(place, text))
        .or_else(|| foreign_braces::with_dollar(place, text))
        .or_else(|| foreign_braces::with_spaces(place, text))
        .or_else(|| dollar_in_text(place, text))
}

/// The reference that a piece of text was meant as, if what it names exists.
pub(super) fn meaning(place: &Place<'_, '_>, inner: &str) -> Option<Reference> {
    let inner = inner.trim().trim_start_matches('$').trim_start_matches('.');
    let reference = match Reference::read(inner, &place.scope) {
        Spelled::Reference(reference) => reference,
        Spelled::Unscoped { word, path } => {
            let reference = named(place, word)?;
            // A step's name alone, such as `{{summary}}`, is too often just a word.
            if path.is_empty() && matches!(reference.root, Root::Steps(_)) {
                return None;
            }
            let spelled = format!("{}{path}", reference.to_string().trim_start_matches('$'));
            match Reference::read(&spelled, &place.scope) {
                Spelled::Reference(reference) => reference,
                Spelled::Bad(_) | Spelled::Unscoped { .. } | Spelled::Other => return None,
            }
        }
        Spelled::Bad(_) | Spelled::Other => return None,
    };
    exists(place, &reference).then_some(reference)
}

/// The step or variable with this name.
fn named(place: &Place<'_, '_>, word: &str) -> Option<Reference> {
    let root = if place.world.steps.contains_key(word) {
        Root::Steps(StepId::parse(word).ok()?)
    } else if place.world.vars.contains_key(word) {
        Root::Vars(VarName::parse(word).ok()?)
    } else {
        return None;
    };
    Some(Reference { root, path: Vec::new() })
}

fn exists(place: &Place<'_, '_>, reference: &Reference) -> bool {
    match &reference.root {
        // A step that speaks of itself is more likely a text about plans than a reference.
        Root::Steps(id) => place.world.steps.get(id.as_str()).is_some_and(|step| Some(*step) != place.step),
        Root::Vars(name) => place.world.vars.contains_key(name.as_str()),
        Root::Item(_) | Root::Index(_) => true,
    }
}

/// `steps.read.content`, `item.path`: a whole reference without its dollar.
fn bare(place: &Place<'_, '_>, text: &str) -> Option<Finding> {
    let Spelled::Reference(reference) = Reference::read(text, &place.scope) else {
        return None;
    };
    let meant = !reference.path.is_empty() && exists(place, &reference);
    let sure = match &reference.root {
        Root::Steps(_) | Root::Vars(_) => {
            meant || matches!(reference.root, Root::Vars(_)) && exists(place, &reference)
        }
        // `note.md` is a file name, unless the item really has such a field.
        Root::Item(_) => meant && item_has(place, &reference),
        Root::Index(_) => false,
    };
    sure.then(|| {
        Finding::error(
            FindingCode::BadReference,
            "",
            format!("`{text}` is plain text, because it has no `$`"),
        )
        .hint(format!("write `{}`", spell(&reference, Position::Whole)))
    })
}

fn item_has(place: &Place<'_, '_>, reference: &Reference) -> bool {
    let mut shape = place.item.clone();
    reference.path.iter().all(|segment| {
        if shape.cases().is_none() {
            return false;
        }
        match follow(&shape, segment) {
            Found::Always(next) | Found::Sometimes(next) => {
                shape = next;
                true
            }
            Found::Never => false,
        }
    })
}

/// `$read.content`, `$.steps.read.content`, `$item.path` outside of a foreach.
fn dollar_word(place: &Place<'_, '_>, text: &str) -> Option<Finding> {
    let after = text.strip_prefix('$')?;
    let finding = |hint: String| {
        Finding::error(
            FindingCode::BadReference,
            "",
            format!("`{text}` is not a reference, so it stays as it is"),
        )
        .hint(hint)
    };
    if let Some(inner) = after.strip_prefix('.') {
        let reference = meaning(place, inner)?;
        return Some(finding(format!("write `{}`", spell(&reference, Position::Whole))));
    }
    if let Some(reference) = quoted_key(place, after) {
        return Some(finding(format!("write `{}`", spell(&reference, Position::Whole))));
    }
    let Spelled::Unscoped { word, path } = Reference::read(after, &place.scope) else {
        return None;
    };
    if let Some(reference) = meaning(place, after) {
        return Some(finding(format!("write `{}`", spell(&reference, Position::Whole))));
    }
    let loops = matches!(word, "item" | "index" | "element" | "entry");
    (loops && place.scope.item_name.is_none()).then(|| {
        if place.step.is_none() {
            return finding(format!("there is no item here; refer to a step, as in `$steps.<id>{path}`"));
        }
        finding(format!(
            "this step has no foreach; add `\"foreach\": {{\"from\": …, \"itemName\": \"item\"}}`, \
             or refer to a step: `$steps.<id>{path}`"
        ))
    })
}

/// `steps["read"].content`, `steps.read['content']`.
fn quoted_key(place: &Place<'_, '_>, after: &str) -> Option<Reference> {
    if !after.contains(['"', '\'']) {
        return None;
    }
    let dotted = ["[\"", "['", "\"]", "']"].iter().zip([".", ".", "", ""]);
    let dotted = dotted.fold(after.to_owned(), |text, (from, to)| text.replace(from, to));
    meaning(place, &dotted)
}

/// `Summary: $steps.read.content`: only a whole string can be a `$` reference.
fn dollar_in_text(place: &Place<'_, '_>, text: &str) -> Option<Finding> {
    let start = if text.starts_with("$$") { 2 } else { 0 };
    for (at, _) in text.match_indices('$').filter(|(at, _)| *at >= start) {
        let Some(rest) = text.get(at + 1..) else {
            continue;
        };
        let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']');
        let end = rest.find(|c: char| !is_path(c)).unwrap_or(rest.len());
        let path = rest.get(..end).unwrap_or_default().trim_end_matches(['.', '-', '[']);
        let Spelled::Reference(reference) = Reference::read(path, &place.scope) else {
            continue;
        };
        if !reference.path.is_empty() && exists(place, &reference) {
            let message = format!(
                "`${path}` inside a text is not replaced; only a whole string can be a `$` reference"
            );
            let (reference, text) = place.without_text(&reference);
            let hint = format!("inside a text, write `{}{text}`", spell(&reference, Position::InText));
            return Some(Finding::error(FindingCode::BadReference, "", message).hint(hint));
        }
    }
    None
}
