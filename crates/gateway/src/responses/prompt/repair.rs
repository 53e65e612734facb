//! What is added to a turn when the model's answer was not taken and it gets one more try.
//!
//! The answer comes back as a record, for the same reasons as calls do, and the developer says in our words what is
//! wrong with it. Names and reasons hold words of strangers; they are quoted, on the line.

use backend::{Entry, Part, Role};

use super::record::Record;
use super::{Mode, line, manifest};
use crate::responses::request::Request;

/// Why an answer was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem<'a> {
    /// It calls a strict tool in a way that must not be let through.
    BadCall { name: Option<&'a str>, reason: &'a str },
    /// It calls a tool that `tool_choice` does not allow.
    NotAllowed { name: &'a str },
    /// It has to call a tool and calls none.
    NoCall,
    /// It calls several tools where one is allowed.
    SeveralCalls,
    /// It is not the JSON that was asked for.
    BadForm { reason: &'a str },
}

/// The entries that follow the history of the rejected turn. `rejected` is all that the model said.
pub fn repair(request: &Request, mode: Mode, rejected: &str, problem: &Problem<'_>) -> Vec<Entry> {
    let mut entries = Vec::new();
    if !rejected.is_empty() {
        let (role, text) = match mode {
            Mode::Sentinel => (Role::User, Record::Rejected { text: rejected.to_owned() }.line()),
            Mode::Native => (Role::Assistant, rejected.to_owned()),
        };
        entries.push(Entry::Message { role, parts: vec![Part::Text(text)] });
    }
    let said = format!("{} {}", wrong(problem), again(request, mode, problem));
    entries.push(Entry::Message { role: Role::Developer, parts: vec![Part::Text(said)] });
    entries
}

fn wrong(problem: &Problem<'_>) -> String {
    let what = match problem {
        Problem::BadCall { name: Some(name), reason } => {
            format!("its call of {} is wrong: {}", line::string(name), line::string(reason))
        }
        Problem::BadCall { name: None, reason } => format!("a call in it is wrong: {}", line::string(reason)),
        Problem::NotAllowed { name } => format!("it calls {}, which is not allowed now", line::string(name)),
        Problem::NoCall => "it calls no tool".to_owned(),
        Problem::SeveralCalls => "it has more than one call".to_owned(),
        Problem::BadForm { reason } => {
            format!("it does not have the form that was asked for: {}", line::string(reason))
        }
    };
    format!("Your last answer was not taken, because {what}.")
}

fn again(request: &Request, mode: Mode, problem: &Problem<'_>) -> String {
    match problem {
        Problem::BadForm { .. } => {
            "Give the whole answer again, as JSON of the form that was asked for and nothing else.".to_owned()
        }
        Problem::BadCall { .. } | Problem::NotAllowed { .. } | Problem::NoCall | Problem::SeveralCalls => {
            let rule = manifest::rule(request, mode).unwrap_or_default();
            let how = match mode {
                Mode::Sentinel if manifest::allowed(request).next().is_some() => {
                    format!(" A call is written like this: {}", manifest::CALL)
                }
                Mode::Sentinel | Mode::Native => String::new(),
            };
            format!("Answer again. {rule}{how}")
        }
    }
}
