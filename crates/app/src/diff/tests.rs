//! What people and programs see of a difference, case by case, and what holds for all of them.

mod cases;
mod forms;
mod laws;

use super::DiffLimits;
use super::compare::compare;
use crate::text_style::TextStyle;

/// The plain lines for two contents, with the limits of a screen.
fn shown(before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    lines(before, after, &DiffLimits::screen())
}

fn lines(before: Option<&[u8]>, after: Option<&[u8]>, limits: &DiffLimits) -> String {
    compare(before, after, limits).render(TextStyle::plain()).join("\n")
}
