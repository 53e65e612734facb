//! Puts what the template compiler noticed into words.

use std::collections::HashSet;

use serde_json::Value;

use super::place::Place;
use crate::{Finding, FindingCode, NoteKind, TemplateNote};

/// Turns notes into findings: at most one for each string and kind of note.
pub(super) fn report(place: &Place<'_, '_>, notes: Vec<TemplateNote>, findings: &mut Vec<Finding>) {
    let mut plain_braces = HashSet::new();
    for note in notes {
        let pointer = format!("{}{}", place.pointer, note.pointer);
        let finding = match note.kind {
            NoteKind::BadReference { text, why } => {
                let keep = if text.starts_with('$') {
                    format!("to keep the text as it is, write `${text}`")
                } else {
                    format!("to keep the text as it is, double the braces: `{{{text}}}`")
                };
                Finding::error(
                    FindingCode::BadReference,
                    pointer,
                    format!("`{text}` is not a reference: {why}"),
                )
                .hint(keep)
            }
            NoteKind::UnscopedDollar { text, nearest } => {
                let message = format!("`{text}` is not a reference, so it stays as it is");
                let hint = format!("did you mean `{nearest}`? To keep it as it is, write `${text}`");
                // A path makes it a reference; a lone `$word` may be a shell variable.
                let finding = if text.contains(['.', '[']) { Finding::error } else { Finding::warning };
                finding(FindingCode::BadReference, pointer, message).hint(hint)
            }
            NoteKind::UnscopedBrace { text, nearest } => {
                let advice = advice(place, &text, nearest);
                // A formula or a piece of code has many of them; when there is nothing to advise, one says it all.
                if advice.is_none() && !plain_braces.insert(note.pointer) {
                    continue;
                }
                let message = format!("`{text}` names nothing here, so it stays as it is");
                let keep = format!("double the braces, `{{{text}}}`, to say that it stays as it is");
                Finding::warning(FindingCode::UnscopedBrace, pointer, message).hint(advice.unwrap_or(keep))
            }
            NoteKind::DoubledBraces { text, becomes } => {
                let message =
                    format!("`{text}` comes out as `{becomes}`: doubled braces stand for single ones");
                Finding::warning(FindingCode::ForeignTemplate, pointer, message)
                    .hint(format!("to keep both, write `{}`", doubled(&text)))
            }
        };
        findings.push(finding.in_step(place.label));
    }
}

/// Whether doubled braces were doubled once more, as they are to be when both are to stay.
pub(super) fn is_escaped(note: &TemplateNote, raw: &Value) -> bool {
    match &note.kind {
        NoteKind::DoubledBraces { text, .. } => {
            let written = raw.pointer(&note.pointer).and_then(Value::as_str).unwrap_or_default();
            written.contains(&doubled(text))
        }
        NoteKind::BadReference { .. } | NoteKind::UnscopedBrace { .. } | NoteKind::UnscopedDollar { .. } => {
            false
        }
    }
}

/// What a word in braces was probably meant as.
fn advice(place: &Place<'_, '_>, text: &str, nearest: Option<String>) -> Option<String> {
    let inner = text.trim_matches(['{', '}']);
    let (word, path) = inner.split_at(inner.find(['.', '[']).unwrap_or(inner.len()));
    if place.world.steps.contains_key(word) && !path.is_empty() {
        Some(format!("write `{{steps.{inner}}}`"))
    } else if place.world.vars.contains_key(word) {
        Some(format!("write `{{vars.{inner}}}`"))
    } else if let Some(nearest) = nearest {
        Some(format!("did you mean `{nearest}`?"))
    } else if matches!(word, "item" | "index") && place.step.is_some() {
        Some("this step has no foreach: add one with `\"itemName\": \"item\"`, or refer to a step".to_owned())
    } else {
        None
    }
}

fn doubled(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}
