//! Separates the reasoning that some models write into their text, as `<think>...</think>` at its start.
//!
//! Only the first block counts, and only white space may come before it: later a model may write about the tag. Without a
//! close tag the whole text is reasoning. A call inside of it is not made.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// A part of a model's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkSegment<'a> {
    Reasoning(&'a str),
    Text(&'a str),
}

/// Splits one text that arrives in chunks. The result is the same for every split.
#[derive(Debug, Default)]
pub struct ThinkSplitter {
    stage: Stage,
    /// Text that may be white space and an open tag, or a part of a close tag.
    held: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    Start,
    Reasoning,
    Text,
}

impl ThinkSplitter {
    /// Splits the next chunk.
    #[inline]
    pub fn feed(&mut self, chunk: &str, found: &mut impl FnMut(ThinkSegment<'_>)) {
        match self.stage {
            Stage::Text => emit_text(chunk, found),
            Stage::Start => self.feed_start(chunk, found),
            Stage::Reasoning => self.feed_reasoning(chunk, found),
        }
    }

    /// Ends the text. The splitter is then ready for another one.
    pub fn finish(&mut self, found: &mut impl FnMut(ThinkSegment<'_>)) {
        match self.stage {
            Stage::Start | Stage::Text => emit_text(&self.held, found),
            Stage::Reasoning => emit_reasoning(&self.held, found),
        }
        *self = ThinkSplitter::default();
    }

    fn feed_start(&mut self, chunk: &str, found: &mut impl FnMut(ThinkSegment<'_>)) {
        self.held.push_str(chunk);
        let tag = self.held.trim_start_matches([' ', '\t', '\r', '\n']);
        if let Some(reasoning) = tag.strip_prefix(OPEN) {
            let reasoning = reasoning.to_owned();
            self.held.clear();
            self.stage = Stage::Reasoning;
            self.feed_reasoning(&reasoning, found);
        } else if !OPEN.starts_with(tag) {
            self.stage = Stage::Text;
            emit_text(&self.held, found);
            self.held.clear();
        }
    }

    fn feed_reasoning(&mut self, chunk: &str, found: &mut impl FnMut(ThinkSegment<'_>)) {
        self.held.push_str(chunk);
        if let Some((reasoning, text)) = self.held.split_once(CLOSE) {
            emit_reasoning(reasoning, found);
            emit_text(text, found);
            self.stage = Stage::Text;
            self.held.clear();
            return;
        }
        // The tag has one `<`, so only the last one can start it.
        let tag = self.held.rfind('<').filter(|at| CLOSE.starts_with(&self.held[*at..]));
        let done = tag.unwrap_or(self.held.len());
        emit_reasoning(&self.held[..done], found);
        self.held.drain(..done);
    }
}

fn emit_text(text: &str, found: &mut impl FnMut(ThinkSegment<'_>)) {
    if !text.is_empty() {
        found(ThinkSegment::Text(text));
    }
}

fn emit_reasoning(text: &str, found: &mut impl FnMut(ThinkSegment<'_>)) {
    if !text.is_empty() {
        found(ThinkSegment::Reasoning(text));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, prop_assert_eq, proptest};

    use super::{ThinkSegment, ThinkSplitter};

    /// The reasoning and the text of a model's text that comes in chunks of a length.
    fn split(text: &str, length: usize) -> (String, String) {
        let (mut reasoning, mut rest) = (String::new(), String::new());
        let mut take = |segment: ThinkSegment<'_>| match segment {
            ThinkSegment::Reasoning(text) => reasoning.push_str(text),
            ThinkSegment::Text(text) => rest.push_str(text),
        };
        let mut splitter = ThinkSplitter::default();
        let characters: Vec<char> = text.chars().collect();
        for chunk in characters.chunks(length) {
            splitter.feed(&chunk.iter().collect::<String>(), &mut take);
        }
        splitter.finish(&mut take);
        (reasoning, rest)
    }

    #[test]
    fn only_a_block_at_the_start_is_reasoning_however_the_text_is_cut() {
        for (text, reasoning, rest) in [
            ("<think>a < b</think>c", "a < b", "c"),
            ("\n <think></think>\n\nc", "", "\n\nc"),
            ("<think>a</thin</think>c<think>d</think>", "a</thin", "c<think>d</think>"),
            ("<think><</think>", "<", ""),
            ("<think>a</think", "a</think", ""),
            ("<thin", "", "<thin"),
            ("<thinker>a</think>", "", "<thinker>a</think>"),
            ("c <think>a</think>", "", "c <think>a</think>"),
            ("  c", "", "  c"),
            ("", "", ""),
            (
                "<think><tool_call>{\"name\":\"f\"}</tool_call></think>c",
                "<tool_call>{\"name\":\"f\"}</tool_call>",
                "c",
            ),
        ] {
            for length in 1..=text.len().max(1) {
                assert_eq!(
                    split(text, length),
                    (reasoning.to_owned(), rest.to_owned()),
                    "{text:?} in {length}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn cutting_changes_nothing_and_nothing_but_tags_and_leading_space_is_lost(
            parts in prop::collection::vec(prop::sample::select(vec![
                "<think>", "</think>", "<", "</thi", "nk>", " ", "\n", "a", "<tool_call>",
            ]), 0..12),
            length in 1_usize..8,
        ) {
            let text = parts.concat();
            let whole = split(&text, text.len().max(1));
            prop_assert_eq!(&split(&text, length), &whole);
            if !text.trim_start().starts_with("<think>") {
                prop_assert_eq!(whole, (String::new(), text));
            }
        }
    }
}
