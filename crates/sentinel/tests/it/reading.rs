//! The only place in these tests that feeds the scanner, and how what it says is written down.

use std::sync::Arc;

use sentinel::{FoundCall, Scanner, TextSegment, ToolNames};

/// The output of a scanner, with adjacent texts joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    Text(String),
    Call { raw: String, call: FoundCall },
    Rejected { raw: String, why: String, name: Option<String> },
}

impl Said {
    pub(crate) fn raw(&self) -> &str {
        match self {
            Said::Text(raw) | Said::Call { raw, .. } | Said::Rejected { raw, .. } => raw,
        }
    }
}

/// The tools of every test: `f` and `read_file` are not strict, `strict` is.
pub(crate) fn names() -> Arc<ToolNames> {
    Arc::new([("f", false), ("read_file", false), ("strict", true)].into_iter().collect())
}

pub(crate) fn scanner() -> Scanner {
    Scanner::new(names())
}

/// Reads a text that comes in these pieces.
pub(crate) fn read<'a>(mut scanner: Scanner, chunks: impl IntoIterator<Item = &'a str>) -> Vec<Said> {
    read_next(&mut scanner, chunks)
}

/// Reads another text with a scanner that may have read some.
pub(crate) fn read_next<'a>(scanner: &mut Scanner, chunks: impl IntoIterator<Item = &'a str>) -> Vec<Said> {
    let mut all = Vec::new();
    for chunk in chunks {
        scanner.feed(chunk, &mut |piece| add(&mut all, piece));
    }
    scanner.finish(&mut |piece| add(&mut all, piece));
    all
}

fn add(all: &mut Vec<Said>, piece: TextSegment<'_>) {
    assert!(!piece.raw_text().is_empty(), "a piece without text");
    match piece {
        TextSegment::Text(text) => match all.last_mut() {
            Some(Said::Text(before)) => before.push_str(text),
            _ => all.push(Said::Text(text.to_owned())),
        },
        TextSegment::Call { raw, call } => all.push(Said::Call { raw: raw.to_owned(), call }),
        TextSegment::Rejected(rejected) => all.push(Said::Rejected {
            raw: rejected.raw.to_owned(),
            why: rejected.fault.to_string(),
            name: rejected.name,
        }),
    }
}

/// One line for each piece.
pub(crate) fn written(all: &[Said]) -> String {
    all.iter()
        .map(|said| match said {
            Said::Text(text) => format!("text {text:?}\n"),
            Said::Call { call, .. } => {
                let repaired = if call.repaired { ", repaired" } else { "" };
                let as_object = if call.as_object { ", as an object" } else { "" };
                format!("call {} {}{repaired}{as_object}\n", call.name, call.arguments)
            }
            Said::Rejected { raw, why, name } => {
                let name = name.as_deref().unwrap_or("?");
                format!("rejected {raw:?} of {name}: {why}\n")
            }
        })
        .collect()
}

/// Cuts a text into pieces of so many characters.
pub(crate) fn cut(text: &str, characters: usize) -> Vec<&str> {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).step_by(characters).collect();
    starts
        .iter()
        .enumerate()
        .map(|(index, start)| &text[*start..starts.get(index + 1).copied().unwrap_or(text.len())])
        .collect()
}
