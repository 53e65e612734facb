//! Generates a short text that matches a regular expression, for examples.
//!
//! Takes the first way through the expression: of a class a plain letter or digit, of alternatives the first, of a
//! repetition the fewest. The result is validated with the rest of the example, so a wrong guess does no harm.

use regex_syntax::hir::{Class, Hir, HirKind};

/// How often an unbounded repetition is repeated if the text is too short otherwise.
const REPEATS: [u32; 6] = [0, 1, 3, 8, 20, 64];

/// Limits patterns that repeat an empty text a million times.
const MOST_STEPS: usize = 10_000;

/// Returns a matching text of `fewest` to `most` characters, if one is easily found.
pub(super) fn example(pattern: &str, fewest: usize, most: usize) -> Option<String> {
    let hir = regex_syntax::parse(pattern).ok()?;
    REPEATS.into_iter().find_map(|repeats| {
        let mut walk = PatternWalk { text: String::new(), repeats, steps: 0 };
        walk.append_match(&hir)?;
        (fewest..=most).contains(&walk.text.chars().count()).then_some(walk.text)
    })
}

struct PatternWalk {
    text: String,
    repeats: u32,
    steps: usize,
}

impl PatternWalk {
    /// Appends a match; `None` if no short one exists.
    fn append_match(&mut self, hir: &Hir) -> Option<()> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return None;
        }
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Some(()),
            HirKind::Literal(literal) => {
                std::str::from_utf8(&literal.0).ok().map(|text| self.text.push_str(text))
            }
            HirKind::Class(class) => common_char(class).map(|c| self.text.push(c)),
            HirKind::Capture(capture) => self.append_match(&capture.sub),
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.append_match(part)),
            HirKind::Alternation(choices) => self.append_match(choices.first()?),
            HirKind::Repetition(repetition) => {
                let times = self.repeats.max(repetition.min).min(repetition.max.unwrap_or(u32::MAX));
                (0..times).try_for_each(|_| self.append_match(&repetition.sub))
            }
        }
    }
}

/// Returns a common character of the class, if there is one.
fn common_char(class: &Class) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.ranges().iter().map(|range| (range.start(), range.end())).collect(),
        Class::Bytes(class) => {
            class.ranges().iter().map(|range| (char::from(range.start()), char::from(range.end()))).collect()
        }
    };
    let usual = ['a', 'A', '0', '1', ' '].into_iter();
    let usual = usual.chain('!'..='~').find(|c| ranges.iter().any(|(start, end)| (start..=end).contains(&c)));
    usual.or_else(|| ranges.first().map(|(start, _)| *start))
}

#[cfg(test)]
mod tests {
    use super::example;

    #[track_caller]
    fn check(pattern: &str, lengths: (usize, usize), expected: Option<&str>) {
        assert_eq!(example(pattern, lengths.0, lengths.1).as_deref(), expected, "{pattern}");
    }

    #[test]
    fn the_shortest_way_through_is_taken() {
        check(r"^\d{4}-\d{2}-\d{2}$", (0, 99), Some("0000-00-00"));
        check(r"^(notes|daily)/[^/]+\.md$", (0, 99), Some("notes/a.md"));
        check(r"^#?[A-F0-9]{6}$", (0, 99), Some("AAAAAA"));
        check(r"^\s*$", (0, 99), Some(""));
        check(r"^[\u4e00-\u9fff]$", (0, 99), Some("一"));
        check("", (0, 99), Some(""));
    }

    #[test]
    fn a_text_that_is_too_short_is_made_longer() {
        check("^[a-z]+$", (5, 99), Some("aaaaaaaa"));
        check("^[a-z]{2,4}$", (3, 99), Some("aaa"));
        check("^[a-z]$", (3, 99), None);
    }

    #[test]
    fn what_cannot_be_matched_or_is_too_long_is_left() {
        check("[^\\s\\S]", (0, 99), None);
        check("^(?=a)b", (0, 99), None);
        check("^((((a{9}){9}){9}){9}){9}$", (0, 99), None);
        check("^((a?){1000}){1000}$", (0, 99), None);
        check("^[0-9]{4}$", (0, 3), None);
    }
}
