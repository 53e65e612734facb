//! Structured output: checks that the model's text has the requested format.

use serde_json::Value;

use crate::request::{Request, TextFormat};

/// Whether text is held back until it was checked.
pub(super) fn is_requested(request: &Request) -> bool {
    !matches!(request.format, TextFormat::Text)
}

/// Returns the text to send. Fails with a reason that the model can act on.
pub(super) fn check_format<'a>(text: &'a str, format: &TextFormat) -> Result<&'a str, String> {
    let bare = strip_fence(text.trim());
    let value: Value =
        serde_json::from_str(bare).map_err(|error| format!("the answer is not one JSON value: {error}"))?;
    match format {
        TextFormat::Text => Ok(text),
        TextFormat::JsonObject if value.is_object() => Ok(bare),
        TextFormat::JsonObject => Err("the answer is JSON, but not an object".to_owned()),
        TextFormat::JsonSchema { compiled, strict, .. } => match compiled.validate(&value).first() {
            // Without `strict` a mismatch is allowed.
            Some(problem) if *strict => {
                let place = if problem.pointer.is_empty() { "the answer" } else { &problem.pointer };
                Err(format!("{place}: {}", problem.message))
            }
            Some(_) | None => Ok(bare),
        },
    }
}

/// Returns the content of a code fence. Models put JSON into one even when the prompt forbids it.
fn strip_fence(text: &str) -> &str {
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    match inside.and_then(|inside| inside.split_once('\n')) {
        Some((language, body)) if language.trim().chars().all(char::is_alphanumeric) => body.trim(),
        Some(_) | None => text,
    }
}
