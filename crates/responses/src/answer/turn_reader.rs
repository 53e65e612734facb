//! Interprets the events of a turn, one by one.

use std::sync::Arc;

use backend::{FinishReason, NativeCall, TokenUsage, TurnEvent};
use serde_json::Value;

use super::tool_set::{ArgumentsChecker, ToolLocation, ToolSet};
use crate::emitter::AnswerEmitter;
use crate::prompt::{ToolPromptMode, Unescaper};
use sentinel::{
    AnswerParser, CheckArguments, ParserCounts, ParserVerdict, ThinkSegment, ThinkSplitter, ToolNames,
};

/// The outcome of a turn.
#[derive(Default)]
pub(super) struct TurnOutcome {
    /// The text outside of calls, if it may be needed again; that of the last message, if it is withheld.
    pub(super) text: String,
    /// Withheld messages before it.
    pub(super) earlier_messages: Vec<String>,
    /// Calls of server-side tools, in order.
    pub(super) server_calls: Vec<ToolRequest>,
    /// Calls that were sent to the client, if they may be needed again.
    pub(super) sent_calls: Vec<ToolRequest>,
    pub(super) client_calls: u64,
    /// A call that must not be made.
    pub(super) failure: Option<TurnFailure>,
    pub(super) refused: bool,
    /// How the model ended; `None` if it was stopped.
    pub(super) finish: Option<FinishReason>,
    pub(super) usage: Option<TokenUsage>,
    pub(super) counts: ParserCounts,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolRequest {
    pub(super) name: String,
    pub(super) arguments: String,
}

impl ToolRequest {
    /// Whether both calls are equal, however their arguments are written.
    fn is_same_call(&self, other: &ToolRequest) -> bool {
        let read = |call: &ToolRequest| serde_json::from_str::<Value>(&call.arguments).ok();
        self.name == other.name && (self.arguments == other.arguments || read(self) == read(other))
    }
}

pub(super) struct TurnFailure {
    pub(super) name: Option<String>,
    /// The model's text.
    pub(super) raw: String,
    pub(super) reason: String,
}

/// How a turn is read.
pub(super) struct TurnOptions {
    /// Text is not sent yet: its format must be checked first.
    pub(super) withheld: bool,
    /// Text and calls are collected, for another turn or a repair.
    pub(super) collects: bool,
    pub(super) parallel: bool,
    /// Calls that were made before a repair. The model may repeat them; they are not made again.
    pub(super) made_before: Vec<ToolRequest>,
}

pub(super) struct TurnReader {
    parser: AnswerParser<ArgumentsChecker>,
    collector: OutputCollector,
    /// For a model that only writes text.
    text_model: Option<TextModelParts>,
}

/// Parts of the reader of a model that only writes text.
struct TextModelParts {
    names: Arc<ToolNames>,
    think_splitter: ThinkSplitter,
    /// Counts of calls that the model's server turned into native ones.
    native_counts: ParserCounts,
}

/// Sends text and calls to the client, and collects the outcome.
struct OutputCollector {
    tools: Arc<ToolSet>,
    turn_options: TurnOptions,
    outcome: TurnOutcome,
    /// Restores text that was escaped for the model. Nothing is escaped for a model with native tools.
    unescaper: Option<Unescaper>,
    /// A buffer for unescaped text.
    unescaped: String,
}

impl TurnReader {
    pub(super) fn new(tools: Arc<ToolSet>, mode: ToolPromptMode, turn_options: TurnOptions) -> TurnReader {
        let parser = AnswerParser::new(tools.names(mode), tools.checker());
        let (unescaper, text_model) = match mode {
            ToolPromptMode::Sentinel => {
                let parts = TextModelParts {
                    names: tools.names(mode),
                    think_splitter: ThinkSplitter::default(),
                    native_counts: ParserCounts::default(),
                };
                (Some(Unescaper::default()), Some(parts))
            }
            ToolPromptMode::Native => (None, None),
        };
        let collector = OutputCollector {
            tools,
            turn_options,
            outcome: TurnOutcome::default(),
            unescaper,
            unescaped: String::new(),
        };
        TurnReader { parser, collector, text_model }
    }

