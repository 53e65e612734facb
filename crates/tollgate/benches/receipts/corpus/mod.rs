//! Results of a day of work, each with the facts that its receipt must contain.
//!
//! The texts were written for this corpus. A case is the complete output of one call, or its failure; the tools make
//! the receipts. The facts were taken from the output, not from the receipt: the next step of the work depends on them.

mod changes;
mod commands;
mod external;
mod failures;
mod host;
mod log;
mod notes;
mod tasks;

use envelope::{Fault, Hash};
use serde_json::{Value, json};

/// A call and its facts.
pub(crate) struct CorpusCase {
    pub(crate) name: &'static str,
    pub(crate) call: CorpusCall,
    /// Each must be in the receipt, literally.
    pub(crate) facts: Vec<String>,
    /// Artifacts that the call left while it ran: path and content.
    pub(crate) artifacts: Vec<(&'static str, Vec<u8>)>,
}

impl CorpusCase {
    /// One more fact: a value that is not known until the corpus is made.
    fn and(mut self, fact: String) -> CorpusCase {
        self.facts.push(fact);
        self
    }
}

pub(crate) enum CorpusCall {
    /// The tool answered with this.
    Answered { tool: &'static str, data: Value },
    /// It failed, and had done this before.
    Failed { tool: &'static str, fault: Fault, done: Vec<String> },
}

pub(crate) fn all() -> Vec<CorpusCase> {
    [
        commands::cases(),
        tasks::cases(),
        notes::cases(),
        changes::cases(),
        host::cases(),
        external::cases(),
        failures::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn answered(name: &'static str, tool: &'static str, data: Value, facts: &[&str]) -> CorpusCase {
    CorpusCase { name, call: CorpusCall::Answered { tool, data }, facts: owned(facts), artifacts: Vec::new() }
}

fn failed(name: &'static str, tool: &'static str, fault: Fault, facts: &[&str]) -> CorpusCase {
    let call = CorpusCall::Failed { tool, fault, done: Vec::new() };
    CorpusCase { name, call, facts: owned(facts), artifacts: Vec::new() }
}

fn owned(facts: &[&str]) -> Vec<String> {
    facts.iter().map(|&fact| fact.to_owned()).collect()
}

/// A stream that stands in the output as a whole.
fn stream(text: &str) -> Value {
    json!({
        "text": text, "complete": true, "from": 0, "bytes": text.len(), "lines": text.lines().count(),
        "digest": Hash::of(text.as_bytes()),
    })
}

/// A stream that lies in an artifact, with its beginning in the output.
fn kept(path: &str, content: &[u8]) -> Value {
    const BEGINNING: usize = 4 * 1024;
    let beginning = String::from_utf8_lossy(&content[..content.len().min(BEGINNING)]).into_owned();
    let lines = content.iter().filter(|byte| **byte == b'\n').count();
    json!({
        "text": beginning, "complete": false, "from": 0, "bytes": content.len(), "lines": lines,
        "digest": Hash::of(content), "artifact": path,
    })
}

/// A hash of a file as the vault gives it.
fn etag(of: &str) -> String {
    Hash::of(of.as_bytes()).to_string().chars().filter(char::is_ascii_hexdigit).take(32).collect()
}
