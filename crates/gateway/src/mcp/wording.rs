//! A question as a client shows it. Some dialogs show the first three lines, each cut at the edge of the screen, and no
//! key shows the rest; so those lines say what a yes would do, complete, and then how much is not in sight.

/// What fits one line of most screens.
const LINE: usize = 72;

/// A question of ours for the dialog of a client: its first line, which says what would happen, is folded to the width of
/// a screen and never cut; then comes how much there is to read, then everything else.
pub(super) fn framed(text: &str) -> String {
    let (headline, rest) = text.split_once('\n').unwrap_or((text, ""));
    let first = folded(headline);
    match rest.lines().count() {
        0 => first,
        1 if rest.len() <= LINE => format!("{first}\n{rest}"),
        1 => format!("{first}\nRead the line below to its end.\n{rest}"),
        lines => format!("{first}\nRead all {lines} lines below.\n{rest}"),
    }
}

/// The same words in lines of at most [`LINE`] characters. A longer word is cut into pieces, none of it is left out.
fn folded(text: &str) -> String {
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

    use super::{LINE, folded, framed};

    #[test]
    fn a_small_question_is_all_of_three_lines() {
        expect![[r#"
            Runs rm -r Projects
            Read all 2 lines below.
            Why you are asked: mode ask
            Input: {"cmd":"rm -r Projects"}"#]]
        .assert_eq(&framed(
            "Runs rm -r Projects\nWhy you are asked: mode ask\nInput: {\"cmd\":\"rm -r Projects\"}",
        ));
        assert_eq!(framed("Changes nothing."), "Changes nothing.");
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
        .assert_eq(&framed(&format!("{long}\n- a\n+ b")));
    }

    proptest! {
        #[test]
        fn folding_loses_nothing_and_fits(text in "[a-zé ]{0,300}") {
            let lines = folded(&text);
            prop_assert!(lines.lines().all(|line| line.chars().count() <= LINE));
            let bare = |text: &str| text.replace([' ', '\n'], "");
            prop_assert_eq!(bare(&lines), bare(&text));
        }
    }
}
