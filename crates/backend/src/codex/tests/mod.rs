//! Turns and processes as a whole, against an app-server without a process. Time stands still unless
//! everybody waits.

mod fake;
mod processes;
mod turns;

use std::path::PathBuf;

use crate::codex::{Codex, CodexSettings, ToolMode};
use crate::{
    HistoryEntry, MessagePart, MessageRole, ModelTurn, ReasoningSettings, SamplingSettings, TurnStream,
};

use self::fake::Fake;

fn codex(fake: &Fake, change: impl FnOnce(&mut CodexSettings)) -> Codex {
    let mut settings = CodexSettings::new(PathBuf::from("/srv/empty"));
    settings.tools = ToolMode::Sentinel;
    change(&mut settings);
    Codex::launched_by(Box::new(fake.clone()), settings)
}

fn turn(text: &str) -> ModelTurn {
    ModelTurn {
        model: "fake-model".to_owned(),
        instructions: "You are plain.".to_owned(),
        history: vec![HistoryEntry::Message {
            role: MessageRole::User,
            parts: vec![MessagePart::Text(text.to_owned())],
        }],
        tools: Vec::new(),
        reasoning: ReasoningSettings::default(),
        verbosity: None,
        sampling: SamplingSettings::default(),
        output_schema: None,
    }
}

/// All events to the end, one a line.
async fn all_events(mut stream: TurnStream) -> String {
    let mut lines = Vec::new();
    while let Some(event) = stream.next().await {
        lines.push(match event {
            Ok(event) => format!("{event:?}"),
            Err(error) => format!("error {}: {error}", error.kind),
        });
    }
    lines.join("\n")
}

/// A recorded turn with two messages, and its beginning.
const TWO_MESSAGES: &str = include_str!("../transcripts/two_messages.jsonl");

fn beginning() -> String {
    TWO_MESSAGES.lines().take(7).map(|line| format!("{line}\n")).collect()
}

/// Lets every other task do what it can do now.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}
