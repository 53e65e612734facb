//! Finds the bullets in Markdown, line by line.
//!
//! A full Markdown parser is stricter than real notes: it drops bullets after four spaces of indentation and
//! joins bullets that the author meant as separate. The parser here skips frontmatter and fenced code,
//! because a list of tags or a shell option is not a bullet. It ignores bullets inside quotes.

/// One bullet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bullet {
    /// Without marker and checkbox; continuation lines joined by a space.
    pub text: String,
    /// The lines exactly as they are in the note.
    pub raw: String,
    /// Nesting depth; 0 at the left margin.
    pub depth: u32,
}

/// Columns that a bullet must be indented further than another to be nested below it.
const STEP: usize = 2;

pub fn bullets(text: &str) -> Vec<Bullet> {
    let mut found = BulletParser::default();
    for line in without_frontmatter(text).lines() {
        found.read_line(line);
    }
    // An empty bullet gives later steps nothing to use.
    found.bullets.retain(|bullet| !bullet.text.is_empty());
    found.bullets
}

#[derive(Default)]
struct BulletParser {
    bullets: Vec<Bullet>,
    /// Indentation of the open bullets, outermost first.
    open: Vec<usize>,
    /// True if the last line belongs to a bullet, so that an indented line continues it.
    in_bullet: bool,
    fence: Option<CodeFence>,
}

#[derive(Clone, Copy)]
struct CodeFence {
    mark: char,
    length: usize,
}

impl BulletParser {
    fn read_line(&mut self, line: &str) {
        let rest = line.trim_start();
        let indent = indent_width(&line[..line.len() - rest.len()]);
        if let Some(fence) = self.fence {
            if is_closing_fence(rest, fence) {
                self.fence = None;
            }
            return;
        }
        // A fence can open right after a marker: `- ```sh`.
        let marked = if is_rule(rest) { None } else { after_marker(rest) };
        if let Some(fence) = opening_fence(marked.unwrap_or(rest)) {
            self.fence = Some(fence);
            self.in_bullet = false;
            return;
        }
        match marked {
            Some(words) => self.add_bullet(line, indent, words),
            None if rest.is_empty() || is_rule(rest) => self.in_bullet = false,
            None => self.text_line(line, indent, rest),
        }
    }

    fn add_bullet(&mut self, line: &str, indent: usize, words: &str) {
        while self.open.last().is_some_and(|open| indent < open + STEP) {
            self.open.pop();
        }
        let depth = u32::try_from(self.open.len()).unwrap_or(u32::MAX);
        self.open.push(indent);
        self.in_bullet = true;
        let text = without_checkbox(words).trim().to_owned();
        self.bullets.push(Bullet { text, raw: line.to_owned(), depth });
    }

    /// Handles a line of text. It continues the bullet above if it is indented further than the bullet's
    /// marker.
    fn text_line(&mut self, line: &str, indent: usize, rest: &str) {
        let goes_on = self.in_bullet && self.open.last().is_some_and(|open| indent >= open + STEP);
        if goes_on && let Some(bullet) = self.bullets.last_mut() {
            if !bullet.text.is_empty() {
                bullet.text.push(' ');
            }
            bullet.text.push_str(rest.trim_end());
            bullet.raw.push('\n');
            bullet.raw.push_str(line);
            return;
        }
        self.in_bullet = false;
        if indent == 0 {
            self.open.clear();
        }
    }
}

/// Returns the width in columns, with tab stops every four columns.
fn indent_width(space: &str) -> usize {
    space.chars().fold(0, |column, c| if c == '\t' { (column / 4 + 1) * 4 } else { column + 1 })
}

