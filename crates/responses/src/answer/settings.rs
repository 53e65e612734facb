//! Settings of an answer: timeouts and limits.

use std::time::Duration;

use backend::Capabilities;

use crate::request::Request;

#[derive(Debug, Clone)]
pub struct AnswerSettings {
    /// Timeout for the start of a turn.
    pub start_limit: Duration,
    /// Timeout between two events of the backend.
    pub silence_limit: Duration,
    /// Timeout of the whole answer, server-side tools included.
    pub answer_limit: Duration,
    /// The interval after which a silent connection gets a keep-alive comment.
    pub keep_alive: Duration,
    /// The most turns of the model in one answer that uses server-side tools.
    pub max_turns: u32,
    /// The budget of the outputs of Tollgate's own tools in one answer, in tokens. Beyond it older ones are shortened.
    pub tool_history_tokens: usize,
    /// The most tokens of the model in one answer, estimated, over all its turns.
    pub max_answer_tokens: u64,
    /// Whether Tollgate's own tools are offered to every request without tools.
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
            tool_history_tokens: 32_000,
            max_answer_tokens: 200_000,
            offer_tools: false,
        }
    }
}

/// Removes and names options that the backend does not support. The answer repeats the options in effect.
pub(super) fn ignore_unsupported(request: &mut Request, capabilities: Capabilities) {
    let mut ignore = |is_set: bool, name: &str| {
        if is_set {
            request.ignored.push(name.to_owned());
        }
    };
    if !capabilities.sampling {
        ignore(request.temperature.take().is_some(), "temperature");
        ignore(request.top_p.take().is_some(), "top_p");
    }
    if !capabilities.reasoning {
        ignore(request.reasoning_effort.take().is_some(), "reasoning.effort");
        ignore(request.reasoning_summary.take().is_some(), "reasoning.summary");
    }
    if !capabilities.verbosity {
        ignore(request.verbosity.take().is_some(), "text.verbosity");
    }
}
