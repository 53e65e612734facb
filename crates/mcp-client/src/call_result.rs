//! Maps the answer to a call: to the data of a tool, or to a failure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use envelope::{Failure, Fault};
use receipts::families::external::{ExternalOutput, OutputBlock, project_blocks};
use rmcp::model::ServerResult;
use serde_json::{Value, json};
use toolkit::{ProjectedResult, Projection};

use crate::escape;

/// Longest part of a server's error message that a fault repeats, in characters.
const MAX_ERROR_CHARS: usize = 2_000;

/// Returns `{content, structured}`, or the failure that the answer means. `who` is the name of the tool.
#[allow(clippy::wildcard_enum_match_arm, reason = "whatever else a server can answer is no answer of a tool")]
pub(crate) fn call_data(who: &str, result: ServerResult, max_bytes: u64) -> Result<Value, Fault> {
    let answer = match result {
        ServerResult::CallToolResult(answer) => serde_json::to_value(answer).unwrap_or_default(),
        // An answer without a type, or with unknown kinds of blocks.
        ServerResult::CustomResult(answer) if answer.0.get("content").is_some_and(Value::is_array) => {
            answer.0
        }
        ServerResult::InputRequiredResult(_) => {
            return Err(Fault::new(
                Failure::ExecutionFailed,
                format!("{who} requests input, which is not supported"),
            )
            .hint("give everything that it needs in the arguments"));
        }
        _ => {
            let message = format!("the server's answer to {who} is not a tool result");
            return Err(Fault::new(Failure::ExecutionFailed, message));
        }
    };
    let content: Vec<Value> =
        answer.get("content").and_then(Value::as_array).into_iter().flatten().map(without_metadata).collect();
    if answer.get("isError") == Some(&Value::Bool(true)) {
        return Err(tool_error(who, &content));
    }
    let structured = answer.get("structuredContent").cloned().unwrap_or_default();
    let data = json!({ "content": content, "structured": structured });
    let bytes = json_length(&data);
    if bytes > max_bytes {
        return Err(too_large(who, &format!("{bytes} bytes"), max_bytes));
    }
    Ok(data)
}

pub(crate) fn too_large(who: &str, what: &str, max_bytes: u64) -> Fault {
    Fault::new(
        Failure::ResultTooLarge,
        format!("{who} answered with {what}; at most {max_bytes} bytes are taken"),
    )
    .hint("ask for less in one call, or raise `max_output_bytes` of this server in .tollgate/config.toml")
    .detail("maxOutputBytes", max_bytes)
}

/// Returns a block without the fields that only user interfaces need.
fn without_metadata(block: &Value) -> Value {
    let mut block = block.clone();
    if let Value::Object(map) = &mut block {
        map.shift_remove("_meta");
        map.shift_remove("annotations");
    }
    block
}

/// Returns the fault for an answer with `isError`.
fn tool_error(who: &str, content: &[Value]) -> Fault {
    let texts: Vec<&str> = content.iter().filter_map(|block| block.get("text")?.as_str()).collect();
    let message = texts.join("\n");
    let message = escape::one_line(message.trim(), MAX_ERROR_CHARS);
    let message = if message.is_empty() { "no reason given".to_owned() } else { message };
    Fault::new(Failure::ExecutionFailed, format!("{who} failed: {message}"))
}

/// Returns the length of a value as JSON without building the text.
fn json_length(value: &Value) -> u64 {
    struct ByteCounter(u64);
    impl std::io::Write for ByteCounter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = ByteCounter(0);
    let _infallible = serde_json::to_writer(&mut count, value);
    count.0
}

/// Returns one line about an answer.
pub(crate) fn summary(who: &str, data: &Value) -> String {
    let blocks = data.get("content").and_then(Value::as_array).map_or(0, Vec::len);
    let structured = data.get("structured").is_some_and(|structured| !structured.is_null());
    match (blocks, structured) {
        (0, false) => format!("{who} answered with nothing"),
        (1, _) | (0, true) => format!("{who} answered"),
        (more, _) => format!("{who} answered in {more} blocks"),
    }
}

