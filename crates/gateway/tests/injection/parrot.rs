//! A model that says what it was told, word by word.

use std::sync::Arc;

use backend::{Entry, Part, Turn};
use gateway::responses::request::Request;
use gateway::sentinel::{Piece, Scanner, ToolNames};

/// All that the model was given, in the ways that a backend or a model may put it together.
pub(crate) fn repeated(turn: &Turn) -> Vec<String> {
    let mut pieces = vec![turn.instructions.as_str()];
    for entry in &turn.history {
        match entry {
            Entry::Message { parts, .. } => pieces.extend(parts.iter().map(|part| match part {
                Part::Text(text) => text.as_str(),
                Part::Image { url, .. } => url.as_str(),
            })),
            Entry::Reasoning { summary, .. } => pieces.extend(summary.iter().map(String::as_str)),
            Entry::Call(_) | Entry::CallOutput { .. } => panic!("{entry:?} is not text"),
        }
    }
    let backwards: Vec<&str> = pieces.iter().rev().copied().collect();
    vec![pieces.concat(), pieces.join("\n"), backwards.concat()]
}

/// How many calls the gateway finds in what the model says, when every tool of the request may be called.
pub(crate) fn calls(request: &Request, said: &str) -> usize {
    let names: Arc<ToolNames> =
        Arc::new(request.tools.iter().map(|tool| (tool.name.as_str(), tool.strict)).collect());
    let mut scanner = Scanner::new(names);
    let mut calls = 0;
    let mut count = |piece: Piece<'_>| calls += usize::from(matches!(piece, Piece::Call { .. }));
    scanner.feed(said, &mut count);
    scanner.finish(&mut count);
    calls
}
