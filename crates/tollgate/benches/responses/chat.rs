//! The same deltas as `/chat/completions` has them.

use serde_json::{Value, json};

use crate::upstream::chunk;

/// A streamed answer as chunks of a chunked body.
pub(crate) fn frames(deltas: &[String]) -> Vec<Vec<u8>> {
    let frame = |choices: Value, usage: Value| {
        let payload = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": choices, "usage": usage,
        });
        chunk(&format!("data: {payload}\n\n"))
    };
    let choice =
        |delta: Value, finish: Value| json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
    let words =
        deltas.iter().map(|delta| frame(choice(json!({ "content": delta }), Value::Null), Value::Null));
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 100, "total_tokens": 110 });
    [frame(choice(json!({ "role": "assistant", "content": "" }), Value::Null), Value::Null)]
        .into_iter()
        .chain(words)
        .chain([
            frame(choice(json!({}), json!("stop")), Value::Null),
            frame(json!([]), usage),
            chunk("data: [DONE]\n\n"),
        ])
        .collect()
}
