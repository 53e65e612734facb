//! Template syntax of other languages: `{{item.path}}`, `${item.path}`, `{$item.path}`, `{ item.path }`.

use super::spelling::intended_reference;
use super::template_context::{TemplateContext, as_written};
use crate::reference::ReferenceParse;
use crate::{FindingCode, PlanFinding, Reference, ReferencePosition, Severity};

/// Reports `{{item.path}}`, which would resolve to the text `{item.path}`, and `{{title}}` beside a variable of that name,
/// which stays unchanged.
pub(super) fn doubled_braces(place: &TemplateContext<'_, '_>, text: &str) -> Option<PlanFinding> {
    for (at, _) in text.match_indices("{{") {
        let escaped = text.get(..at).is_some_and(|before| before.ends_with('{'));
        let Some(inner) = text.get(at + 2..).and_then(|rest| until(rest, "}}")).filter(|_| !escaped) else {
            continue;
        };
        if let Some(reference) = intended_reference(place, inner) {
            let written = format!("{{{{{inner}}}}}");
            if let ReferenceParse::Unscoped { .. } = Reference::parse(inner.trim(), &place.scope) {
                let finding = foreign(&written, text, &reference, "it stays as it is");
                return Some(PlanFinding { severity: Severity::Warning, ..finding });
            }
            let finding = foreign(&written, text, &reference, "doubled braces mean single ones");
            let hint = finding.hint.clone().unwrap_or_default();
            return Some(finding.hint(format!("{hint}; `{{{{{written}}}}}` keeps both braces")));
        }
    }
    None
}

/// Reports `${item.path}`, which keeps its dollar sign, and `{$item.path}`, which stays unchanged.
pub(super) fn with_dollar(place: &TemplateContext<'_, '_>, text: &str) -> Option<PlanFinding> {
    for (at, _) in text.match_indices("${") {
        let Some(inner) = text.get(at + 2..).and_then(|rest| until(rest, "}")) else {
            continue;
        };
        // `$${` at the start is a correctly escaped dollar sign before a reference.
        if at == 1 && text.starts_with("$$") {
            continue;
        }
        if let Some(reference) = intended_reference(place, inner) {
            let written = format!("${{{inner}}}");
            let finding = foreign(&written, text, &reference, "the dollar would be printed as well");
            // Inside a text this can be a price; at the start a price would be written `$${…}`.
            let severity = if at == 0 { finding.severity } else { Severity::Warning };
            return Some(PlanFinding { severity, ..finding });
        }
    }
    for (at, _) in text.match_indices("{$") {
        let inner = text.get(at + 2..).and_then(|rest| until(rest, "}"));
        if let Some((inner, reference)) =
            inner.and_then(|inner| Some((inner, intended_reference(place, inner)?)))
        {
            return Some(foreign(&format!("{{${inner}}}"), text, &reference, "braces take no dollar"));
        }
    }
    None
}

/// Reports `{ item.path }`, which stays unchanged.
pub(super) fn with_spaces(place: &TemplateContext<'_, '_>, text: &str) -> Option<PlanFinding> {
    for (at, _) in text.match_indices('{') {
        let inner =
            text.get(at + 1..).and_then(|rest| until(rest, "}")).filter(|inner| inner.trim() != *inner);
        if let Some((inner, reference)) =
            inner.and_then(|inner| Some((inner, intended_reference(place, inner)?)))
        {
            return Some(foreign(&format!("{{{inner}}}"), text, &reference, "braces take no spaces"));
        }
    }
    None
}

fn foreign(written: &str, text: &str, reference: &Reference, why: &str) -> PlanFinding {
    let (whole, in_text) =
        (as_written(reference, ReferencePosition::Whole), as_written(reference, ReferencePosition::InText));
    let hint = if text.trim() == written {
        format!("write `{whole}` for the value itself, or `{in_text}` for text")
    } else {
        format!("write `{in_text}`")
    };
    let message = format!("`{written}` is not how a reference is written here: {why}");
    PlanFinding::error(FindingCode::ForeignTemplate, "", message).hint(hint)
}

/// Returns the text before the next `end`, if it is on one line and without braces.
fn until<'t>(rest: &'t str, end: &str) -> Option<&'t str> {
    /// Longer than any reference; keeps the search linear.
    const LONGEST: usize = 256;
    let stop = rest.bytes().take(LONGEST).position(|b| matches!(b, b'{' | b'}' | b'\n'))?;
    let (inner, after) = rest.split_at_checked(stop)?;
    after.starts_with(end).then_some(inner)
}
