//! Braces as other template languages write them: `{{item.path}}`, `${item.path}`, `{$item.path}`, `{ item.path }`.

use super::place::{Place, spell};
use super::spelling::meaning;
use crate::{Finding, FindingCode, Position, Reference, Severity};

/// `{{item.path}}`, which comes out as `{item.path}`.
pub(super) fn doubled(place: &Place<'_, '_>, text: &str) -> Option<Finding> {
    for (at, _) in text.match_indices("{{") {
        let escaped = text.get(..at).is_some_and(|before| before.ends_with('{'));
        let Some(inner) = text.get(at + 2..).and_then(|rest| until(rest, "}}")).filter(|_| !escaped) else {
            continue;
        };
        if let Some(reference) = meaning(place, inner) {
            let written = format!("{{{{{inner}}}}}");
            let finding = foreign(&written, text, &reference, "doubled braces stand for single ones");
            let hint = finding.hint.clone().unwrap_or_default();
            return Some(finding.hint(format!("{hint}; `{{{{{written}}}}}` keeps both braces")));
        }
    }
    None
}

/// `${item.path}`, which keeps its dollar, and `{$item.path}`, which stays as it is.
pub(super) fn with_dollar(place: &Place<'_, '_>, text: &str) -> Option<Finding> {
    for (at, _) in text.match_indices("${") {
        let Some(inner) = text.get(at + 2..).and_then(|rest| until(rest, "}")) else {
            continue;
        };
        // `$${` at the start is an escaped dollar before a reference, as it should be.
        if at == 1 && text.starts_with("$$") {
            continue;
        }
        if let Some(reference) = meaning(place, inner) {
            let written = format!("${{{inner}}}");
            let finding = foreign(&written, text, &reference, "the dollar would be printed as well");
            // Inside a text it can be a price; at the start that would be written `$${…}`.
            let severity = if at == 0 { finding.severity } else { Severity::Warning };
            return Some(Finding { severity, ..finding });
        }
    }
    for (at, _) in text.match_indices("{$") {
        let inner = text.get(at + 2..).and_then(|rest| until(rest, "}"));
        if let Some((inner, reference)) = inner.and_then(|inner| Some((inner, meaning(place, inner)?))) {
            return Some(foreign(&format!("{{${inner}}}"), text, &reference, "braces take no dollar"));
        }
    }
    None
}

/// `{ item.path }`, which stays as it is.
pub(super) fn with_spaces(place: &Place<'_, '_>, text: &str) -> Option<Finding> {
    for (at, _) in text.match_indices('{') {
        let inner =
            text.get(at + 1..).and_then(|rest| until(rest, "}")).filter(|inner| inner.trim() != *inner);
        if let Some((inner, reference)) = inner.and_then(|inner| Some((inner, meaning(place, inner)?))) {
            return Some(foreign(&format!("{{{inner}}}"), text, &reference, "braces take no spaces"));
        }
    }
    None
}

fn foreign(written: &str, text: &str, reference: &Reference, why: &str) -> Finding {
    let (whole, in_text) = (spell(reference, Position::Whole), spell(reference, Position::InText));
    let hint = if text.trim() == written {
        format!("write `{whole}` for the value itself, or `{in_text}` for text")
    } else {
        format!("write `{in_text}`")
    };
    let message = format!("`{written}` is not how a reference is written here: {why}");
    Finding::error(FindingCode::ForeignTemplate, "", message).hint(hint)
}

/// What stands before the next `end`, on one line and without braces.
fn until<'t>(rest: &'t str, end: &str) -> Option<&'t str> {
    /// Longer than any reference; keeps the search linear.
    const LONGEST: usize = 256;
    let stop = rest.bytes().take(LONGEST).position(|b| matches!(b, b'{' | b'}' | b'\n'))?;
    let (inner, after) = rest.split_at_checked(stop)?;
    after.starts_with(end).then_some(inner)
}
