//! Commands: how they ended, or the task that they became, and what they printed.
//!
//! A receipt reads like a terminal: the outcome, where the whole output is, then what was printed.

use std::fmt::Write as _;

use envelope::{Family, Fault};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::printed::{Kept, Output, Printed, printed, section};
use super::streams::{Form, REFERENCE, told, unprintable};
use super::{Projected, Projection, external, warnings};

/// Tokens of a receipt that are neither output nor say where the whole of it is: the outcome, handles, headings.
pub(super) const WORDS: usize = 28;

/// What became of a command, complete.
#[derive(Debug, Clone, Copy)]
pub enum Command<'a> {
    Completed {
        end: End<'a>,
        output: Output<'a>,
        /// Set when no sandbox stood around it.
        unsandboxed: bool,
        /// What the user has to know about what it left.
        warnings: &'a [String],
    },
    Promoted {
        task_id: &'a str,
        output: Output<'a>,
        unsandboxed: bool,
    },
}

/// How a process ended.
#[derive(Debug, Clone, Copy)]
pub enum End<'a> {
    Exited(i32),
    /// The name of the signal, such as `SIGKILL`.
    Signal(&'a str),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "disposition", rename_all = "snake_case")]
enum Bounded {
    Completed(Box<Completed>),
    PromotedToTask(Box<Promoted>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Completed {
    exit_status: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    #[serde(flatten)]
    output: Printed,
    truncated: bool,
    #[serde(flatten)]
    kept: Kept,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sandbox: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Promoted {
    task_handle: TaskHandle,
    initial_output_preview: Option<String>,
    initial_output_truncated: bool,
    #[serde(flatten)]
    kept: Kept,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sandbox: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TaskHandle {
    task_id: String,
    kind: String,
}

/// Bounds what became of a command.
pub fn project(command: &Command<'_>, with: &mut Projection<'_>) -> Result<Projected, Fault> {
    let tokens = with.budget().saturating_sub(WORDS);
    let bounded = match command {
        Command::Completed { end, output, unsandboxed, warnings } => {
            let warnings = warnings::bounded(warnings, with.budget());
            let tokens = tokens.saturating_sub(warnings::tokens(&warnings));
            let (output, kept) = printed(output, (tokens, Form::Truth), with)?;
            let truncated = kept.truncated();
            let (exit_status, signal) = match end {
                End::Exited(code) => (Some(*code), None),
                End::Signal(name) => (None, Some((*name).to_owned())),
            };
            let sandbox = unsandboxed.then(|| "none".to_owned());
            Bounded::Completed(Box::new(Completed {
                exit_status,
                signal,
                output,
                truncated,
                kept,
                sandbox,
                warnings,
            }))
        }
        Command::Promoted { task_id, output, unsandboxed } => {
            let (output, kept) = printed(output, (tokens, Form::Truth), with)?;
            Bounded::PromotedToTask(Box::new(Promoted {
                task_handle: TaskHandle { task_id: (*task_id).to_owned(), kind: "command_task".to_owned() },
                initial_output_preview: output.together(),
                initial_output_truncated: kept.truncated(),
                kept,
                sandbox: unsandboxed.then(|| "none".to_owned()),
            }))
        }
    };
    Projected::new(Family::Command, &bounded).map_err(|error| unprintable(&error))
}

/// What a command had printed when it was stopped, for the details of its failure.
pub fn details(output: &Output<'_>, with: &mut Projection<'_>) -> Result<Map<String, Value>, Fault> {
    let (output, kept) = printed(output, (with.budget(), Form::Told), with)?;
    match serde_json::to_value(Stopped { output, kept }) {
        Ok(Value::Object(details)) => Ok(details),
        Ok(_) => Ok(Map::new()),
        Err(error) => Err(unprintable(&error)),
    }
}

#[derive(Serialize)]
struct Stopped {
    #[serde(flatten)]
    output: Printed,
    #[serde(flatten)]
    kept: Kept,
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    match Bounded::deserialize(result) {
        Ok(Bounded::Completed(completed)) => completed.render(budget.saturating_sub(WORDS)),
        Ok(Bounded::PromotedToTask(promoted)) => promoted.render(budget.saturating_sub(WORDS)),
        Err(_) => external::render(summary, result, budget),
    }
}

impl Completed {
    fn render(&self, tokens: usize) -> String {
        let mut text = ended(self.exit_status, self.signal.as_deref());
        if self.sandbox.is_some() {
            text.push_str(" (no sandbox)");
        }
        warnings::render(&mut text, &self.warnings);
        let tokens = tokens.saturating_sub(warnings::tokens(&self.warnings));
        self.kept.render(&mut text);
        if !self.output.render(&mut text, &self.kept, tokens) {
            text.push_str("\n(no output)");
        }
        text
    }
}

impl Promoted {
    fn render(&self, tokens: usize) -> String {
        let mut text = "Command promoted to background task".to_owned();
        if self.sandbox.is_some() {
            text.push_str(" (no sandbox)");
        }
        let _infallible = write!(text, "\nTask: {}", self.task_handle.task_id);
        self.kept.render(&mut text);
        match &self.initial_output_preview {
            Some(preview) => {
                let references = self.kept.references() * REFERENCE;
                let told = told(preview, self.initial_output_truncated, tokens.saturating_sub(references));
                section(&mut text, "Initial output", Some(&told));
            }
            None => text.push_str("\n(no output yet)"),
        }
        text
    }
}

/// The first line of a receipt.
pub(super) fn ended(exit_status: Option<i32>, signal: Option<&str>) -> String {
    match (exit_status, signal) {
        (Some(code), _) => format!("Process exited with code {code}"),
        (None, Some(signal)) => format!("Process was killed by {signal}"),
        (None, None) => "Process ended".to_owned(),
    }
}

#[cfg(test)]
mod tests;
