//! Text of a question, complete and safe to show.

use engine::RememberScope;
use serde_json::{Value, json};

use super::question::{ApprovalAnswer, ApprovalQuestion, QuestionTopic};
use crate::display_text::{escape_line, escape_text};
use crate::text_style::TextStyle;

/// How long a permanent approval lasts.
const APPROVAL_DURATION: &str = " until the server stops";

/// Returns everything that the user has to see. Nothing is cut, and text of others cannot pass for a line of ours.
pub fn render_question(question: &ApprovalQuestion, style: TextStyle) -> String {
    let subject = &question.subject;
    let from = style.dim(format!(
        "{} from {}, about {}, asked at {}, can be answered until {}",
        question.id,
        escape_line(&subject.client),
        escape_line(&subject.vault),
        format_local_time(question.asked_at),
        format_local_time(question.expires_at),
    ));
    let what = match &subject.about {
        QuestionTopic::Call { text, .. } | QuestionTopic::Plan { text, .. } => escape_text(text),
        QuestionTopic::Uncertain { tool, step, input, why } => format!(
            "{} {} of step {} was under way when the run was interrupted: {}\n  input: {}",
            style.odd("Uncertain:"),
            escape_line(tool),
            escape_line(step),
            escape_line(why),
            escape_line(&input.to_string()),
        ),
    };
    format!("{from}\n{what}")
}

/// Returns the possible answers.
pub fn choices_of(about: &QuestionTopic) -> String {
    match about {
        QuestionTopic::Call { keeping, .. } => {
            format!("May this call run? {}", choices(keeping.remembering(), APPROVAL_DURATION))
        }
        QuestionTopic::Plan { .. } => "May this run? [y/N]".to_owned(),
        QuestionTopic::Uncertain { .. } => {
            "Run it again? Only if it did not happen, or twice does no harm. [y/N]".to_owned()
        }
    }
}

/// Returns the possible answers to a question about one call.
pub fn choices(remembering: RememberScope, lasts: &str) -> String {
    let always = match remembering {
        RememberScope::Reasons => "for this reason",
        RememberScope::Exactly(_) => "for exactly this command",
        RememberScope::Nothing => return "[y]es once, [N]o".to_owned(),
    };
    format!("[y]es once, [a]lways {always}{lasts}, [N]o")
}

/// Returns the question for programs, without the nonce.
pub fn question_json(question: &ApprovalQuestion) -> Value {
    let mut shown = json!(question.subject);
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("id".to_owned(), json!(question.id));
        fields.insert("askedAt".to_owned(), json!(question.asked_at));
        fields.insert("expiresAt".to_owned(), json!(question.expires_at));
    }
    shown
}

/// Returns the local time of day.
pub fn format_local_time(moment: envelope::Timestamp) -> String {
    moment.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string()
}

/// Parses a typed line. Anything but a clear approval is a refusal.
pub fn parse_answer(line: &str, about: &QuestionTopic) -> ApprovalAnswer {
    let may_last = match about {
        QuestionTopic::Call { keeping, .. } => keeping.remembering() != RememberScope::Nothing,
        QuestionTopic::Plan { .. } | QuestionTopic::Uncertain { .. } => false,
    };
    match line {
        "y" | "yes" => ApprovalAnswer::Yes,
        "a" | "always" if may_last => ApprovalAnswer::Always,
        _ => ApprovalAnswer::No,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::parse_answer;
    use crate::approval_queue::{ApprovalAnswer, QuestionTopic};

    #[test]
    fn only_a_clear_yes_is_one() {
        let call = |keeping: serde_json::Value| -> QuestionTopic {
            let about = json!({ "kind": "call", "tool": "t", "text": "p", "input": {}, "exact": envelope::Hash::of(b""), "policy": envelope::Hash::of(b""), "why": "w", "keeping": keeping });
            serde_json::from_value(about).unwrap()
        };
        let often = call(json!("reasons"));
        for (line, expected) in [
            ("y", ApprovalAnswer::Yes),
            ("yes", ApprovalAnswer::Yes),
            ("a", ApprovalAnswer::Always),
            ("always", ApprovalAnswer::Always),
            ("", ApprovalAnswer::No),
            ("n", ApprovalAnswer::No),
            ("yy", ApprovalAnswer::No),
            ("ja", ApprovalAnswer::No),
        ] {
            assert_eq!(parse_answer(line, &often), expected, "{line}");
        }
        assert_eq!(parse_answer("a", &call(json!("nothing"))), ApprovalAnswer::No, "it was not offered");
    }
}
