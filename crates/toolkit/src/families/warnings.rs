//! Warnings about what a command did to the vault, as they stand in a canonical result and in a receipt.

use super::plain::cost;
use crate::preview::clean;
use crate::preview::tokens::prefix_within;

/// Stands before each warning of a receipt.
const LABEL: &str = "Warning: ";

/// Tokens that the output of a command needs to be of any use.
const FOR_OUTPUT: usize = 200;
/// Tokens that warnings may always take: whoever asks for a short receipt is told of them too.
const LEAST: usize = 40;

/// The warnings that fit. The last one is cut if it does not; the complete output has them all.
pub(super) fn bounded(warnings: &[String], budget: usize) -> Vec<String> {
    let most = budget.saturating_sub(FOR_OUTPUT).min(budget / 2).max(LEAST);
    let (mut kept, mut left) = (Vec::new(), most);
    for warning in warnings {
        let warning = clean::line(warning);
        let needed = cost(&labelled(&warning));
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

/// The beginning of a warning that fits, if there is one.
fn cut(warning: &str, room: usize) -> Option<String> {
    let mut end = prefix_within(warning, room);
    loop {
        let shown = format!("{}...", warning.get(..end)?);
        if cost(&labelled(&shown)) <= room {
            return (end > 0).then_some(shown);
        }
        // Words that are cut cost more than they did.
        end = warning.floor_char_boundary(end.checked_sub(4)?);
    }
}

/// How many tokens these take in a receipt.
pub(super) fn tokens(warnings: &[String]) -> usize {
    warnings.iter().map(|warning| cost(&labelled(warning))).sum()
}

/// Adds one line for each.
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
