//! Folders and files that a search, a listing or a link tool could not look into.

use super::receipt_writer::{ReceiptWriter, count_noun, line_cost, one_line, take_within};

/// Returns the first names that fit into a quarter of `room`, and subtracts their cost. The others are only counted.
pub(super) fn take_names<Text: AsRef<str>>(names: Vec<Text>, room: &mut usize) -> Vec<Text> {
    let mut share = *room / 4;
    let kept = take_within(names, &mut share, |name| one_line(name.as_ref()).into_owned());
    *room -= kept.iter().map(|name| line_cost(&one_line(name.as_ref()))).sum::<usize>();
    kept
}

/// Adds one line: the heading, and the names that fit into a quarter of the budget. Adds nothing if `count` is zero.
pub(super) fn render(
    heading: &str,
    count: u64,
    named: &[String],
    budget: usize,
    receipt: &mut ReceiptWriter,
) {
    if count == 0 {
        return;
    }
    let named = take_names(named.iter().collect(), &mut { budget });
    let mut names: Vec<_> = named.into_iter().map(|name| one_line(name).into_owned()).collect();
    let others = count.saturating_sub(names.len() as u64);
    if names.is_empty() {
        receipt.line(heading);
        return;
    }
    if others > 0 {
        names.push(format!("and {others} more"));
    }
    receipt.line(&format!("{heading}: {}", names.join(", ")));
}

/// Heading for folders, with their number.
pub(super) fn folders_heading(count: u64) -> String {
    format!("Not looked into, {} that cannot be opened", count_noun(count, "folder", "folders"))
}
