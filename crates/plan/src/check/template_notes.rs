//! Puts what the template compiler noticed into words.

use super::place::Place;
use crate::{Finding, FindingCode, NoteKind, TemplateNote};

/// Turns notes into findings: at most one for each string and kind of note.
pub(super) fn report(place: &Place<'_, '_>, notes: Vec<TemplateNote>, findings: &mut Vec<Finding>) {
    let mut last_brace: Option<String> = None;
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
                // A formula or a piece of code has many of them; one finding says it all.
                if last_brace.as_deref() == Some(note.pointer.as_str()) {
                    continue;
                }
                last_brace = Some(note.pointer);
                unscoped(place, pointer, &text, nearest)
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

fn unscoped(place: &Place<'_, '_>, pointer: String, text: &str, nearest: Option<String>) -> Finding {
    let inner = text.trim_matches(['{', '}']);
    let (word, path) = inner.split_at(inner.find(['.', '[']).unwrap_or(inner.len()));
    let keep = format!("double the braces, `{{{text}}}`, to keep it as it is");
    let hint = if place.world.steps.contains_key(word) && !path.is_empty() {
        format!("write `{{steps.{inner}}}`, or {keep}")
    } else if place.world.vars.contains_key(word) {
        format!("write `{{vars.{inner}}}`, or {keep}")
    } else if let Some(nearest) = nearest {
        format!("did you mean `{nearest}`? Otherwise {keep}")
    } else if matches!(word, "item" | "index") {
        format!("this step has no foreach; add one with `\"itemName\": \"{word}\"`, or {keep}")
    } else {
        keep
    };
    let message = format!("`{text}` names nothing here, so it stays as it is");
    Finding::warning(FindingCode::UnscopedBrace, pointer, message).hint(hint)
}

fn doubled(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}
