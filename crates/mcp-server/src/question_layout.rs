//! Layout of a question for a client's dialog. Some dialogs show only three lines, each cut at the edge of the
//! screen and without scrolling, so the first lines have to show the complete effect of an approval and how much is
//! not visible.

/// Line width that fits most screens.
const LINE: usize = 72;

/// Lays out a question: the first line, which describes the effect, is folded to the line width and never cut; then
/// the number of further lines, then those lines.
pub(super) fn layout_question(text: &str) -> String {
    let (headline, rest) = text.split_once('\n').unwrap_or((text, ""));
    let first = fold_line(headline);
    match rest.lines().count() {
        0 => first,
        1 if rest.len() <= LINE => format!("{first}\n{rest}"),
        1 => format!("{first}\nRead the line below to its end.\n{rest}"),
        lines => format!("{first}\nRead all {lines} lines below.\n{rest}"),
    }
}

/// Folds a text to lines of at most [`LINE`] characters. A longer word is split; nothing is left out.
fn fold_line(text: &str) -> String {
    let mut lines = vec![String::new()];
    let mut width = 0;
    for word in text.split(' ') {
        let mut rest = word;
        loop {
            let cut = rest.char_indices().nth(LINE).map_or(rest.len(), |(at, _)| at);
            let (piece, left) = rest.split_at(cut);
            let chars = piece.chars().count();
            if width > 0 && width + 1 + chars > LINE {
                lines.push(String::new());
                width = 0;
            }
            if let Some(line) = lines.last_mut() {
                if width > 0 {
                    line.push(' ');
                    width += 1;
                }
                line.push_str(piece);
                width += chars;
            }
            if left.is_empty() {
                break;
            }
            rest = left;
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::{LINE, fold_line, layout_question};

    #[test]
    fn a_small_question_is_all_of_three_lines() {
        expect![[r#"
            Runs rm -r Projects
            Read all 2 lines below.
            Why you are asked: mode ask
            Input: {"cmd":"rm -r Projects"}"#]]
        .assert_eq(&layout_question(
            "Runs rm -r Projects\nWhy you are asked: mode ask\nInput: {\"cmd\":\"rm -r Projects\"}",
        ));
        assert_eq!(layout_question("Changes nothing."), "Changes nothing.");
    }

    #[test]
    fn the_first_line_is_complete_however_long_it_is() {
        let long =
            format!("Deletes 1 note: {}/precious.md. 1 of 2 items will fail: missing.", "folder".repeat(12));
        expect![[r#"
            Deletes 1 note:
            folderfolderfolderfolderfolderfolderfolderfolderfolderfolderfolderfolder
            /precious.md. 1 of 2 items will fail: missing.
            Read all 2 lines below.
            - a
            + b"#]]
        .assert_eq(&layout_question(&format!("{long}\n- a\n+ b")));
    }

    proptest! {
        #[test]
        fn folding_loses_nothing_and_fits(text in "[a-zé ]{0,300}") {
            let lines = fold_line(&text);
            prop_assert!(lines.lines().all(|line| line.chars().count() <= LINE));
            let bare = |text: &str| text.replace([' ', '\n'], "");
            prop_assert_eq!(bare(&lines), bare(&text));
        }
    }
}
