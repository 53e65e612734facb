//! Decides what the pieces of a model's text become: text for the reader, calls, or failures.

use std::sync::Arc;

use serde_json::Value;

use super::fault::BlockFault;
use super::piece::{FoundCall, Piece, Rejected};
use super::scanner::Scanner;
use super::tool_names::ToolNames;
use super::unique_keys;

/// Whether arguments fit the tool that they are for. The reason names the place and what was expected.
pub trait CheckArguments {
    fn check(&self, name: &str, arguments: &Value) -> Result<(), String>;
}

impl<F: Fn(&str, &Value) -> Result<(), String>> CheckArguments for F {
    fn check(&self, name: &str, arguments: &Value) -> Result<(), String> {
        self(name, arguments)
    }
}

/// What a piece becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict<'a> {
    Text(&'a str),
    Call {
        call: FoundCall,
        /// Why the arguments do not fit, for the log. A tool that is not strict is called all the same.
        mismatch: Option<String>,
    },
    StrictFailure(StrictFailure<'a>),
}

/// A block of a strict tool that must not be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictFailure<'a> {
    /// The name in the block, as far as one could be read.
    pub name: Option<String>,
    /// The block as the model wrote it.
    pub raw: &'a str,
    /// What is wrong, in words that the model can act on.
    pub reason: String,
}

/// What happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub calls: u64,
    /// Calls that had to be mended.
    pub repairs: u64,
    /// Calls with an object where the text of one belongs.
    pub object_arguments: u64,
    /// Blocks that are no calls, for any reason but an unknown name.
    pub malformed: u64,
    pub unknown_names: u64,
    /// Calls whose arguments do not fit the schema of a tool that is not strict.
    pub soft_mismatches: u64,
    pub strict_failures: u64,
    /// Open tags inside code blocks and code spans.
    pub quoted: u64,
}

/// Reads one answer of a model.
#[derive(Debug)]
pub struct Judge<C> {
    scanner: Scanner,
    bench: Bench<C>,
}

/// What decides, apart from what reads.
#[derive(Debug)]
struct Bench<C> {
    names: Arc<ToolNames>,
    check: C,
    counts: Counts,
}

impl<C: CheckArguments> Judge<C> {
    pub fn new(names: Arc<ToolNames>, check: C) -> Judge<C> {
        let scanner = Scanner::new(names.clone());
        Judge { scanner, bench: Bench { names, check, counts: Counts::default() } }
    }

    /// Takes the next piece of the answer.
    #[inline]
    pub fn feed(&mut self, chunk: &str, said: &mut impl FnMut(Verdict<'_>)) {
        self.scanner.feed(chunk, &mut |piece| said(self.bench.decide(piece)));
    }

    /// The answer is over.
    pub fn finish(&mut self, said: &mut impl FnMut(Verdict<'_>)) {
        self.scanner.finish(&mut |piece| said(self.bench.decide(piece)));
    }

    pub fn counts(&self) -> Counts {
        Counts { quoted: self.scanner.quoted(), ..self.bench.counts }
    }
}

impl<C: CheckArguments> Bench<C> {
    #[inline]
    fn decide<'a>(&mut self, piece: Piece<'a>) -> Verdict<'a> {
        match piece {
            Piece::Text(text) => Verdict::Text(text),
            Piece::Call { raw, call } => self.call(raw, call),
            Piece::Rejected(rejected) => self.rejected(rejected),
        }
    }

    fn call<'a>(&mut self, raw: &'a str, call: FoundCall) -> Verdict<'a> {
        let value = match unique_keys::parse(&call.arguments) {
            Ok(value) => value,
            Err(reason) => {
                let why = BlockFault::ArgumentsUnreadable { reason };
                return self.rejected(Rejected { raw, why, name: Some(call.name) });
            }
        };
        let mismatch = self.check.check(&call.name, &value).err();
        if self.names.strict(&call.name) == Some(true)
            && let Some(reason) = mismatch
        {
            self.counts.strict_failures += 1;
            return Verdict::StrictFailure(StrictFailure { name: Some(call.name), raw, reason });
        }
        self.counts.calls += 1;
        self.counts.repairs += u64::from(call.repaired);
        self.counts.object_arguments += u64::from(call.as_object);
        self.counts.soft_mismatches += u64::from(mismatch.is_some());
        Verdict::Call { call, mismatch }
    }

    fn rejected<'a>(&mut self, rejected: Rejected<'a>) -> Verdict<'a> {
        if matches!(rejected.why, BlockFault::UnknownName { .. }) {
            self.counts.unknown_names += 1;
        } else {
            self.counts.malformed += 1;
        }
        if !self.names.fails(rejected.name.as_deref()) {
            return Verdict::Text(rejected.raw);
        }
        self.counts.strict_failures += 1;
        let Rejected { raw, why, name } = rejected;
        Verdict::StrictFailure(StrictFailure { name, raw, reason: why.to_string() })
    }
}
