//! Commands: their exit status, or the task that they became, and their output.
//!
//! A receipt reads like a terminal: the outcome, the artifact with the complete output, then the output.

use std::fmt::Write as _;

use envelope::{Fault, ReceiptFamily};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::process_output::{OutputPreviews, ProcessOutput, StreamFacts, bound_output, section};
use super::streams::{PreviewForm, REFERENCE, render_preview};
use super::{ProjectedResult, Projection, external, project_result, serialization_fault, warnings};

/// Tokens of a receipt besides output and references: the outcome, handles, headings.
pub(super) const OUTCOME_TOKENS: usize = 28;

/// Complete report of a command.
#[derive(Debug, Clone, Copy)]
pub enum CommandReport<'a> {
    Completed {
        end: ProcessExit<'a>,
        output: ProcessOutput<'a>,
        /// True if the command ran without a sandbox.
        unsandboxed: bool,
        /// Warnings for the user about what the command left behind.
        warnings: &'a [String],
    },
    Promoted {
        task_id: &'a str,
        output: ProcessOutput<'a>,
        unsandboxed: bool,
    },
}

/// How a process ended.
#[derive(Debug, Clone, Copy)]
pub enum ProcessExit<'a> {
    Exited(i32),
    /// Name of the signal, such as `SIGKILL`.
    Signal(&'a str),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "disposition", rename_all = "snake_case")]
enum BoundedCommand {
    Completed(Box<CompletedCommand>),
    PromotedToTask(Box<PromotedCommand>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CompletedCommand {
    exit_status: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    #[serde(flatten)]
    output: OutputPreviews,
    truncated: bool,
    #[serde(flatten)]
    kept: StreamFacts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sandbox: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PromotedCommand {
    task_handle: TaskHandle,
    initial_output_preview: Option<String>,
    initial_output_truncated: bool,
    #[serde(flatten)]
    kept: StreamFacts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sandbox: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TaskHandle {
    task_id: String,
    kind: String,
}

/// Bounds the report of a command.
pub fn project(command: &CommandReport<'_>, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
    let tokens = with.budget().saturating_sub(OUTCOME_TOKENS);
    let bounded = match command {
        CommandReport::Completed { end, output, unsandboxed, warnings } => {
            let warnings_cut = warnings::is_cut(warnings, with.budget());
            let warnings = warnings::bounded(warnings, with.budget());
            let tokens = tokens.saturating_sub(warnings::tokens(&warnings));
            let (output, kept) = bound_output(output, (tokens, PreviewForm::AsPrinted), with)?;
            let truncated = kept.truncated() || warnings_cut;
            let (exit_status, signal) = match end {
                ProcessExit::Exited(code) => (Some(*code), None),
                ProcessExit::Signal(name) => (None, Some((*name).to_owned())),
            };
            let sandbox = unsandboxed.then(|| "none".to_owned());
            BoundedCommand::Completed(Box::new(CompletedCommand {
                exit_status,
                signal,
                output,
                truncated,
                kept,
                sandbox,
                warnings,
            }))
        }
        CommandReport::Promoted { task_id, output, unsandboxed } => {
            let (output, kept) = bound_output(output, (tokens, PreviewForm::AsPrinted), with)?;
            BoundedCommand::PromotedToTask(Box::new(PromotedCommand {
                task_handle: TaskHandle { task_id: (*task_id).to_owned(), kind: "command_task".to_owned() },
                initial_output_preview: output.joined(),
                initial_output_truncated: kept.truncated(),
                kept,
                sandbox: unsandboxed.then(|| "none".to_owned()),
            }))
        }
    };
    project_result(ReceiptFamily::Command, &bounded)
}

/// Returns the output of a command that was stopped, for the details of its failure.
pub fn details(output: &ProcessOutput<'_>, with: &mut Projection<'_>) -> Result<Map<String, Value>, Fault> {
    let (output, kept) = bound_output(output, (with.budget(), PreviewForm::AsRendered), with)?;
    match serde_json::to_value(StoppedOutput { output, kept }) {
        Ok(Value::Object(details)) => Ok(details),
        Ok(_) => Ok(Map::new()),
        Err(error) => Err(serialization_fault(&error)),
    }
}

#[derive(Serialize)]
struct StoppedOutput {
    #[serde(flatten)]
    output: OutputPreviews,
    #[serde(flatten)]
    kept: StreamFacts,
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    match BoundedCommand::deserialize(result) {
        Ok(BoundedCommand::Completed(completed)) => completed.render(budget.saturating_sub(OUTCOME_TOKENS)),
        Ok(BoundedCommand::PromotedToTask(promoted)) => {
            promoted.render(budget.saturating_sub(OUTCOME_TOKENS))
        }
        Err(_) => external::render(summary, result, budget),
    }
}

impl CompletedCommand {
    fn render(&self, tokens: usize) -> String {
        let mut text = exit_line(self.exit_status, self.signal.as_deref());
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

impl PromotedCommand {
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
                let preview_text =
                    render_preview(preview, self.initial_output_truncated, tokens.saturating_sub(references));
                section(&mut text, "Initial output", Some(&preview_text));
            }
            None => text.push_str("\n(no output yet)"),
        }
        text
    }
}

/// Returns the first line of a receipt.
pub(super) fn exit_line(exit_status: Option<i32>, signal: Option<&str>) -> String {
    match (exit_status, signal) {
        (Some(code), _) => format!("Process exited with code {code}"),
        (None, Some(signal)) => format!("Process was killed by {signal}"),
        (None, None) => "Process ended".to_owned(),
    }
}

#[cfg(test)]
mod tests;
