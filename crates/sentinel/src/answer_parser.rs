//! Decides what each segment of a model's text is: text for the reader, a call, or a failure.

use std::sync::Arc;

use serde_json::Value;

use super::fault::BlockFault;
use super::scanner::Scanner;
use super::text_segment::{FoundCall, RejectedBlock, TextSegment};
use super::tool_names::ToolNames;
use super::unique_keys;

/// Checks arguments against the schema of their tool. The error names the place and the expected value.
pub trait CheckArguments {
    fn check(&self, name: &str, arguments: &Value) -> Result<(), String>;
}

impl<F: Fn(&str, &Value) -> Result<(), String>> CheckArguments for F {
    fn check(&self, name: &str, arguments: &Value) -> Result<(), String> {
        self(name, arguments)
    }
}

/// The decision about a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParserVerdict<'a> {
    Text(&'a str),
    Call {
        call: FoundCall,
        /// Why the arguments do not match the schema, for the log. A tool that is not strict is called anyway.
        mismatch: Option<String>,
    },
    StrictFailure(StrictFailure<'a>),
}

/// A block of a strict tool that must not be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictFailure<'a> {
    /// The name in the block, if one could be read.
    pub name: Option<String>,
    /// The block as the model wrote it.
    pub raw: &'a str,
    /// The fault, worded so that the model can correct it.
    pub reason: String,
}

/// Counts of one or more texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ParserCounts {
    pub calls: u64,
    /// Calls that were repaired.
    pub repairs: u64,
    /// Calls whose arguments were an object instead of a string.
    pub object_arguments: u64,
    /// Blocks that are not calls, for any reason except an unknown name.
    pub malformed: u64,
    pub unknown_names: u64,
    /// Calls of tools that are not strict whose arguments do not match the schema.
    pub soft_mismatches: u64,
    pub strict_failures: u64,
    /// Open tags inside code blocks and code spans.
    pub quoted: u64,
}

impl ParserCounts {
    /// Returns the sums of both.
    #[must_use]
    pub fn plus(self, other: ParserCounts) -> ParserCounts {
        ParserCounts {
            calls: self.calls + other.calls,
            repairs: self.repairs + other.repairs,
            object_arguments: self.object_arguments + other.object_arguments,
            malformed: self.malformed + other.malformed,
            unknown_names: self.unknown_names + other.unknown_names,
            soft_mismatches: self.soft_mismatches + other.soft_mismatches,
            strict_failures: self.strict_failures + other.strict_failures,
            quoted: self.quoted + other.quoted,
        }
    }
}

/// Parses one answer of a model.
#[derive(Debug)]
pub struct AnswerParser<C> {
    scanner: Scanner,
    rules: ParserRules<C>,
}

/// The rules of the parser, without its input.
#[derive(Debug)]
struct ParserRules<C> {
    names: Arc<ToolNames>,
    check: C,
    counts: ParserCounts,
}

impl<C: CheckArguments> AnswerParser<C> {
    pub fn new(names: Arc<ToolNames>, check: C) -> AnswerParser<C> {
        let scanner = Scanner::new(names.clone());
        AnswerParser { scanner, rules: ParserRules { names, check, counts: ParserCounts::default() } }
    }

    /// Parses the next chunk of the answer.
    #[inline]
    pub fn feed(&mut self, chunk: &str, said: &mut impl FnMut(ParserVerdict<'_>)) {
        self.scanner.feed(chunk, &mut |piece| said(self.rules.decide(piece)));
    }

    /// Ends the answer.
    pub fn finish(&mut self, said: &mut impl FnMut(ParserVerdict<'_>)) {
        self.scanner.finish(&mut |piece| said(self.rules.decide(piece)));
    }

    pub fn counts(&self) -> ParserCounts {
        ParserCounts { quoted: self.scanner.quoted(), ..self.rules.counts }
    }
}

impl<C: CheckArguments> ParserRules<C> {
    #[inline]
    fn decide<'a>(&mut self, piece: TextSegment<'a>) -> ParserVerdict<'a> {
        match piece {
            TextSegment::Text(text) => ParserVerdict::Text(text),
            TextSegment::Call { raw, call } => self.call(raw, call),
            TextSegment::Rejected(rejected) => self.rejected(rejected),
        }
    }

    fn call<'a>(&mut self, raw: &'a str, call: FoundCall) -> ParserVerdict<'a> {
        let value = match unique_keys::parse(&call.arguments) {
            Ok(value) => value,
            Err(reason) => {
                let why = BlockFault::ArgumentsUnreadable { reason };
                return self.rejected(RejectedBlock { raw, fault: why, name: Some(call.name) });
            }
        };
        let mismatch = self.check.check(&call.name, &value).err();
        if self.names.is_strict(&call.name) == Some(true)
            && let Some(reason) = mismatch
        {
            self.counts.strict_failures += 1;
            return ParserVerdict::StrictFailure(StrictFailure { name: Some(call.name), raw, reason });
        }
        self.counts.calls += 1;
        self.counts.repairs += u64::from(call.repaired);
        self.counts.object_arguments += u64::from(call.as_object);
        self.counts.soft_mismatches += u64::from(mismatch.is_some());
        ParserVerdict::Call { call, mismatch }
    }

    fn rejected<'a>(&mut self, rejected: RejectedBlock<'a>) -> ParserVerdict<'a> {
        if matches!(rejected.fault, BlockFault::UnknownName { .. }) {
            self.counts.unknown_names += 1;
        } else {
            self.counts.malformed += 1;
        }
        if !self.names.is_failure(rejected.name.as_deref()) {
            return ParserVerdict::Text(rejected.raw);
        }
        self.counts.strict_failures += 1;
        let RejectedBlock { raw, fault: why, name } = rejected;
        ParserVerdict::StrictFailure(StrictFailure { name, raw, reason: why.to_string() })
    }
}