/// Returns the text after a list marker (`-`, `*`, `+`, `1.` or `1)`). Space or the end of the line must
/// follow the marker.
fn after_marker(rest: &str) -> Option<&str> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let after = match digits {
        0 => rest.strip_prefix(['-', '*', '+'])?,
        1..=9 => rest[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    (after.is_empty() || after.starts_with([' ', '\t'])).then(|| after.trim_start())
}

/// Whether the line is a thematic break such as `---` or `* * *`.
fn is_rule(rest: &str) -> bool {
    let mut marks = rest.chars().filter(|c| !c.is_whitespace());
    let Some(first @ ('-' | '*' | '_')) = marks.next() else {
        return false;
    };
    let (same, other) =
        marks.fold((1, 0), |(same, other), c| if c == first { (same + 1, other) } else { (same, other + 1) });
    same >= 3 && other == 0
}

/// Strips `[ ] `, `[x] ` and the other one-letter task states.
fn without_checkbox(words: &str) -> &str {
    let mut chars = words.chars();
    let is_box =
        chars.next() == Some('[') && chars.next().is_some_and(|c| c != ']') && chars.next() == Some(']');
    let rest = chars.as_str();
    if is_box && (rest.is_empty() || rest.starts_with([' ', '\t'])) { rest } else { words }
}

fn opening_fence(rest: &str) -> Option<CodeFence> {
    let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = rest.chars().take_while(|c| *c == mark).count();
    // Backticks that close on the same line are inline code.
    let inline = mark == '`' && rest[length..].contains('`');
    (length >= 3 && !inline).then_some(CodeFence { mark, length })
}

fn is_closing_fence(rest: &str, fence: CodeFence) -> bool {
    let rest = rest.trim_end();
    rest.chars().all(|c| c == fence.mark) && rest.chars().count() >= fence.length
}

/// Returns the note without its frontmatter. An opening fence that is never closed is ordinary text.
fn without_frontmatter(text: &str) -> &str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    if lines.next().is_none_or(|first| first.trim_end() != "---") {
        return text;
    }
    let mut at = text.find('\n').map_or(text.len(), |end| end + 1);
    for line in lines {
        at += line.len();
        if matches!(line.trim_end(), "---" | "...") {
            return &text[at..];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};
    use proptest::prelude::{any, proptest};

    use super::bullets;

    fn check(text: &str, expected: Expect) {
        let mut shown = String::new();
        for bullet in bullets(text) {
            writeln!(shown, "{} {:?} {:?}", bullet.depth, bullet.text, bullet.raw).unwrap();
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn every_marker_is_a_bullet_and_indentation_is_depth() {
        check(
            "# Inbox\n- one\n  * two\n\t\t+ three\n- [ ] four\n- [x] five\n1. six\n   2) seven\n- [link](url)\r\n-no\n",
            expect![[r#"
                0 "one" "- one"
                1 "two" "  * two"
                2 "three" "\t\t+ three"
                0 "four" "- [ ] four"
                0 "five" "- [x] five"
                0 "six" "1. six"
                1 "seven" "   2) seven"
                0 "[link](url)" "- [link](url)"
            "#]],
        );
    }

    #[test]
    fn what_only_looks_like_a_bullet_is_none() {
        check(
            "---\ntags:\n  - a\n---\n- real\n---\n* * *\n**bold** text\n```\n- code\n```\n~~~\n- code\n```\n~~~~\n-\n- [ ]\n> - quoted\n1234567890. long\n- last",
            expect![[r#"
                0 "real" "- real"
                0 "last" "- last"
            "#]],
        );
    }

    #[test]
    fn a_bullet_goes_on_over_indented_lines_until_a_gap() {
        check(
            "- one\n  more\n\n  apart\n- two\nlazy\n    - under nothing\n-\n  late",
            expect![[r#"
                0 "one more" "- one\n  more"
                0 "two" "- two"
                0 "under nothing" "    - under nothing"
                0 "late" "-\n  late"
            "#]],
        );
    }

    #[test]
    fn an_open_fence_runs_to_the_end_and_inline_code_opens_none() {
        check(
            "- a\n  ```` sh\n- no\n```\n- no\n",
            expect![[r#"
            0 "a" "- a"
        "#]],
        );
        check(
            "- ```x``` yes\n- b\n",
            expect![[r#"
            0 "```x``` yes" "- ```x``` yes"
            0 "b" "- b"
        "#]],
        );
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_finder_and_every_bullet_is_in_the_text(text in any::<String>()) {
            for bullet in bullets(&text) {
                assert!(bullet.raw.lines().all(|line| text.contains(line)));
                assert!(!bullet.text.is_empty());
            }
        }

        #[test]
        fn plain_lists_are_counted_and_depth_grows_by_one(
            lines in proptest::collection::vec((0usize..5, "[a-z]{1,8}"), 0..40)
        ) {
            let text: String =
                lines.iter().map(|(depth, word)| format!("{}- {word}\n", "  ".repeat(*depth))).collect();
            let found = bullets(&text);
            assert_eq!(found.len(), lines.len());
            let mut before = None;
            for (bullet, (indent, word)) in found.iter().zip(&lines) {
                assert_eq!(&bullet.text, word);
                assert!(bullet.depth as usize <= *indent);
                assert!(before.map_or(bullet.depth == 0, |depth: u32| bullet.depth <= depth + 1));
                before = Some(bullet.depth);
            }
        }
    }
}
