//! Warnings about the effects of a command on the vault, in a canonical result and in a receipt.

use super::receipt_writer::line_cost;
use crate::preview::clean;
use crate::preview::tokenizer::prefix_within;

/// Prefix of each warning in a receipt.
const LABEL: &str = "Warning: ";

/// Smallest useful budget for the output of a command.
const FOR_OUTPUT: usize = 200;
/// Tokens that warnings may always use, also in a short receipt.
const LEAST: usize = 40;

/// Returns the warnings that fit. The last one may be cut; the complete output has them all.
pub(super) fn bounded(warnings: &[String], budget: usize) -> Vec<String> {
    let most = budget.saturating_sub(FOR_OUTPUT).min(budget / 2).max(LEAST);
    let (mut kept, mut left) = (Vec::new(), most);
    for warning in warnings {
        let warning = clean::line(warning);
        let needed = line_cost(&labelled(&warning));
        if needed <= left {
            left -= needed;
            kept.push(warning);
            continue;
        }
        kept.extend(cut(&warning, left));
        break;
    }
    kept
}

/// Returns the part of a warning that fits, if any.
/// Returns true if the bounded warnings lack something.
pub(super) fn is_cut(warnings: &[String], budget: usize) -> bool {
    let kept = bounded(warnings, budget);
    kept.len() < warnings.len()
        || kept.iter().zip(warnings).any(|(kept, warning)| *kept != clean::line(warning))
}

fn cut(warning: &str, room: usize) -> Option<String> {
    let mut end = prefix_within(warning, room);
    loop {
        let shown = format!("{}...", warning.get(..end)?);
        if line_cost(&labelled(&shown)) <= room {
            return (end > 0).then_some(shown);
        }
        // A cut text can cost more.
        end = warning.floor_char_boundary(end.checked_sub(4)?);
    }
}

/// Returns the tokens of these warnings in a receipt.
pub(super) fn tokens(warnings: &[String]) -> usize {
    warnings.iter().map(|warning| line_cost(&labelled(warning))).sum()
}

/// Appends one line for each warning.
pub(super) fn render(text: &mut String, warnings: &[String]) {
    for warning in warnings {
        text.push('\n');
        text.push_str(&labelled(warning));
    }
}

fn labelled(warning: &str) -> String {
    format!("{LABEL}{warning}")
}

#[cfg(test)]
mod tests {
    use super::{LEAST, bounded, tokens};

    #[test]
    fn warnings_leave_room_for_the_output_and_the_first_is_always_told() {
        let long = "`notes/.git` appeared while the command ran; look at it before you use it".to_owned();
        let all = vec![long; 5];
        for budget in [50, 100, 200, 1000] {
            let kept = bounded(&all, budget);
            assert!(
                tokens(&kept) <= (budget / 2).max(LEAST) && kept[0].starts_with("`notes/.git` "),
                "{budget}: {kept:?}"
            );
        }
        assert_eq!(bounded(&all, 1000), all);
        assert_eq!(bounded(&["two\nlines\u{1b}[1m".to_owned()], 100), ["two lines"]);
    }
}
