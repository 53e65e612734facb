//! Which line of a script answers, and how.

use super::{Script, ScriptedModel};
use crate::{
    BackendError, BackendErrorKind, FinishReason, HistoryEntry, MessagePart, MessageRole, ModelTurn,
    ReasoningSettings, SamplingSettings, TextModel, TokenUsage, TurnEvent,
};

fn turn(said: &str) -> ModelTurn {
    ModelTurn {
        model: "scripted".to_owned(),
        instructions: "Be brief.".to_owned(),
        history: vec![HistoryEntry::Message {
            role: MessageRole::User,
            parts: vec![MessagePart::Text(said.to_owned())],
        }],
        tools: Vec::new(),
        reasoning: ReasoningSettings::default(),
        verbosity: None,
        sampling: SamplingSettings::default(),
        output_schema: None,
    }
}

async fn answered(script: &str, said: &str) -> Result<Vec<Result<TurnEvent, BackendError>>, BackendError> {
    let model = ScriptedModel::new("a test", Script::parse(script).unwrap());
    let mut stream = model.start(turn(said)).await?;
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    Ok(events)
}

#[tokio::test]
async fn only_a_script_that_has_reasoning_can_be_asked_for_it() {
    for (script, reasoning) in [(r#"{"text": "Yes."}"#, false), (r#"{"reasoning": ["Why not."]}"#, true)] {
        let model = ScriptedModel::new("a test", Script::parse(script).unwrap());
        assert_eq!(model.capabilities().await.unwrap().reasoning, reasoning, "{script}");
    }
}

#[tokio::test]
async fn the_first_line_whose_conditions_hold_answers() {
    let script = r##"
# Greetings come first.
{"match": {"last_contains": "hello"}, "reasoning": ["Polite."], "text": ["Hi", "", " there"], "usage": {"output_tokens": 3}}
{"match": {"any_contains": "brief", "none_contains": "long"}, "text": "No.", "repeat": 2, "finish": "length"}
{"error": {"kind": "died", "message": "gone"}}
"##;
    assert_eq!(
        answered(script, "hello you").await.unwrap(),
        [
            Ok(TurnEvent::Reasoning { part: 0, text: "Polite.".to_owned() }),
            Ok(TurnEvent::Text("Hi".to_owned())),
            Ok(TurnEvent::Text(" there".to_owned())),
            Ok(TurnEvent::Usage(TokenUsage { output_tokens: 3, ..TokenUsage::default() })),
            Ok(TurnEvent::Done(FinishReason::Stop)),
        ]
    );
    assert_eq!(
        answered(script, "and now?").await.unwrap(),
        [
            Ok(TurnEvent::Text("No.".to_owned())),
            Ok(TurnEvent::Text("No.".to_owned())),
            Ok(TurnEvent::Done(FinishReason::Length)),
        ]
    );
    assert_eq!(
        answered(script, "a long one").await.unwrap(),
        [Err(BackendError::new(BackendErrorKind::Died, "gone"))]
    );
}

#[tokio::test]
async fn a_history_without_an_answer_is_an_error_that_says_what_to_add() {
    let refused =
        answered(r#"{"match": {"last_contains": "hello"}, "text": "Hi"}"#, "bye").await.unwrap_err();
    assert_eq!(refused.kind, BackendErrorKind::BadRequest);
    assert!(refused.message.contains("add a line without `match`"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn deltas_come_at_the_pace_of_the_script() {
    let began = tokio::time::Instant::now();
    answered(r#"{"text": ["a", "b", "c"], "delay_ms": 100}"#, "go").await.unwrap();
    assert_eq!(began.elapsed().as_millis() / 100, 4);
}

#[test]
fn a_line_that_is_no_answer_is_named() {
    let error = Script::parse("{\"text\": \"a\"}\n{\"txt\": \"b\"}").unwrap_err();
    assert!(
        error.to_string().starts_with("line 2 of the script is not an answer: unknown field `txt`"),
        "{error}"
    );
    assert!(Script::parse("\n# nothing\n").unwrap_err().to_string().contains("no answer"));
}
