//! What people and programs see of a difference, case by case, and what holds for all of them.

mod cases;
mod forms;
mod laws;

use super::Limits;
use super::compare::compare;
use crate::screen::Paint;

/// The plain lines for two contents, with the limits of a screen.
fn shown(before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    lines(before, after, &Limits::screen())
}

fn lines(before: Option<&[u8]>, after: Option<&[u8]>, limits: &Limits) -> String {
    compare(before, after, limits).render(Paint::plain()).join("\n")
}
