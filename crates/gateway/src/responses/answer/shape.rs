//! Structured output: whether what the model wrote has the shape that was asked for.

use serde_json::Value;

use crate::responses::request::{Format, Request};

/// Whether text is held back until it is known to have the right shape.
pub(super) fn is_asked(request: &Request) -> bool {
    !matches!(request.format, Format::Text)
}

/// The text as it is sent on, or what is wrong with it in words that the model can act on.
pub(super) fn fitting<'a>(text: &'a str, format: &Format) -> Result<&'a str, String> {
    let bare = unfenced(text.trim());
    let value: Value =
        serde_json::from_str(bare).map_err(|error| format!("the answer is not one JSON value: {error}"))?;
    match format {
        Format::Text => Ok(text),
        Format::JsonObject if value.is_object() => Ok(bare),
        Format::JsonObject => Err("the answer is JSON, but not an object".to_owned()),
        Format::JsonSchema { compiled, strict, .. } => match compiled.validate(&value).first() {
            // Without `strict` the shape is a wish.
            Some(problem) if *strict => {
                let place = if problem.pointer.is_empty() { "the answer" } else { &problem.pointer };
                Err(format!("{place}: {}", problem.message))
            }
            Some(_) | None => Ok(bare),
        },
    }
}

/// Models put JSON into a code block even when they are told not to. What is inside is meant.
fn unfenced(text: &str) -> &str {
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    match inside.and_then(|inside| inside.split_once('\n')) {
        Some((language, body)) if language.trim().chars().all(char::is_alphanumeric) => body.trim(),
        Some(_) | None => text,
    }
}
