//! [`unescape`] for a text that arrives in chunks: a model's text on its way to the client.
//!
//! The model is asked to keep the escapes when it repeats escaped text, so that a quotation never becomes a call. The
//! client gets the text as its author wrote it. Text is held back only from a backslash on, until it is clear whether
//! a marker follows.

use super::escape::{is_open, unescape};

/// The longest text that is held back; a longer one is passed on unchanged.
const MOST_HELD: usize = 1024;

/// Unescapes one text.
#[derive(Debug, Default)]
pub struct Unescaper {
    /// The undecided text, from the backslash on.
    held: String,
}

impl Unescaper {
    /// Adds the next chunk. Decided text is appended to `out`.
    pub fn feed(&mut self, chunk: &str, out: &mut String) {
        if self.is_plain(chunk) {
            out.push_str(chunk);
            return;
        }
        self.held.push_str(chunk);
        let open = first_open(&self.held).filter(|open| self.held.len() - open <= MOST_HELD);
        match open {
            // The backslash shows `unescape` that the text before it does not end there.
            Some(open) => {
                let certain = unescape(&self.held[..=open]);
                out.push_str(certain.strip_suffix('\\').unwrap_or(&certain));
                self.held.drain(..open);
            }
            None => self.finish(out),
        }
    }

    /// Whether this chunk is passed on unchanged.
    pub fn is_plain(&self, chunk: &str) -> bool {
        self.held.is_empty() && !chunk.contains('\\')
    }

    /// Ends the text and appends the rest. Ready for another one.
    pub fn finish(&mut self, out: &mut String) {
        out.push_str(&unescape(&self.held));
        self.held.clear();
    }
}

/// Returns the first backslash whose meaning depends on more text.
fn first_open(text: &str) -> Option<usize> {
    text.match_indices('\\').map(|(at, _)| at).find(|&at| is_open(&text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert_eq, proptest};
    use proptest::sample::select;

    use super::{MOST_HELD, Unescaper};
    use crate::prompt::{escape, unescape};

    fn fed<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut unescaper = Unescaper::default();
        let mut said = Vec::new();
        for piece in pieces {
            let mut out = String::new();
            unescaper.feed(piece, &mut out);
            said.push(out);
        }
        let mut out = String::new();
        unescaper.finish(&mut out);
        said.push(out);
        said
    }

    #[test]
    fn text_flows_until_a_backslash_and_on_as_soon_as_it_is_decided() {
        assert_eq!(fed(["plain <b> ", "a\\n", "b"]), ["plain <b> ", "a\\n", "b", ""]);
        assert_eq!(
            fed(["a\\", "u00", "3c", "tool", "_call>", " b"]),
            ["a", "", "", "", "<tool_call>", " b", ""]
        );
        assert_eq!(fed(["a\\u003c", "b>"]), ["a", "\\u003cb>", ""]);
        assert_eq!(fed(["\\u003ctool_c"]), ["", "<tool_c"]);
        assert_eq!(fed(["\\u005c", "u003ctool_call>"]), ["", "\\u003ctool_call>", ""]);
    }

    #[test]
    fn no_text_is_held_for_ever() {
        let deep = "u005c".repeat(MOST_HELD);
        let said = fed(["\\", deep.as_str(), "."]);
        assert_eq!(said.concat(), format!("\\{deep}."));
        assert_eq!(said[1].len(), deep.len() + 1);
    }

    proptest! {
        #[test]
        fn every_split_gives_the_same(
            pieces in vec(
                select(vec!["\\", "\\u003c", "u005c", "u003c", "0", "tool", "_call", ">", " ", "\\u005b", "function_call",
                    "x", "\u{200b}", "<", "\\uff1c", "</", "|im|", "s"]),
                0..12,
            ),
            cuts in vec(any::<u8>(), 12),
        ) {
            let text = pieces.concat();
            for text in [escape(&text).into_owned(), text] {
                let (mut rest, mut parts) = (text.as_str(), Vec::new());
                for cut in &cuts {
                    let at = rest.floor_char_boundary(usize::from(cut % 9));
                    let (part, tail) = rest.split_at(at);
                    parts.push(part);
                    rest = tail;
                }
                parts.push(rest);
                prop_assert_eq!(fed(parts).concat(), unescape(&text));
            }
        }
    }
}
