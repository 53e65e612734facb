//! A model that repeats its prompt.

use std::sync::Arc;

use backend::{HistoryEntry, MessagePart, ModelTurn};
use responses::request::Request;
use sentinel::{Scanner, TextSegment, ToolNames};

/// All that the model was given, in the ways that a backend or a model may put it together.
pub(crate) fn repeated(turn: &ModelTurn) -> Vec<String> {
    let mut pieces = vec![turn.instructions.as_str()];
    for entry in &turn.history {
        match entry {
            HistoryEntry::Message { parts, .. } => pieces.extend(parts.iter().map(|part| match part {
                MessagePart::Text(text) => text.as_str(),
                MessagePart::Image { url, .. } => url.as_str(),
            })),
            HistoryEntry::Reasoning { summary, .. } => pieces.extend(summary.iter().map(String::as_str)),
            HistoryEntry::Call(_) | HistoryEntry::CallOutput { .. } => panic!("{entry:?} is not text"),
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
    let mut count = |piece: TextSegment<'_>| calls += usize::from(matches!(piece, TextSegment::Call { .. }));
    scanner.feed(said, &mut count);
    scanner.finish(&mut count);
    calls
}
