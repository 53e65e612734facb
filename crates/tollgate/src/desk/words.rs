//! A question in words, whole and safe to show.

use serde_json::{Value, json};

use super::question::{About, Question, Word};
use crate::ask;
use crate::screen::Paint;
use crate::visible::{one_line, visible};

/// How long a yes for always lasts.
const LASTS: &str = " until the server stops";

/// Everything that a person has to see. Nothing of it is cut, and no text of others can pass for a line of ours.
pub(crate) fn asked(question: &Question, paint: Paint) -> String {
    let subject = &question.subject;
    let from = paint.dim(format!(
        "{} from {}, about {}, asked at {}, can be answered until {}",
        question.id,
        one_line(&subject.client),
        one_line(&subject.vault),
        time(question.asked_at),
        time(question.expires_at),
    ));
    let what = match &subject.about {
        About::Call { text, .. } | About::Plan { text, .. } => visible(text),
        About::Uncertain { tool, step, input, why } => format!(
            "{} {} of step {} was under way when the run was interrupted: {}\n  input: {}",
            paint.odd("Uncertain:"),
            one_line(tool),
            one_line(step),
            one_line(why),
            one_line(&input.to_string()),
        ),
    };
    format!("{from}\n{what}")
}

/// What can be answered.
pub(crate) fn choices_of(about: &About) -> String {
    match about {
        About::Call { keeping, .. } => {
            format!("May this call run? {}", ask::choices(keeping.remembering(), LASTS))
        }
        About::Plan { .. } => "May this run? [y/N]".to_owned(),
        About::Uncertain { .. } => {
            "Run it again? Only if it did not happen, or twice does no harm. [y/N]".to_owned()
        }
    }
}

/// For programs. Without the nonce, which is for answers.
pub(crate) fn as_json(question: &Question) -> Value {
    let mut shown = json!(question.subject);
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("id".to_owned(), json!(question.id));
        fields.insert("askedAt".to_owned(), json!(question.asked_at));
        fields.insert("expiresAt".to_owned(), json!(question.expires_at));
    }
    shown
}

/// The time of day where the person is.
pub(crate) fn time(moment: envelope::Timestamp) -> String {
    moment.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string()
}

/// What a typed line means. Everything but a clear yes is a no.
pub(crate) fn word(line: &str, about: &About) -> Word {
    let may_last = match about {
        About::Call { keeping, .. } => keeping.remembering() != engine::Remembering::Nothing,
        About::Plan { .. } | About::Uncertain { .. } => false,
    };
    match line {
        "y" | "yes" => Word::Yes,
        "a" | "always" if may_last => Word::Always,
        _ => Word::No,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::word;
    use crate::desk::{About, Word};

    #[test]
    fn only_a_clear_yes_is_one() {
        let call = |keeping: serde_json::Value| -> About {
            let about = json!({ "kind": "call", "tool": "t", "text": "p", "input": {}, "exact": envelope::Hash::of(b""), "policy": envelope::Hash::of(b""), "why": "w", "keeping": keeping });
            serde_json::from_value(about).unwrap()
        };
        let often = call(json!("reasons"));
        for (line, expected) in [
            ("y", Word::Yes),
            ("yes", Word::Yes),
            ("a", Word::Always),
            ("always", Word::Always),
            ("", Word::No),
            ("n", Word::No),
            ("yy", Word::No),
            ("ja", Word::No),
        ] {
            assert_eq!(word(line, &often), expected, "{line}");
        }
        assert_eq!(word("a", &call(json!("nothing"))), Word::No, "it was not offered");
    }
}