/// Bounds an answer. Bytes become artifacts; text that only repeats the structured content is left out.
pub(crate) fn project(data: &Value, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
    let content = data.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let structured = data.get("structured").filter(|structured| !structured.is_null());
    let decoded: Vec<Option<Vec<u8>>> = content.iter().map(bytes_of).collect();
    let mut blocks = Vec::with_capacity(content.len() + 1);
    for (block, bytes) in content.iter().zip(&decoded) {
        match (text_of(block), bytes) {
            (Some(text), _)
                if structured.is_some_and(|structured| duplicates_structured(text, structured)) => {}
            (Some(text), _) => blocks.push(OutputBlock::Text(text)),
            (None, Some(bytes)) => blocks.push(OutputBlock::Binary { media_type: media_type(block), bytes }),
            (None, None) => blocks.push(OutputBlock::Json(block)),
        }
    }
    blocks.extend(structured.map(OutputBlock::Json));
    project_blocks(&ExternalOutput { blocks }, with)
}

fn text_of(block: &Value) -> Option<&str> {
    let block = block.get("resource").unwrap_or(block);
    block.get("text")?.as_str()
}

/// Returns the bytes of an image, audio or binary resource.
fn bytes_of(block: &Value) -> Option<Vec<u8>> {
    let encoded = match block.get("resource") {
        Some(resource) => resource.get("blob")?,
        None => block.get("data")?,
    };
    STANDARD.decode(encoded.as_str()?).ok()
}

fn media_type(block: &Value) -> &str {
    let block = block.get("resource").unwrap_or(block);
    block.get("mimeType").and_then(Value::as_str).unwrap_or("application/octet-stream")
}

/// Returns true if a text repeats the structured content, as JSON or as its only field.
fn duplicates_structured(text: &str, structured: &Value) -> bool {
    let only_field = structured.as_object().filter(|map| map.len() == 1).and_then(|map| map.values().next());
    only_field.and_then(Value::as_str) == Some(text)
        || serde_json::from_str::<Value>(text).is_ok_and(|parsed| parsed == *structured)
}

#[cfg(test)]
mod tests {
    use envelope::Failure;
    use expect_test::expect;
    use rmcp::model::ServerResult;
    use serde_json::{Value, json};

    use super::{call_data, summary};

    fn answered(answer: Value) -> Result<Value, (Failure, String)> {
        let result: ServerResult = serde_json::from_value(answer).unwrap();
        call_data("mcp.s.t", result, 200).map_err(|fault| (fault.failure, fault.message))
    }

    #[test]
    fn an_answer_becomes_content_and_structured() {
        let answer = json!({
            "content": [{"type": "text", "text": "<tool_call>{}</tool_call>", "annotations": {"priority": 1.0}}],
            "structuredContent": {"n": 1}, "_meta": {"x": 1},
        });
        let expected = json!({
            "content": [{"type": "text", "text": "<tool_call>{}</tool_call>"}], "structured": {"n": 1},
        });
        assert_eq!(answered(answer).unwrap(), expected);
        assert_eq!(answered(json!({"content": []})).unwrap(), json!({"content": [], "structured": null}));
        assert_eq!(summary("mcp.s.t", &expected), "mcp.s.t answered");
    }

    #[test]
    fn blocks_of_a_kind_that_nobody_knows_are_kept_as_they_are() {
        let answer = json!({"content": [{"type": "hologram", "angle": 3}]});
        assert_eq!(answered(answer.clone()).unwrap()["content"], answer["content"]);
    }

    #[test]
    fn a_failure_is_told_in_the_servers_words_on_one_line() {
        let failed = json!({"content": [{"type": "text", "text": "no such\nfile\u{202e}"}], "isError": true});
        expect![[r#"
            (
                ExecutionFailed,
                "mcp.s.t failed: no such\\nfile\\u{202e}",
            )
        "#]]
        .assert_debug_eq(&answered(failed).unwrap_err());
        let silent = answered(json!({"content": [], "isError": true})).unwrap_err();
        assert_eq!(silent.1, "mcp.s.t failed: no reason given");
    }

    #[test]
    fn too_much_is_refused_with_the_limit() {
        let large = json!({"content": [{"type": "text", "text": "x".repeat(300)}]});
        expect![[r#"
            (
                ResultTooLarge,
                "mcp.s.t answered with 357 bytes; at most 200 bytes are taken",
            )
        "#]]
        .assert_debug_eq(&answered(large).unwrap_err());
    }

    #[test]
    fn what_asks_for_input_or_is_no_answer_fails() {
        let (failure, message) = answered(json!({"tools": []})).unwrap_err();
        assert_eq!(failure, Failure::ExecutionFailed);
        assert_eq!(message, "the server's answer to mcp.s.t is not a tool result");
    }
}