    /// Reads one event. Returns true if no more events are needed.
    pub(super) fn read(&mut self, event: TurnEvent, emitter: &mut AnswerEmitter) -> bool {
        match event {
            TurnEvent::Text(text) => self.read_text(&text, emitter),
            TurnEvent::NextMessage => {
                self.end_of_text(emitter);
                emitter.end_message();
                let outcome = &mut self.collector.outcome;
                if self.collector.turn_options.withheld && !outcome.text.trim().is_empty() {
                    outcome.earlier_messages.push(std::mem::take(&mut outcome.text));
                }
            }
            TurnEvent::Reasoning { part, text } => emitter.reasoning(part, &text),
            TurnEvent::SealedReasoning(sealed) => emitter.encrypted_reasoning(sealed),
            TurnEvent::Call(call) if self.text_model.is_some() => self.text_model_call(&call, emitter),
            TurnEvent::Call(call) => self.collector.native_call(call, emitter),
            TurnEvent::Refusal(refusal) => {
                self.collector.outcome.refused = true;
                emitter.refusal(&refusal);
            }
            TurnEvent::Usage(usage) => self.collector.outcome.usage = Some(usage),
            TurnEvent::Done(finish) => {
                self.end_of_text(emitter);
                self.collector.outcome.finish = Some(finish);
                return true;
            }
        }
        self.collector.is_full()
    }

    fn read_text(&mut self, text: &str, emitter: &mut AnswerEmitter) {
        let TurnReader { parser, collector, text_model } = self;
        match text_model {
            Some(parts) => parts.think_splitter.feed(text, &mut |segment| match segment {
                ThinkSegment::Text(text) => {
                    parser.feed(text, &mut |verdict| collector.take(verdict, emitter));
                }
                ThinkSegment::Reasoning(text) => emitter.reasoning(0, text),
            }),
            None => parser.feed(text, &mut |verdict| collector.take(verdict, emitter)),
        }
    }

    /// Handles a call that the server of a text model found in its text itself. It is written as a block and parsed like
    /// one, so that the same rules apply.
    fn text_model_call(&mut self, call: &NativeCall, emitter: &mut AnswerEmitter) {
        self.end_of_text(emitter);
        let TurnReader { collector, text_model: Some(parts), .. } = self else { return };
        let body = serde_json::json!({ "name": call.name, "arguments": call.arguments });
        let block = format!("<tool_call>{body}</tool_call>");
        let mut parser = AnswerParser::new(parts.names.clone(), collector.tools.checker());
        parser.feed(&block, &mut |verdict| collector.take(verdict, emitter));
        parser.finish(&mut |verdict| collector.take(verdict, emitter));
        parts.native_counts = parts.native_counts.plus(parser.counts());
    }

    /// Ends the message.
    pub(super) fn end_of_text(&mut self, emitter: &mut AnswerEmitter) {
        let TurnReader { parser, collector, text_model } = self;
        if let Some(parts) = text_model {
            parts.think_splitter.finish(&mut |segment| match segment {
                ThinkSegment::Text(text) => {
                    parser.feed(text, &mut |verdict| collector.take(verdict, emitter));
                }
                ThinkSegment::Reasoning(text) => emitter.reasoning(0, text),
            });
        }
        self.parser.finish(&mut |verdict| self.collector.take(verdict, emitter));
        self.collector.end_of_text(emitter);
    }

    pub(super) fn finish(self) -> TurnOutcome {
        let mut outcome = self.collector.outcome;
        let native = self.text_model.map(|parts| parts.native_counts).unwrap_or_default();
        let counts = self.parser.counts().plus(native);
        outcome.counts = ParserCounts {
            calls: counts.calls + outcome.counts.calls,
            strict_failures: counts.strict_failures + outcome.counts.strict_failures,
            ..counts
        };
        outcome
    }
}

impl OutputCollector {
    fn is_full(&self) -> bool {
        let called = self.outcome.client_calls > 0 || !self.outcome.server_calls.is_empty();
        self.outcome.failure.is_some() || (called && !self.turn_options.parallel)
    }

