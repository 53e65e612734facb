//! Decides about a block that may be inside Markdown code.
//!
//! A model that shows a call does not make it. But a stray backtick, or a fence that is never closed, is no code, and must
//! not hide a call:
//!
//! - In a code span, the block counts if the line ends after it without the backticks that would close the span.
//! - In a fenced block, it counts if the text ends after it and after further blocks, so that nothing closes the fence.
//!
//! A block that has a fault never counts here.

use super::json::{JsonTokenizer, TokenizerProgress};
use super::quote_tracker::CodeKind;
use super::scanner::OPEN;

/// The decision about an open tag inside code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuotedOutcome {
    /// More text is needed.
    Undecided,
    /// It is quoted, and so is every open tag before this index of the text, as long as the code goes on.
    Quoted(usize),
    /// It is not in code: the block counts.
    NotCode,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct QuotedBlock {
    code: CodeKind,
    /// Where the current block starts, counted from the first open tag.
    block: usize,
    stage: QuotedStage,
}

#[derive(Debug, Clone, Copy)]
enum QuotedStage {
    /// The tokenizer reads the block.
    Inside,
    /// After a block, at this index. The last characters were so many backticks.
    Behind { at: usize, backticks: u32 },
}

impl QuotedBlock {
    /// Starts at an open tag. The caller has reset the tokenizer.
    pub(super) fn new(code: CodeKind) -> QuotedBlock {
        QuotedBlock { code, block: 0, stage: QuotedStage::Inside }
    }

    /// Continues. `text` starts with the open tag; only its new part is read. Adds the number of bytes that were read to
    /// `looked_at`.
    pub(super) fn decide(
        &mut self,
        text: &[u8],
        tokenizer: &mut JsonTokenizer,
        at_end: bool,
        looked_at: &mut u64,
    ) -> QuotedOutcome {
        loop {
            match self.stage {
                QuotedStage::Inside => {
                    let start = self.block + OPEN.len();
                    let before = tokenizer.at();
                    let progress = tokenizer.read(&text[start..]);
                    *looked_at += (tokenizer.at() - before) as u64;
                    let end = start + tokenizer.at();
                    match progress {
                        TokenizerProgress::Closed => {
                            self.stage = QuotedStage::Behind { at: end, backticks: 0 };
                        }
                        TokenizerProgress::More if !at_end => return QuotedOutcome::Undecided,
                        TokenizerProgress::More | TokenizerProgress::Broken(_) => {
                            return QuotedOutcome::Quoted(end);
                        }
                    }
                }
                QuotedStage::Behind { at, backticks } => match self.code {
                    CodeKind::Span(length) => {
                        return self.find_span_end(text, at, backticks, length, at_end, looked_at);
                    }
                    CodeKind::Fence => match find_next_block(text, at, at_end, looked_at) {
                        NextBlock::At(next) => {
                            self.block = next;
                            self.stage = QuotedStage::Inside;
                            tokenizer.restart_block();
                        }
                        NextBlock::Undecided(at) => {
                            self.stage = QuotedStage::Behind { at, backticks: 0 };
                            return QuotedOutcome::Undecided;
                        }
                        NextBlock::OtherText(at) => return QuotedOutcome::Quoted(at),
                        NextBlock::EndOfText => return QuotedOutcome::NotCode,
                    },
                },
            }
        }
    }

    /// Searches the rest of the line for the backticks that close a span.
    fn find_span_end(
        &mut self,
        text: &[u8],
        mut at: usize,
        mut backticks: u32,
        length: u32,
        at_end: bool,
        looked_at: &mut u64,
    ) -> QuotedOutcome {
        while let Some(byte) = text.get(at) {
            *looked_at += 1;
            if *byte == b'`' {
                backticks = backticks.saturating_add(1);
            } else if backticks == length {
                return QuotedOutcome::Quoted(at);
            } else if *byte == b'\n' {
                return QuotedOutcome::NotCode;
            } else {
                backticks = 0;
            }
            at += 1;
        }
        if at_end {
            return if backticks == length { QuotedOutcome::Quoted(at) } else { QuotedOutcome::NotCode };
        }
        self.stage = QuotedStage::Behind { at, backticks };
        QuotedOutcome::Undecided
    }
}

/// The text after a block in a fence.
enum NextBlock {
    /// Another block starts at this index.
    At(usize),
    /// More text is needed from this index on.
    Undecided(usize),
    /// Other text follows at this index.
    OtherText(usize),
    EndOfText,
}

fn find_next_block(text: &[u8], from: usize, at_end: bool, looked_at: &mut u64) -> NextBlock {
    let rest = &text[from..];
    let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let rest = &rest[blank..];
    *looked_at += blank as u64;
    let at = from + blank;
    if rest.starts_with(OPEN.as_bytes()) {
        *looked_at += OPEN.len() as u64;
        NextBlock::At(at)
    } else if !at_end && OPEN.as_bytes().starts_with(rest) {
        NextBlock::Undecided(at)
    } else if rest.is_empty() {
        NextBlock::EndOfText
    } else {
        NextBlock::OtherText(at)
    }
}
