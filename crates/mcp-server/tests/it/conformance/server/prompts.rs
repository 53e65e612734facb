//! The prompts that the suites require. The product has none.

use rmcp::ErrorData;
use rmcp::model::{GetPromptRequestParams, GetPromptResponse, GetPromptResult, ListPromptsResult};
use serde_json::{Value, json};

use super::rounds::{self, Round};
use super::tools::{PNG, read, resource, text};

pub(super) fn list() -> Result<ListPromptsResult, ErrorData> {
    let prompt = |name: &str, arguments: &[&str]| {
        let arguments: Vec<Value> = arguments
            .iter()
            .map(|name| json!({ "name": name, "description": "A test argument", "required": true }))
            .collect();
        json!({ "name": name, "description": "Asked for by the conformance suites", "arguments": arguments })
    };
    read(json!({ "resultType": "complete", "prompts": [
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
        prompt("test_input_required_result_prompt", &[]),
    ]}))
}

pub(super) fn get(request: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let argument = |name: &str| -> String {
        let found = request.arguments.as_ref().and_then(|arguments| arguments.get(name));
        found.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let contents = match request.name.as_str() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            vec![text(&format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        "test_prompt_with_embedded_resource" => vec![
            resource(&argument("resourceUri"), "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => vec![
            json!({ "type": "image", "data": PNG, "mimeType": "image/png" }),
            text("Please analyze the image above."),
        ],
        "test_input_required_result_prompt" => match rounds::prompt(request.input_responses.as_ref())? {
            Round::Ask(question) => return Ok(GetPromptResponse::InputRequired(question)),
            Round::Done(answer) => vec![text(&answer)],
        },
        other => return Err(ErrorData::invalid_params(format!("there is no prompt `{other}`"), None)),
    };
    let messages: Vec<Value> =
        contents.into_iter().map(|content| json!({ "role": "user", "content": content })).collect();
    let result: GetPromptResult = read(json!({ "resultType": "complete", "messages": messages }))?;
    Ok(result.into())
}
