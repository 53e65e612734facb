//! Turns the notes of the template compiler into findings.

use std::collections::HashSet;

use super::template_context::TemplateContext;
use crate::{FindingCode, NoteKind, PlanFinding, TemplateNote};

/// Turns notes into findings, at most one for each string and kind of note.
pub(super) fn report(
    place: &TemplateContext<'_, '_>,
    notes: Vec<TemplateNote>,
    findings: &mut Vec<PlanFinding>,
) {
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
                PlanFinding::error(
                    FindingCode::BadReference,
                    pointer,
                    format!("`{text}` is not a reference: {why}"),
                )
                .hint(keep)
            }
            NoteKind::UnscopedDollar { text, nearest } => {
                let message = format!("`{text}` is not a reference, so it stays as it is");
                let finding = match &nearest {
                    // With a path it is meant as a reference; a lone `$word` can be a shell variable.
                    Some(_) if text.contains(['.', '[']) => PlanFinding::error,
                    Some(_) | None => PlanFinding::warning,
                };
                let hint = match nearest {
                    Some(nearest) => format!("did you mean `{nearest}`?"),
                    None => {
                        "references begin with `$steps.`, `$vars.` or the name of a foreach item.".to_owned()
                    }
                };
                finding(FindingCode::BadReference, pointer, message)
                    .hint(format!("{hint} To keep it as it is, write `${text}`"))
            }
            NoteKind::NestedReference { text } => PlanFinding::warning(
                FindingCode::BadReference,
                pointer,
                format!(
                    "`{text}` has a reference in the path of another one, and only the inner one is replaced"
                ),
            )
            .hint("write the path with fixed names, such as `{vars.colours.red}`"),
            NoteKind::ReferenceInKey { key } => PlanFinding::warning(
                FindingCode::BadReference,
                pointer,
                format!("the key `{key}` stays as it is: references are replaced in values only"),
            )
            .hint("write a fixed key and put the reference into its value"),
            NoteKind::UnscopedBrace { text, nearest } => {
                let advice = advice(place, &text, nearest);
                // Formulas and code have many braces; without a suggestion, one finding for the string is
                // enough.
                if advice.is_none() && !plain_braces.insert(note.pointer) {
                    continue;
                }
                let message = format!("`{text}` names nothing here, so it stays as it is");
                let keep = "nothing has to be done if that is meant".to_owned();
                PlanFinding::warning(FindingCode::UnscopedBrace, pointer, message)
                    .hint(advice.unwrap_or(keep))
            }
        };
        findings.push(finding.in_step(place.label));
    }
}

/// Suggests the probable meaning of a word in braces.
fn advice(place: &TemplateContext<'_, '_>, text: &str, nearest: Option<String>) -> Option<String> {
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
