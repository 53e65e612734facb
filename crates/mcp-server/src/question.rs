//! A question for a client's user, and the parsing of the answer.

use std::collections::BTreeMap;

use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, EnumSchema, LegacyEnumSchema,
    PrimitiveSchemaDefinition,
};
use serde_json::Value;
use tokio::sync::oneshot;

/// The only field of the form.
const DECISION: &str = "decision";
const ONCE: &str = "once";
const SESSION: &str = "session";
const NO: &str = "no";

/// A question that waits for a client's answer.
pub(super) struct ClientQuestion {
    /// Everything that the user has to know, safe to show.
    pub(super) text: String,
    /// Whether an approval can be kept for later calls.
    pub(super) can_remember: bool,
    pub(super) reply: oneshot::Sender<ClientAnswer>,
}

/// Answer of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientAnswer {
    Once,
    /// Also approves later calls of the same kind, until the session ends.
    Session,
    Declined,
    /// The dialog was closed without an answer.
    Dismissed,
    /// The client could not ask.
    NotAsked,
    /// The timeout passed.
    TimedOut,
    /// Not sent, because too many other questions are waiting.
    TooManyQuestions,
}

/// Returns the question as an elicitation form with one choice and no default.
pub(super) fn elicitation_form(text: String, can_remember: bool) -> ElicitRequestParams {
    let mut choices = vec![(ONCE, "Yes, this once")];
    if can_remember {
        choices.push((SESSION, "Yes, and do not ask again in this session"));
    }
    choices.push((NO, "No"));
    // The spelling that clients of every version support.
    let mut choice = LegacyEnumSchema::new(choices.iter().map(|(word, _)| (*word).to_owned()).collect());
    choice.enum_names = Some(choices.iter().map(|(_, shown)| (*shown).to_owned()).collect());
    let choice = EnumSchema::Legacy(choice);
    let fields = BTreeMap::from([(DECISION.to_owned(), PrimitiveSchemaDefinition::Enum(choice))]);
    let requested_schema = ElicitationSchema::new(fields).with_required(vec![DECISION.to_owned()]);
    ElicitRequestParams::FormElicitationParams { meta: None, message: text, requested_schema }
}

/// Parses an answer. Only an explicit approval is one.
pub(super) fn parse_answer(answer: &ElicitResult, can_remember: bool) -> ClientAnswer {
    match answer.action {
        ElicitationAction::Accept => match answer.content.as_ref().and_then(|form| form.get(DECISION)) {
            Some(Value::String(decision)) if decision == ONCE => ClientAnswer::Once,
            Some(Value::String(decision)) if decision == SESSION && can_remember => ClientAnswer::Session,
            Some(_) | None => ClientAnswer::Declined,
        },
        ElicitationAction::Decline => ClientAnswer::Declined,
        ElicitationAction::Cancel => ClientAnswer::Dismissed,
        // Future protocol versions may add actions; none of them is an approval.
        _ => ClientAnswer::Dismissed,
    }
}

/// Parses the answer of a second round, which is plain JSON.
pub(super) fn parse_answer_json(answer: Option<&Value>, can_remember: bool) -> ClientAnswer {
    let Some(answer) = answer else { return ClientAnswer::NotAsked };
    match serde_json::from_value::<ElicitResult>(answer.clone()) {
        Ok(answer) => parse_answer(&answer, can_remember),
        Err(_unreadable) => ClientAnswer::NotAsked,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::{ClientAnswer, elicitation_form, parse_answer_json};

    #[test]
    fn a_form_has_one_choice_and_none_is_taken_beforehand() {
        let form =
            serde_json::to_string_pretty(&elicitation_form("Create Daily/x.md".to_owned(), true)).unwrap();
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
            (Some(accept("no")), ClientAnswer::Declined),
            (Some(accept("ONCE")), ClientAnswer::Declined),
            (Some(json!({ "action": "accept" })), ClientAnswer::Declined),
            (Some(json!({ "action": "accept", "content": { "decision": true } })), ClientAnswer::Declined),
            (Some(json!({ "action": "decline" })), ClientAnswer::Declined),
            (Some(json!({ "action": "cancel" })), ClientAnswer::Dismissed),
            (Some(json!({ "action": "yes" })), ClientAnswer::NotAsked),
            (Some(json!("accept")), ClientAnswer::NotAsked),
            (None, ClientAnswer::NotAsked),
        ];
        for (answer, expected) in cases {
            assert_eq!(parse_answer_json(answer.as_ref(), true), expected, "{answer:?}");
        }
        assert_eq!(parse_answer_json(Some(&accept("session")), false), ClientAnswer::Declined);
    }
}
