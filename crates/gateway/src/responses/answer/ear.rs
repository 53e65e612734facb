//! What to make of the events of a turn, one by one.

use std::sync::Arc;

use backend::{Finish, NativeCall, TurnEvent, Usage};
use serde_json::Value;

use super::tools::{Checker, Runs, Tools};
use crate::responses::emitter::Emitter;
use crate::responses::prompt::{Mode, Unescaper};
use crate::sentinel::{CheckArguments, Counts, Judge, Verdict};

/// What came of a turn.
#[derive(Default)]
pub(super) struct Heard {
    /// The text outside of calls, as far as it may be needed again; of the last message, when it is kept back.
    pub(super) said: String,
    /// Messages before it that were kept back.
    pub(super) earlier: Vec<String>,
    /// Calls that are to be run here, in order.
    pub(super) here: Vec<MadeCall>,
    /// Calls that the client got, as far as they may be needed again.
    pub(super) sent: Vec<MadeCall>,
    pub(super) client_calls: u64,
    /// A call that must not be made.
    pub(super) broken: Option<Broken>,
    pub(super) refused: bool,
    /// How the model ended; nothing when it was stopped.
    pub(super) finish: Option<Finish>,
    pub(super) usage: Option<Usage>,
    pub(super) counts: Counts,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MadeCall {
    pub(super) name: String,
    pub(super) arguments: String,
}

impl MadeCall {
    /// Whether both mean the same, however they are written.
    fn is_like(&self, other: &MadeCall) -> bool {
        let read = |call: &MadeCall| serde_json::from_str::<Value>(&call.arguments).ok();
        self.name == other.name && (self.arguments == other.arguments || read(self) == read(other))
    }
}

pub(super) struct Broken {
    pub(super) name: Option<String>,
    /// What the model wrote.
    pub(super) raw: String,
    pub(super) reason: String,
}

/// How a turn is listened to.
pub(super) struct Habits {
    /// Text is kept and not sent: it has to have a shape first.
    pub(super) withheld: bool,
    /// Text and calls are needed again: for another turn, or to be asked about.
    pub(super) remembers: bool,
    pub(super) parallel: bool,
    /// Calls that were made before the model was asked again. It may repeat them, and that makes none.
    pub(super) made_before: Vec<MadeCall>,
}

pub(super) struct Ear {
    judge: Judge<Checker>,
    scribe: Scribe,
}

/// Writes down what the judge decides.
struct Scribe {
    tools: Arc<Tools>,
    habits: Habits,
    heard: Heard,
    /// Gives the client a text that was escaped for the model as its author wrote it. Nothing is escaped for a model
    /// with tools of its own.
    unescaper: Option<Unescaper>,
    /// Used again for each piece.
    plain: String,
}

impl Ear {
    pub(super) fn new(tools: Arc<Tools>, mode: Mode, habits: Habits) -> Ear {
        let judge = Judge::new(tools.names(mode), tools.checker());
        let unescaper = match mode {
            Mode::Sentinel => Some(Unescaper::default()),
            Mode::Native => None,
        };
        let scribe = Scribe { tools, habits, heard: Heard::default(), unescaper, plain: String::new() };
        Ear { judge, scribe }
    }

    /// Takes one event; says whether nothing more is wanted of the turn.
    pub(super) fn hear(&mut self, event: TurnEvent, emitter: &mut Emitter) -> bool {
        match event {
            TurnEvent::Text(text) => {
                self.judge.feed(&text, &mut |verdict| self.scribe.take(verdict, emitter));
            }
            TurnEvent::NextMessage => {
                self.end_of_text(emitter);
                emitter.end_message();
                let heard = &mut self.scribe.heard;
                if self.scribe.habits.withheld && !heard.said.trim().is_empty() {
                    heard.earlier.push(std::mem::take(&mut heard.said));
                }
            }
            TurnEvent::Reasoning { part, text } => emitter.reasoning(part, &text),
            TurnEvent::SealedReasoning(sealed) => emitter.seal_reasoning(sealed),
            TurnEvent::Call(call) => self.scribe.native(call, emitter),
            TurnEvent::Refusal(refusal) => {
                self.scribe.heard.refused = true;
                emitter.refusal(&refusal);
            }
            TurnEvent::Usage(usage) => self.scribe.heard.usage = Some(usage),
            TurnEvent::Done(finish) => {
                self.end_of_text(emitter);
                self.scribe.heard.finish = Some(finish);
                return true;
            }
        }
        self.scribe.is_full()
    }

