//! Parses the parts of a message or of a tool's output.

use serde_json::Value;

use super::field_path::FieldPath;
use super::fields::{self, UnreadFields};
use crate::error::ApiError;
use crate::item::ItemContent;

const MAX_PARTS: usize = 4096;
const DETAILS: [&str; 4] = ["low", "high", "auto", "original"];

/// Parses a string, which is one part, or a list of parts.
pub(super) fn read(value: Value, at: &FieldPath<'_>) -> Result<Vec<ItemContent>, ApiError> {
    match value {
        Value::String(text) => Ok(vec![ItemContent::Text(text)]),
        Value::Array(parts) => {
            let parts = fields::check_length(parts, at, MAX_PARTS)?;
            parts.into_iter().enumerate().map(|(index, part)| read_part(part, at.index(index))).collect()
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            Err(fields::wrong_type(at, "a string or an array of content parts", &other))
        }
    }
}

fn read_part(value: Value, at: FieldPath<'_>) -> Result<ItemContent, ApiError> {
    let mut part = UnreadFields::new(value, at)?;
    let kind = part.required_string("type")?;
    match kind.as_str() {
        "input_text" | "output_text" | "text" => Ok(ItemContent::Text(part.required_string("text")?)),
        "refusal" => Ok(ItemContent::Refusal(part.required_string("refusal")?)),
        "input_image" => read_image(part),
        "input_file" => Err(fields::unsupported(
            &part.at,
            "a text model takes no files: put the text of the file into an `input_text` part",
        )),
        "input_audio" => {
            Err(fields::unsupported(&part.at, "a text model takes no sound: send the words as text"))
        }
        other => Err(fields::invalid(
            &part.at.key("type"),
            &fields::one_of_words(&["input_text", "output_text", "refusal", "input_image"]),
            &fields::quoted(other),
        )),
    }
}

fn read_image(mut part: UnreadFields<'_>) -> Result<ItemContent, ApiError> {
    if part.has("file_id") && !part.has("image_url") {
        return Err(fields::unsupported(
            &part.at.key("file_id"),
            "this server keeps no files: send the image as a `data:` URL in `image_url`",
        ));
    }
    let url = part.required_text("image_url")?;
    check_image_url(&url, &part.at.key("image_url"))?;
    let detail = part.word("detail", &DETAILS)?;
    Ok(ItemContent::Image { url, detail })
}

/// Checks an image URL. A service may replace an image with a bad URL by a remark, without an error.
fn check_image_url(url: &str, at: &FieldPath<'_>) -> Result<(), ApiError> {
    const EXPECTED: &str = "an http(s) URL or `data:image/<type>;base64,<data>`";
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(());
    }
    let Some((head, data)) = url.strip_prefix("data:image/").and_then(|rest| rest.split_once(',')) else {
        return Err(fields::invalid(at, EXPECTED, &fields::quoted(url)));
    };
    if !head.ends_with(";base64") {
        return Err(fields::invalid(at, EXPECTED, &fields::quoted(url)));
    }
    if !is_base64(data.as_bytes()) {
        return Err(fields::invalid(at, "base64 after `;base64,`", "not base64"));
    }
    Ok(())
}

fn is_base64(data: &[u8]) -> bool {
    let padding = data.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = &data[..data.len() - padding];
    let all_digits = digits.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
    // One digit alone encodes no byte.
    all_digits && !digits.is_empty() && padding <= 2 && digits.len() % 4 != 1
}
