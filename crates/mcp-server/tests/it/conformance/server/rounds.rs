//! Tools and a prompt that answer with a question first, for stateless clients.

use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, InputRequiredResult, InputResponses, RequestStateCodec};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::tools::read;

/// Outcome of a round.
pub(super) enum Round {
    Ask(InputRequiredResult),
    Done(String),
}

/// Returns `None` for other tools.
pub(super) fn call(
    request: &CallToolRequestParams,
    cx: &RequestContext<RoleServer>,
) -> Option<Result<Round, ErrorData>> {
    let kind = request.name.strip_prefix("test_input_required_result_")?;
    let given = Given { answers: request.input_responses.as_ref(), state: request.request_state.as_deref() };
    Some(match kind {
        "elicitation" => one(&given, "user_name", name_form("What is your name?")),
        "sampling" => one(&given, "capital_question", sample("What is the capital of France?")),
        "list_roots" => one(&given, "client_roots", json!({ "method": "roots/list", "params": {} })),
        "request_state" | "tampered_state" => stateful(&given, kind, &[("confirm", confirm())]),
        "multiple_inputs" => stateful(
            &given,
            kind,
            &[
                ("user_name", name_form("What is your name?")),
                ("greeting", sample("Generate a greeting")),
                ("client_roots", json!({ "method": "roots/list", "params": {} })),
            ],
        ),
        "multi_round" => two_rounds(&given),
        "capabilities" => as_the_client_can(cx),
        _ => return None,
    })
}

/// The prompt that asks first.
pub(super) fn prompt(answers: Option<&InputResponses>) -> Result<Round, ErrorData> {
    let form = form("What context should the prompt use?", "context", "string");
    one(&Given { answers, state: None }, "user_context", form)
}

/// The tool that asks for a name before it becomes a task.
pub(super) fn name_first(request: &CallToolRequestParams) -> Result<Round, ErrorData> {
    let given = Given { answers: request.input_responses.as_ref(), state: None };
    one(&given, "user_name", name_form("What is your name?"))
}

struct Given<'a> {
    answers: Option<&'a InputResponses>,
    state: Option<&'a str>,
}

impl Given<'_> {
    /// Parses an answer.
    fn answer(&self, key: &str) -> Option<&Value> {
        self.answers?.get(key).filter(|answer| answer.is_object())
    }
}

fn one(given: &Given<'_>, key: &str, question: Value) -> Result<Round, ErrorData> {
    match given.answer(key) {
        Some(answer) => Ok(Round::Done(answer.to_string())),
        None => ask(&[(key, question)], None),
    }
}

/// Asks with a state, and accepts only this state.
fn stateful(given: &Given<'_>, state: &str, questions: &[(&str, Value)]) -> Result<Round, ErrorData> {
    let Some(echoed) = given.state else { return ask(questions, Some(state)) };
    if opened(echoed)? != state {
        return Err(ErrorData::invalid_params("this state belongs to another question", None));
    }
    if questions.iter().all(|(key, _)| given.answer(key).is_some()) {
        return Ok(Round::Done("state-ok: all answers came with their state".to_owned()));
    }
    ask(questions, Some(state))
}

fn two_rounds(given: &Given<'_>) -> Result<Round, ErrorData> {
    let first = [("step1", name_form("Step 1: What is your name?"))];
    let second = [("step2", form("Step 2: What is your favorite color?", "color", "string"))];
    match given.state.map(opened).transpose()?.as_deref() {
        Some("first") if given.answer("step1").is_some() => ask(&second, Some("second")),
        Some("second") if given.answer("step2").is_some() => {
            Ok(Round::Done("Both steps are done.".to_owned()))
        }
        Some(_) | None => ask(&first, Some("first")),
    }
}

fn as_the_client_can(cx: &RequestContext<RoleServer>) -> Result<Round, ErrorData> {
    let can = cx.client_capabilities().unwrap_or_default();
    let mut questions = Vec::new();
    if can.elicitation.is_some() {
        questions.push(("user_name", name_form("What is your name?")));
    }
    if can.sampling.is_some() {
        questions.push(("greeting", sample("Generate a greeting")));
    }
    ask(&questions, None)
}

fn ask(questions: &[(&str, Value)], state: Option<&str>) -> Result<Round, ErrorData> {
    let asked: serde_json::Map<String, Value> =
        questions.iter().map(|(key, question)| ((*key).to_owned(), question.clone())).collect();
    let state = state.map(|state| codec().map(|codec| codec.seal(state.as_bytes()))).transpose()?;
    Ok(Round::Ask(InputRequiredResult::new(Some(read(Value::Object(asked))?), state)))
}

fn opened(state: &str) -> Result<String, ErrorData> {
    let bad = |_| ErrorData::invalid_params("this state is not one of ours", None);
    let bytes = codec()?.open(state).map_err(bad)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn codec() -> Result<RequestStateCodec, ErrorData> {
    RequestStateCodec::try_new(vec![3; 32])
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

pub(super) fn name_form(message: &str) -> Value {
    form(message, "name", "string")
}

fn confirm() -> Value {
    form("Please confirm", "ok", "boolean")
}

fn form(message: &str, field: &str, kind: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { field: { "type": kind } }, "required": [field] });
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    json!({ "method": "elicitation/create", "params": params })
}

fn sample(prompt: &str) -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    json!({ "method": "sampling/createMessage", "params": { "messages": [message], "maxTokens": 100 } })
}