    /// The message is over, or will not go on.
    pub(super) fn end_of_text(&mut self, emitter: &mut Emitter) {
        self.judge.finish(&mut |verdict| self.scribe.take(verdict, emitter));
        self.scribe.end_of_text(emitter);
    }

    pub(super) fn finish(self) -> Heard {
        let mut heard = self.scribe.heard;
        let counts = self.judge.counts();
        heard.counts = Counts {
            calls: counts.calls + heard.counts.calls,
            strict_failures: counts.strict_failures + heard.counts.strict_failures,
            ..counts
        };
        heard
    }
}

impl Scribe {
    fn is_full(&self) -> bool {
        let called = self.heard.client_calls > 0 || !self.heard.here.is_empty();
        self.heard.broken.is_some() || (called && !self.habits.parallel)
    }

    fn take(&mut self, verdict: Verdict<'_>, emitter: &mut Emitter) {
        if self.is_full() {
            return;
        }
        match verdict {
            Verdict::Text(text) => {
                if self.habits.withheld || self.habits.remembers {
                    self.heard.said.push_str(text);
                }
                if !self.habits.withheld {
                    self.say(text, emitter);
                }
            }
            Verdict::Call { call, mismatch } => {
                if mismatch.is_some() {
                    tracing::warn!(tool = %call.name, "a call does not fit its schema and is made all the same");
                }
                self.call(MadeCall { name: call.name, arguments: call.arguments }, emitter);
            }
            Verdict::StrictFailure(failure) => {
                let raw = failure.raw.to_owned();
                self.heard.broken = Some(Broken { name: failure.name, raw, reason: failure.reason });
            }
        }
    }

    fn say(&mut self, text: &str, emitter: &mut Emitter) {
        match &mut self.unescaper {
            Some(unescaper) if !unescaper.passes(text) => {
                unescaper.feed(text, &mut self.plain);
                emitter.text(&self.plain);
                self.plain.clear();
            }
            Some(_) | None => emitter.text(text),
        }
    }

    /// Whatever follows is not the same text.
    fn end_of_text(&mut self, emitter: &mut Emitter) {
        if let Some(unescaper) = &mut self.unescaper {
            unescaper.finish(&mut self.plain);
            emitter.text(&self.plain);
            self.plain.clear();
        }
    }

    fn call(&mut self, call: MadeCall, emitter: &mut Emitter) {
        self.end_of_text(emitter);
        if self.habits.made_before.iter().any(|made| made.is_like(&call)) {
            return;
        }
        match self.tools.allowed(&call.name) {
            Some((tool, Runs::Client)) => {
                self.heard.client_calls += 1;
                emitter.call(tool, &call.arguments);
                if self.habits.remembers {
                    self.heard.sent.push(call);
                }
            }
            Some((_, Runs::Here)) => self.heard.here.push(call),
            // The judge knows only names that are allowed.
            None => {}
        }
    }

    /// A call through the backend's own tools, which are held to the same rules.
    fn native(&mut self, call: NativeCall, emitter: &mut Emitter) {
        if self.is_full() {
            return;
        }
        let NativeCall { name, arguments, .. } = call;
        let arguments = if arguments.trim().is_empty() { "{}".to_owned() } else { arguments };
        match self.fault(&name, &arguments) {
            None => {
                self.heard.counts.calls += 1;
                self.call(MadeCall { name, arguments }, emitter);
            }
            Some(reason) => {
                self.heard.counts.strict_failures += 1;
                let raw = format!("{name} {arguments}");
                self.heard.broken = Some(Broken { raw, name: Some(name), reason });
            }
        }
    }

    /// Why a native call must not be made.
    fn fault(&self, name: &str, arguments: &str) -> Option<String> {
        let Some((tool, _)) = self.tools.allowed(name) else {
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
