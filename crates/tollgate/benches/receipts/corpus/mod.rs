//! Results as they come up in a day of work, each with the facts that its receipt must not lose.
//!
//! The texts are our own. A case is the complete output of one call, or its failure; what becomes of it is up to
//! the tools. The facts were written down from the output, not from the receipt: they are what the next step of
//! the work depends on.

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

/// One call and what has to be told of it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) call: Call,
    /// Each stands in the receipt as it stands here.
    pub(crate) facts: Vec<String>,
    /// Artifacts that the call left while it ran: path and content.
    pub(crate) artifacts: Vec<(&'static str, Vec<u8>)>,
}

impl Case {
    /// One more fact: a value that is not known until the corpus is made.
    fn and(mut self, fact: String) -> Case {
        self.facts.push(fact);
        self
    }
}

pub(crate) enum Call {
    /// The tool answered with this.
    Answered { tool: &'static str, data: Value },
    /// It failed, and had done this before.
    Failed { tool: &'static str, fault: Fault, done: Vec<String> },
}

pub(crate) fn all() -> Vec<Case> {
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

fn answered(name: &'static str, tool: &'static str, data: Value, facts: &[&str]) -> Case {
    Case { name, call: Call::Answered { tool, data }, facts: owned(facts), artifacts: Vec::new() }
}

fn failed(name: &'static str, tool: &'static str, fault: Fault, facts: &[&str]) -> Case {
    let call = Call::Failed { tool, fault, done: Vec::new() };
    Case { name, call, facts: owned(facts), artifacts: Vec::new() }
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
