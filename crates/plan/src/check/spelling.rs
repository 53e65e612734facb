//! Finds references in the syntax of other languages, and text that was meant as a reference.
//!
//! This checks the text that the template compiler left unchanged: `{{item.path}}`, `${item.path}`,
//! `steps.read.content` and the like are errors if the value they name exists, because then the intention is
//! clear. Text that names nothing in this plan is accepted.

use std::collections::HashSet;

use envelope::{StepId, VarName};
use serde_json::Value;

use super::shape_lookup::{PathLookup, look_up};
use super::template_context::{TemplateContext, as_written};
use super::{foreign_braces, template_notes};
use crate::reference::ReferenceParse;
use crate::{
    FindingCode, PlanFinding, Reference, ReferencePosition, ReferenceRoot, TemplateNote, json_pointer,
};

/// Checks every string of a template, together with the compiler's notes about it.
pub(super) fn check(
    place: &TemplateContext<'_, '_>,
    raw: &Value,
    notes: Vec<TemplateNote>,
    findings: &mut Vec<PlanFinding>,
) {
    let mut explained = HashSet::new();
    json_pointer::visit_strings(raw, "", &mut |at, _, text| {
        if let Some(finding) = misspelt_reference(place, text) {
            let pointer = format!("{}{at}", place.pointer);
            findings.push(PlanFinding { pointer, ..finding }.in_step(place.label));
            explained.insert(at.to_owned());
        }
    });
    let rest = notes.into_iter().filter(|note| !explained.contains(&note.pointer)).collect();
    template_notes::report(place, rest, findings);
}

fn misspelt_reference(place: &TemplateContext<'_, '_>, text: &str) -> Option<PlanFinding> {
    let whole = text.strip_prefix('$').map(|after| Reference::parse(after, &place.scope));
    if let Some(ReferenceParse::Reference(_)) = whole {
        return None;
    }
    bare_reference(place, text)
        .or_else(|| dollar_word(place, text))
        .or_else(|| foreign_braces::doubled_braces(place, text))
        .or_else(|| foreign_braces::with_dollar(place, text))
        .or_else(|| foreign_braces::with_spaces(place, text))
        .or_else(|| dollar_in_text(place, text))
}

/// Returns the reference that a text was meant as, if the value it names exists.
pub(super) fn intended_reference(place: &TemplateContext<'_, '_>, inner: &str) -> Option<Reference> {
    let inner = inner.trim().trim_start_matches('$').trim_start_matches('.');
    let reference = match Reference::parse(inner, &place.scope) {
        ReferenceParse::Reference(reference) => reference,
        ReferenceParse::Unscoped { word, path } => {
            let reference = reference_to_name(place, word)?;
            // A step's name alone, such as `{{summary}}`, is often an ordinary word.
            if path.is_empty() && matches!(reference.root, ReferenceRoot::Steps(_)) {
                return None;
            }
            let spelled = format!("{}{path}", reference.to_string().trim_start_matches('$'));
            match Reference::parse(&spelled, &place.scope) {
                ReferenceParse::Reference(reference) => reference,
                ReferenceParse::Bad(_) | ReferenceParse::Unscoped { .. } | ReferenceParse::Other => {
                    return None;
                }
            }
        }
        ReferenceParse::Bad(_) | ReferenceParse::Other => return None,
    };
    exists(place, &reference).then_some(reference)
}

/// Returns a reference to the step or variable with this name.
fn reference_to_name(place: &TemplateContext<'_, '_>, word: &str) -> Option<Reference> {
    let root = if place.world.steps.contains_key(word) {
        ReferenceRoot::Steps(StepId::parse(word).ok()?)
    } else if place.world.vars.contains_key(word) {
        ReferenceRoot::Vars(VarName::parse(word).ok()?)
    } else {
        return None;
    };
    Some(Reference { root, path: Vec::new() })
}

fn exists(place: &TemplateContext<'_, '_>, reference: &Reference) -> bool {
    match &reference.root {
        // A step that names itself is more likely a text about plans than a reference.
        ReferenceRoot::Steps(id) => {
            place.world.steps.get(id.as_str()).is_some_and(|step| Some(*step) != place.step)
        }
        ReferenceRoot::Vars(name) => place.world.vars.contains_key(name.as_str()),
        ReferenceRoot::Item(_) | ReferenceRoot::Index(_) => true,
    }
}

