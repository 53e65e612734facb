//! A question as it goes to a client's person, and what comes back.

use std::collections::BTreeMap;

use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, EnumSchema, LegacyEnumSchema,
    PrimitiveSchemaDefinition,
};
use serde_json::Value;
use tokio::sync::oneshot;

/// The one field of the form.
const DECISION: &str = "decision";
const ONCE: &str = "once";
const SESSION: &str = "session";
const NO: &str = "no";

/// A question that waits for a client's answer.
pub(super) struct Question {
    /// All that the person has to know, safe to show.
    pub(super) text: String,
    /// Whether a yes can be kept for later calls.
    pub(super) can_last: bool,
    pub(super) reply: oneshot::Sender<ClientAnswer>,
}

/// What a client says its person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientAnswer {
    Once,
    /// Also for later calls of the same kind, as long as this session lasts.
    Session,
    No,
    /// The question was put away without an answer.
    Dismissed,
    /// The client could not ask.
    Unasked,
    /// Nothing came in the time that there was.
    Silent,
    /// It was not asked, because too many other questions wait.
    Crowded,
}

/// The question as the protocol has it: a form with one choice, of which nothing is chosen beforehand.
pub(super) fn form(text: String, can_last: bool) -> ElicitRequestParams {
    let mut choices = vec![(ONCE, "Yes, this once")];
    if can_last {
        choices.push((SESSION, "Yes, and do not ask again in this session"));
    }
    choices.push((NO, "No"));
    // The spelling that clients of every version read.
    let mut choice = LegacyEnumSchema::new(choices.iter().map(|(word, _)| (*word).to_owned()).collect());
    choice.enum_names = Some(choices.iter().map(|(_, shown)| (*shown).to_owned()).collect());
    let choice = EnumSchema::Legacy(choice);
    let fields = BTreeMap::from([(DECISION.to_owned(), PrimitiveSchemaDefinition::Enum(choice))]);
    let requested_schema = ElicitationSchema::new(fields).with_required(vec![DECISION.to_owned()]);
    ElicitRequestParams::FormElicitationParams { meta: None, message: text, requested_schema }
}

/// What an answer means. Only a yes in so many words is one.
pub(super) fn meant(answer: &ElicitResult, can_last: bool) -> ClientAnswer {
    match answer.action {
        ElicitationAction::Accept => match answer.content.as_ref().and_then(|form| form.get(DECISION)) {
            Some(Value::String(said)) if said == ONCE => ClientAnswer::Once,
            Some(Value::String(said)) if said == SESSION && can_last => ClientAnswer::Session,
            Some(_) | None => ClientAnswer::No,
        },
        ElicitationAction::Decline => ClientAnswer::No,
        ElicitationAction::Cancel => ClientAnswer::Dismissed,
        // The protocol may grow others; none of them is a yes.
        _ => ClientAnswer::Dismissed,
    }
}

/// The answer of a second round, which comes as plain JSON.
pub(super) fn meant_by(answer: Option<&Value>, can_last: bool) -> ClientAnswer {
    let Some(answer) = answer else { return ClientAnswer::Unasked };
    match serde_json::from_value::<ElicitResult>(answer.clone()) {
        Ok(answer) => meant(&answer, can_last),
        Err(_unreadable) => ClientAnswer::Unasked,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::{ClientAnswer, form, meant_by};

    #[test]
    fn a_form_has_one_choice_and_none_is_taken_beforehand() {
        let form = serde_json::to_string_pretty(&form("Create Daily/x.md".to_owned(), true)).unwrap();
        expect![[r#"
            {
              "mode": "form",
              "message": "Create Daily/x.md",
              "requestedSchema": {
                "type": "object",
                "properties": {
                  "decision": {
                    "type": "string",
                    "enum": [
                      "once",
                      "session",
                      "no"
                    ],
                    "enumNames": [
                      "Yes, this once",
                      "Yes, and do not ask again in this session",
                      "No"
                    ]
                  }
                },
                "required": [
                  "decision"
                ]
              }
            }"#]]
        .assert_eq(&form);
    }

    #[test]
    fn only_a_yes_in_so_many_words_is_one() {
        let accept = |decision| json!({ "action": "accept", "content": { "decision": decision } });
        let cases = [
            (Some(accept("once")), ClientAnswer::Once),
            (Some(accept("session")), ClientAnswer::Session),
            (Some(accept("no")), ClientAnswer::No),
            (Some(accept("ONCE")), ClientAnswer::No),
            (Some(json!({ "action": "accept" })), ClientAnswer::No),
            (Some(json!({ "action": "accept", "content": { "decision": true } })), ClientAnswer::No),
            (Some(json!({ "action": "decline" })), ClientAnswer::No),
            (Some(json!({ "action": "cancel" })), ClientAnswer::Dismissed),
            (Some(json!({ "action": "yes" })), ClientAnswer::Unasked),
            (Some(json!("accept")), ClientAnswer::Unasked),
            (None, ClientAnswer::Unasked),
        ];
        for (answer, expected) in cases {
            assert_eq!(meant_by(answer.as_ref(), true), expected, "{answer:?}");
        }
        assert_eq!(meant_by(Some(&accept("session")), false), ClientAnswer::No);
    }
}
