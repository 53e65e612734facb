//! Searches the output of a running command for a pattern while it is printed.
//!
//! Each byte is searched once, and the end of an unfinished line again together with what follows it, so the time is
//! proportional to the output however it is split.

use envelope::Fault;
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use memchr::{memchr2, memrchr};
use receipts::preview::clean::clean;

use super::finished_command::OutputCursor;
use super::running_command::RunningCommand;
use crate::text_pattern::{PatternOptions, compile_pattern};

/// Longest end of an unfinished line that is searched again with what follows it.
const MAX_UNFINISHED: usize = 4 << 10;
/// Longest matching line that is returned, in characters.
const LINE_CHARS: usize = 200;
/// A command has at most two streams.
const STREAMS: usize = 2;

/// A regular expression that the output of a command is searched for.
#[derive(Debug, Clone)]
pub struct OutputPattern(RegexMatcher);

impl OutputPattern {
    /// Compiles a regular expression. Fails with `invalid_arguments`.
    pub fn compile(regex: &str) -> Result<OutputPattern, Fault> {
        let hint = "write a regular expression in Rust syntax, and escape characters such as `(` with `\\`";
        compile_pattern(regex, PatternOptions::default(), hint).map(OutputPattern)
    }

    /// Returns the first line with a match. Terminal control sequences may be inside the match.
    fn matching_line(&self, bytes: &[u8]) -> Option<String> {
        let found = self.line_in(&String::from_utf8_lossy(bytes));
        let controlled = memchr2(b'\x1b', b'\r', bytes).is_some();
        found.or_else(|| if controlled { self.line_in(&clean(bytes).text) } else { None })
    }

    fn line_in(&self, text: &str) -> Option<String> {
        // The matcher of regular expressions has no errors.
        let found = self.0.find(text.as_bytes()).ok()??;
        let start = text.get(..found.start())?.rfind('\n').map_or(0, |end| end + 1);
        let line = text.get(start..)?.lines().next().unwrap_or_default();
        let shown = clean(line.as_bytes()).text;
        Some(match shown.char_indices().nth(LINE_CHARS) {
            Some((cut, _)) => format!("{}…", &shown[..cut]),
            None => shown,
        })
    }
}

/// A search through the output after a position.
pub(super) struct OutputSearch<'p> {
    pattern: &'p OutputPattern,
    position: OutputCursor,
    /// The end of the last line of each stream, which may go on.
    unfinished: [Vec<u8>; STREAMS],
}

impl<'p> OutputSearch<'p> {
    pub(super) fn new(pattern: &'p OutputPattern, from: OutputCursor) -> OutputSearch<'p> {
        OutputSearch { pattern, position: from, unfinished: Default::default() }
    }

    /// Searches what was printed since the last call. Returns the first line with a match.
    pub(super) async fn advance(&mut self, running: &RunningCommand) -> Result<Option<String>, Fault> {
        while let Some((stream, bytes)) = running.next_piece(&mut self.position)? {
            if let Some(line) = self.search(stream, &bytes) {
                return Ok(Some(line));
            }
            // Long output must not hold up other calls.
            tokio::task::yield_now().await;
        }
        Ok(None)
    }

    fn search(&mut self, stream: usize, bytes: &[u8]) -> Option<String> {
        let unfinished = self.unfinished.get_mut(stream)?;
        let mut text = std::mem::take(unfinished);
        text.extend_from_slice(bytes);
        let found = self.pattern.matching_line(&text);
        let line = memrchr(b'\n', &text).map_or(0, |end| end + 1);
        let kept = line.max(text.len().saturating_sub(MAX_UNFINISHED));
        *unfinished = text.split_off(kept);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::{OutputPattern, OutputSearch};
    use crate::process::OutputCursor;

    fn search(regex: &str, pieces: &[&str]) -> Option<String> {
        let pattern = OutputPattern::compile(regex).unwrap();
        let mut search = OutputSearch::new(&pattern, OutputCursor::default());
        pieces.iter().find_map(|piece| search.search(0, piece.as_bytes()))
    }

    #[test]
    fn a_line_is_found_however_it_arrives() {
        assert_eq!(
            search("listening on :\\d+", &["starting\nlist", "ening on", " :3000\nmore"]).unwrap(),
            "listening on :3000"
        );
        assert_eq!(
            search("error: bad", &["\u{1b}[31merror\u{1b}[0m: bad thing\n"]).unwrap(),
            "error: bad thing"
        );
        assert_eq!(search("10%", &["10%\r20%\r"]).unwrap(), "20%", "a state that was overwritten counts");
        assert_eq!(search("^b$", &["a\nb\nc"]).unwrap(), "b");
        assert_eq!(search("^password: $", &["password: "]).unwrap(), "password: ");
        assert_eq!(search("never", &["a\n", "b\n"]), None);
    }

    #[test]
    fn an_endless_line_is_searched_with_little_memory() {
        let pattern = OutputPattern::compile("needle").unwrap();
        let mut search = OutputSearch::new(&pattern, OutputCursor::default());
        for _ in 0..100 {
            assert_eq!(search.search(0, &[b'x'; 10_000]), None);
            assert!(search.unfinished[0].len() <= super::MAX_UNFINISHED);
        }
        assert_eq!(search.search(0, b"nee"), None);
        assert!(search.search(0, b"dle").is_some());
    }

    #[test]
    fn a_pattern_that_cannot_be_used_is_refused() {
        let fault = OutputPattern::compile("(").unwrap_err();
        assert_eq!(fault.message, "the pattern cannot be used: unclosed group");
    }
}