    fn take(&mut self, verdict: ParserVerdict<'_>, emitter: &mut AnswerEmitter) {
        if self.is_full() {
            return;
        }
        match verdict {
            ParserVerdict::Text(text) => {
                if self.turn_options.withheld || self.turn_options.collects {
                    self.outcome.text.push_str(text);
                }
                if !self.turn_options.withheld {
                    self.emit_text(text, emitter);
                }
            }
            ParserVerdict::Call { call, mismatch } => {
                if mismatch.is_some() {
                    tracing::warn!(tool = %call.name, "a call does not fit its schema and is made all the same");
                }
                self.call(ToolRequest { name: call.name, arguments: call.arguments }, emitter);
            }
            ParserVerdict::StrictFailure(failure) => {
                let raw = failure.raw.to_owned();
                self.outcome.failure = Some(TurnFailure { name: failure.name, raw, reason: failure.reason });
            }
        }
    }

    fn emit_text(&mut self, text: &str, emitter: &mut AnswerEmitter) {
        match &mut self.unescaper {
            Some(unescaper) if !unescaper.is_plain(text) => {
                unescaper.feed(text, &mut self.unescaped);
                emitter.text(&self.unescaped);
                self.unescaped.clear();
            }
            Some(_) | None => emitter.text(text),
        }
    }

    /// Emits the rest of the text: a call or another message follows.
    fn end_of_text(&mut self, emitter: &mut AnswerEmitter) {
        if let Some(unescaper) = &mut self.unescaper {
            unescaper.finish(&mut self.unescaped);
            emitter.text(&self.unescaped);
            self.unescaped.clear();
        }
    }

    fn call(&mut self, call: ToolRequest, emitter: &mut AnswerEmitter) {
        self.end_of_text(emitter);
        if self.turn_options.made_before.iter().any(|made| made.is_same_call(&call)) {
            return;
        }
        match self.tools.allowed_tool(&call.name) {
            Some((tool, ToolLocation::Client)) => {
                self.outcome.client_calls += 1;
                emitter.call(tool, &call.arguments);
                if self.turn_options.collects {
                    self.outcome.sent_calls.push(call);
                }
            }
            Some((_, ToolLocation::Server)) => self.outcome.server_calls.push(call),
            // The parser accepts allowed names only.
            None => {}
        }
    }

    /// Handles a native call of the backend. The same rules apply.
    fn native_call(&mut self, call: NativeCall, emitter: &mut AnswerEmitter) {
        if self.is_full() {
            return;
        }
        let NativeCall { name, arguments, .. } = call;
        // Another name of a tool means that tool, for its schema and for calls that were made before.
        let name = self.tools.allowed_tool(&name).map_or(name, |(tool, _)| tool.name.clone());
        let arguments = if arguments.trim().is_empty() { "{}".to_owned() } else { arguments };
        match self.check_native_call(&name, &arguments) {
            None => {
                self.outcome.counts.calls += 1;
                self.call(ToolRequest { name, arguments }, emitter);
            }
            Some(reason) => {
                self.outcome.counts.strict_failures += 1;
                let raw = format!("{name} {arguments}");
                self.outcome.failure = Some(TurnFailure { raw, name: Some(name), reason });
            }
        }
    }

    /// Returns why a native call must not be made.
    fn check_native_call(&self, name: &str, arguments: &str) -> Option<String> {
        let Some((tool, _)) = self.tools.allowed_tool(name) else {
            return Some("it is not a tool that may be called".to_owned());
        };
        match serde_json::from_str::<Value>(arguments) {
            Ok(value) if value.is_object() => {
                self.tools.checker().check(name, &value).err().filter(|_| tool.strict)
            }
            Ok(_) => Some("the arguments are not a JSON object".to_owned()),
            Err(error) => Some(format!("the arguments are not JSON: {error}")),
        }
    }
}
