//! Line endings and line positions of a text.
//!
//! The line ending of a note is the one that most of its lines have; LF if there is a tie or no line ending.
//! A lone carriage return does not end a line.

use std::borrow::Cow;

/// A line ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnding {
    Lf,
    CrLf,
}

impl LineEnding {
    /// Returns the ending that most lines of `text` have.
    pub fn of(text: &str) -> LineEnding {
        let (mut lf, mut crlf) = (0_usize, 0_usize);
        for (at, _) in text.match_indices('\n') {
            if text[..at].ends_with('\r') { crlf += 1 } else { lf += 1 }
        }
        if crlf > lf { LineEnding::CrLf } else { LineEnding::Lf }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            LineEnding::Lf => "\n",
            LineEnding::CrLf => "\r\n",
        }
    }

    /// Returns `text` with every line ended this way.
    pub fn normalize(self, text: &str) -> Cow<'_, str> {
        if !text.contains('\n') {
            return Cow::Borrowed(text);
        }
        match self {
            LineEnding::Lf if !text.contains("\r\n") => Cow::Borrowed(text),
            LineEnding::Lf => Cow::Owned(text.replace("\r\n", "\n")),
            LineEnding::CrLf => Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n")),
        }
    }
}

/// Returns the start of the line that contains byte `at`.
pub fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns the end of the line that contains byte `at`, without its line ending.
pub fn line_end(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
    if end > at && text[..end].ends_with('\r') && end < text.len() { end - 1 } else { end }
}

/// Returns the start of the line after the one that contains byte `at`, or the end of the text.
pub fn next_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// Returns the number of the line that contains byte `at`, counted from 1.
pub fn line_number(text: &str, at: usize) -> usize {
    1 + text[..at].bytes().filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::{LineEnding, line_end, line_number, line_start, next_line};

    #[test]
    fn the_majority_decides_and_lf_wins_a_tie() {
        assert_eq!(LineEnding::of("a\r\nb\r\nc\n"), LineEnding::CrLf);
        assert_eq!(LineEnding::of("a\r\nb\n"), LineEnding::Lf);
        assert_eq!(LineEnding::of("a\rb"), LineEnding::Lf);
        assert_eq!(LineEnding::of(""), LineEnding::Lf);
    }

    #[test]
    fn every_line_gets_the_same_ending_and_a_lone_carriage_return_stays() {
        assert_eq!(LineEnding::CrLf.normalize("a\nb\r\nc\rd"), "a\r\nb\r\nc\rd");
        assert_eq!(LineEnding::Lf.normalize("a\nb\r\nc\rd"), "a\nb\nc\rd");
    }

    #[test]
    fn a_line_is_found_from_any_byte_of_it() {
        let text = "one\r\ntwo\n";
        assert_eq!((line_start(text, 6), line_end(text, 6), next_line(text, 6)), (5, 8, 9));
        assert_eq!((line_start(text, 1), line_end(text, 1), next_line(text, 1)), (0, 3, 5));
        assert_eq!((line_number(text, 0), line_number(text, 5), line_number(text, 9)), (1, 2, 3));
    }

    proptest! {
        #[test]
        fn applying_an_ending_twice_changes_nothing_more(text in "(a|\n|\r\n|\ra){0,24}") {
            for ending in [LineEnding::Lf, LineEnding::CrLf] {
                let once = ending.normalize(&text).into_owned();
                prop_assert_eq!(ending.normalize(&once), &*once);
                prop_assert!(!once.contains('\n') || LineEnding::of(&once) == ending);
            }
        }
    }
}
