//! The repair prompt after a rejected answer of the model.
//!
//! The answer is repeated as a record, for the same reasons as calls are, and a developer message names the fault.
//! Names and reasons contain untrusted text; they are quoted.

use backend::{HistoryEntry, MessagePart, MessageRole};

use super::record::PromptRecord;
use super::{ToolPromptMode, instructions, safe_json};
use crate::request::Request;

/// Why an answer was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairReason<'a> {
    /// It calls a strict tool with invalid arguments.
    BadCall { name: Option<&'a str>, reason: &'a str },
    /// It calls a tool that `tool_choice` does not allow.
    NotAllowed { name: &'a str },
    /// It makes no call, and one is required.
    NoCall,
    /// It calls several tools where one is allowed.
    SeveralCalls,
    /// It does not have the requested JSON format.
    BadForm { reason: &'a str },
}

/// Returns the entries after the history of the rejected turn. `rejected` is the model's text.
pub fn repair_entries(
    request: &Request,
    mode: ToolPromptMode,
    rejected: &str,
    problem: &RepairReason<'_>,
) -> Vec<HistoryEntry> {
    let mut entries = Vec::new();
    if !rejected.is_empty() {
        let (role, text) = match mode {
            ToolPromptMode::Sentinel => {
                (MessageRole::User, PromptRecord::Rejected { text: rejected.to_owned() }.line())
            }
            ToolPromptMode::Native => (MessageRole::Assistant, rejected.to_owned()),
        };
        entries.push(HistoryEntry::Message { role, parts: vec![MessagePart::Text(text)] });
    }
    let said = format!("{} {}", problem_text(problem), retry_instructions(request, mode, problem));
    entries
        .push(HistoryEntry::Message { role: MessageRole::Developer, parts: vec![MessagePart::Text(said)] });
    entries
}

fn problem_text(problem: &RepairReason<'_>) -> String {
    let what = match problem {
        RepairReason::BadCall { name: Some(name), reason } => {
            format!("its call of {} is wrong: {}", safe_json::string(name), safe_json::string(reason))
        }
        RepairReason::BadCall { name: None, reason } => {
            format!("a call in it is wrong: {}", safe_json::string(reason))
        }
        RepairReason::NotAllowed { name } => {
            format!("it calls {}, which is not allowed now", safe_json::string(name))
        }
        RepairReason::NoCall => "it calls no tool".to_owned(),
        RepairReason::SeveralCalls => "it has more than one call".to_owned(),
        RepairReason::BadForm { reason } => {
            format!("it does not have the form that was asked for: {}", safe_json::string(reason))
        }
    };
    format!("Your last answer was not taken, because {what}.")
}

fn retry_instructions(request: &Request, mode: ToolPromptMode, problem: &RepairReason<'_>) -> String {
    match problem {
        RepairReason::BadForm { .. } => {
            "Give the whole answer again, as JSON of the form that was asked for and nothing else.".to_owned()
        }
        RepairReason::BadCall { .. }
        | RepairReason::NotAllowed { .. }
        | RepairReason::NoCall
        | RepairReason::SeveralCalls => {
            let rule = instructions::tool_choice_rule(request, mode).unwrap_or_default();
            let how = match mode {
                ToolPromptMode::Sentinel if instructions::allowed(request).next().is_some() => {
                    format!(" A call is written like this: {}", instructions::CALL)
                }
                ToolPromptMode::Sentinel | ToolPromptMode::Native => String::new(),
            };
            format!("Answer again. {rule}{how}")
        }
    }
}