/// Reports `steps.read.content` or `item.path`: a whole reference without its dollar sign.
fn bare_reference(place: &TemplateContext<'_, '_>, text: &str) -> Option<PlanFinding> {
    let ReferenceParse::Reference(reference) = Reference::parse(text, &place.scope) else {
        return None;
    };
    let meant = !reference.path.is_empty() && exists(place, &reference);
    let sure = match &reference.root {
        ReferenceRoot::Steps(_) | ReferenceRoot::Vars(_) => {
            meant || matches!(reference.root, ReferenceRoot::Vars(_)) && exists(place, &reference)
        }
        // `note.md` is a file name, unless the item has such a field.
        ReferenceRoot::Item(_) => meant && item_has(place, &reference),
        ReferenceRoot::Index(_) => false,
    };
    sure.then(|| {
        PlanFinding::error(
            FindingCode::BadReference,
            "",
            format!("`{text}` is plain text, because it has no `$`"),
        )
        .hint(format!("write `{}`", as_written(&reference, ReferencePosition::Whole)))
    })
}

fn item_has(place: &TemplateContext<'_, '_>, reference: &Reference) -> bool {
    let mut shape = place.item.clone();
    reference.path.iter().all(|segment| {
        if shape.cases().is_none() {
            return false;
        }
        match look_up(&shape, segment) {
            PathLookup::Always(next) | PathLookup::Sometimes(next) => {
                shape = next;
                true
            }
            PathLookup::Never => false,
        }
    })
}

/// Reports `$read.content`, `$.steps.read.content`, or `$item.path` outside of a foreach.
fn dollar_word(place: &TemplateContext<'_, '_>, text: &str) -> Option<PlanFinding> {
    let after = text.strip_prefix('$')?;
    let finding = |hint: String| {
        PlanFinding::error(
            FindingCode::BadReference,
            "",
            format!("`{text}` is not a reference, so it stays as it is"),
        )
        .hint(hint)
    };
    if let Some(inner) = after.strip_prefix('.') {
        let reference = intended_reference(place, inner)?;
        return Some(finding(format!("write `{}`", as_written(&reference, ReferencePosition::Whole))));
    }
    if let Some(reference) = quoted_key(place, after) {
        return Some(finding(format!("write `{}`", as_written(&reference, ReferencePosition::Whole))));
    }
    let ReferenceParse::Unscoped { word, path } = Reference::parse(after, &place.scope) else {
        return None;
    };
    if let Some(reference) = intended_reference(place, after) {
        return Some(finding(format!("write `{}`", as_written(&reference, ReferencePosition::Whole))));
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

/// Reads `steps["read"].content` or `steps.read['content']`.
fn quoted_key(place: &TemplateContext<'_, '_>, after: &str) -> Option<Reference> {
    if !after.contains(['"', '\'']) {
        return None;
    }
    let dotted = ["[\"", "['", "\"]", "']"].iter().zip([".", ".", "", ""]);
    let dotted = dotted.fold(after.to_owned(), |text, (from, to)| text.replace(from, to));
    intended_reference(place, &dotted)
}

/// Reports `Summary: $steps.read.content`: only a whole string can be a `$` reference.
fn dollar_in_text(place: &TemplateContext<'_, '_>, text: &str) -> Option<PlanFinding> {
    let start = if text.starts_with("$$") { 2 } else { 0 };
    for (at, _) in text.match_indices('$').filter(|(at, _)| *at >= start) {
        let Some(rest) = text.get(at + 1..) else {
            continue;
        };
        let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']');
        let end = rest.find(|c: char| !is_path(c)).unwrap_or(rest.len());
        let path = rest.get(..end).unwrap_or_default().trim_end_matches(['.', '-', '[']);
        let ReferenceParse::Reference(reference) = Reference::parse(path, &place.scope) else {
            continue;
        };
        if !reference.path.is_empty() && exists(place, &reference) {
            let message = format!(
                "`${path}` inside a text is not replaced; only a whole string can be a `$` reference"
            );
            let (reference, text) = place.without_text(&reference);
            let hint =
                format!("inside a text, write `{}{text}`", as_written(&reference, ReferencePosition::InText));
            return Some(PlanFinding::error(FindingCode::BadReference, "", message).hint(hint));
        }
    }
    None
}
