//! How long, how much and how often an answer may.

use std::time::Duration;

use backend::Capabilities;

use crate::responses::request::Request;

#[derive(Debug, Clone)]
pub struct AnswerSettings {
    /// Until the backend has begun.
    pub start_limit: Duration,
    /// Between two things that the backend says.
    pub silence_limit: Duration,
    /// For the whole answer, server-side tools included.
    pub answer_limit: Duration,
    /// After so much silence the client is told that the connection lives.
    pub keep_alive: Duration,
    /// Turns of the model in one answer when it uses server-side tools.
    pub max_turns: u32,
    /// Tokens of the model in one answer, estimated, over all its turns.
    pub max_answer_tokens: u64,
    /// Offers Tollgate's own tools to every request that brings none of its own.
    pub offer_tools: bool,
}

impl Default for AnswerSettings {
    fn default() -> AnswerSettings {
        AnswerSettings {
            start_limit: Duration::from_secs(60),
            silence_limit: Duration::from_secs(300),
            answer_limit: Duration::from_secs(1_800),
            keep_alive: Duration::from_secs(15),
            max_turns: 24,
            max_answer_tokens: 200_000,
            offer_tools: false,
        }
    }
}

/// Names what the backend has no way to honour. The answer repeats what is in effect, not what was asked for.
pub(super) fn note_ignored(request: &mut Request, can: Capabilities) {
    let mut ignore = |asked: bool, name: &str| {
        if asked {
            request.ignored.push(name.to_owned());
        }
    };
    if !can.sampling {
        ignore(request.temperature.take().is_some(), "temperature");
        ignore(request.top_p.take().is_some(), "top_p");
    }
    if !can.reasoning {
        ignore(request.reasoning_effort.take().is_some(), "reasoning.effort");
        ignore(request.reasoning_summary.take().is_some(), "reasoning.summary");
    }
    if !can.verbosity {
        ignore(request.verbosity.take().is_some(), "text.verbosity");
    }
}
