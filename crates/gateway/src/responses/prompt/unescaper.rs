//! [`unescape`] for a text that arrives in pieces: what a model says, on its way to the client.
//!
//! A model that repeats a text which was escaped for it is asked to keep the escapes, so that nothing it quotes becomes
//! a call. The client gets the text as its author wrote it. Only from a backslash on is anything held back, and only
//! until it is clear whether a marker follows.

use super::escape::{is_open, unescape};

/// Nobody escapes that deep. What is longer goes on as it is.
const MOST_HELD: usize = 1024;

/// Reads one text.
#[derive(Debug, Default)]
pub struct Unescaper {
    /// Begins with the backslash that is not decided.
    held: String,
}

impl Unescaper {
    /// Takes the next piece. What is certain by now is added to `out`.
    pub fn feed(&mut self, chunk: &str, out: &mut String) {
        if self.passes(chunk) {
            out.push_str(chunk);
            return;
        }
        self.held.push_str(chunk);
        let open = first_open(&self.held).filter(|open| self.held.len() - open <= MOST_HELD);
        match open {
            // The backslash itself tells what stands before it that the text does not end there.
            Some(open) => {
                let certain = unescape(&self.held[..=open]);
                out.push_str(certain.strip_suffix('\\').unwrap_or(&certain));
                self.held.drain(..open);
            }
            None => self.finish(out),
        }
    }

    /// Whether this piece would go on just as it is.
    pub fn passes(&self, chunk: &str) -> bool {
        self.held.is_empty() && !chunk.contains('\\')
    }

    /// The text is over: the rest of it. Ready for another one.
    pub fn finish(&mut self, out: &mut String) {
        out.push_str(&unescape(&self.held));
        self.held.clear();
    }
}

/// The first backslash of which more text could make something else.
fn first_open(text: &str) -> Option<usize> {
    memchr::memchr_iter(b'\\', text.as_bytes()).find(|&at| is_open(&text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert_eq, proptest};
    use proptest::sample::select;

    use super::{MOST_HELD, Unescaper};
    use crate::responses::prompt::{escape, unescape};

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
