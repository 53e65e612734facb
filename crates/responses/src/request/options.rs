//! Parses the options of a request: format, reasoning, sampling, and fields that are only repeated.

use serde_json::{Map, Value, json};

use super::TextFormat;
use super::field_path::FieldPath;
use super::fields::{self, UnreadFields};
use super::schema_cache::SchemaCache;
use crate::error::ApiError;

const MAX_INCLUDES: usize = 64;
const MAX_METADATA: usize = 16;
const MAX_METADATA_KEY: usize = 64;
const MAX_METADATA_VALUE: usize = 512;

/// The `text` field.
pub(super) struct TextOptions {
    pub(super) format: TextFormat,
    pub(super) verbosity: Option<String>,
}

pub(super) fn read_text(
    value: Option<Value>,
    at: FieldPath<'_>,
    schemas: &SchemaCache,
) -> Result<TextOptions, ApiError> {
    let Some(value) = value else { return Ok(TextOptions { format: TextFormat::Text, verbosity: None }) };
    let mut text = UnreadFields::new(value, at)?;
    let verbosity = text.word("verbosity", &["low", "medium", "high"])?;
    let format = match text.value("format") {
        None => TextFormat::Text,
        Some(format) => read_format(format, at.key("format"), schemas)?,
    };
    Ok(TextOptions { format, verbosity })
}

fn read_format(value: Value, at: FieldPath<'_>, schemas: &SchemaCache) -> Result<TextFormat, ApiError> {
    let mut format = UnreadFields::new(value, at)?;
    const KINDS: [&str; 3] = ["text", "json_object", "json_schema"];
    match format.word("type", &KINDS)?.as_deref() {
        Some("text") => Ok(TextFormat::Text),
        Some("json_object") => Ok(TextFormat::JsonObject),
        Some(_) => {
            let name = format.required_text("name")?;
            let description = format.string("description")?;
            let strict = format.boolean("strict")?.unwrap_or(false);
            let place = at.key("schema");
            let schema = format.object("schema")?.map(Value::Object);
            let schema = schema.ok_or_else(|| fields::missing(&place, "a JSON Schema"))?;
            let compiled = schemas.compile(&schema).map_err(|refused| {
                let message = format!("`{place}` cannot be used: {refused}");
                ApiError::invalid(place.to_string(), "invalid_json_schema", message)
            })?;
            Ok(TextFormat::JsonSchema { name, description, schema, compiled, strict })
        }
        None => Err(fields::missing(&at.key("type"), &fields::one_of_words(&KINDS))),
    }
}

/// The `reasoning` field.
#[derive(Default)]
pub(super) struct ReasoningOptions {
    pub(super) effort: Option<String>,
    pub(super) summary: Option<String>,
}

pub(super) fn read_reasoning(value: Option<Value>, at: FieldPath<'_>) -> Result<ReasoningOptions, ApiError> {
    let Some(value) = value else { return Ok(ReasoningOptions::default()) };
    let mut reasoning = UnreadFields::new(value, at)?;
    // Services add efforts, so any word is passed on; the model's service checks it.
    let effort = reasoning.string("effort")?;
    const SUMMARIES: [&str; 4] = ["auto", "concise", "detailed", "none"];
    let summary = reasoning.word("summary", &SUMMARIES)?;
    let summary = summary.or(reasoning.word("generate_summary", &SUMMARIES)?);
    Ok(ReasoningOptions { effort, summary })
}

/// The only value of `include` that changes an answer.
pub(crate) const ENCRYPTED_REASONING: &str = "reasoning.encrypted_content";

/// Parses `include`. Values without an effect are named in `ignored`.
pub(super) fn read_include(
    list: Option<Vec<Value>>,
    at: FieldPath<'_>,
    ignored: &mut Vec<String>,
) -> Result<Vec<String>, ApiError> {
    let list = fields::check_length(list.unwrap_or_default(), &at, MAX_INCLUDES)?;
    let word = |(index, value): (usize, Value)| match value.as_str() {
        Some(word) => Ok(word.to_owned()),
        None => Err(fields::wrong_type(&at.index(index), "a string", &value)),
    };
    let words: Vec<String> = list.into_iter().enumerate().map(word).collect::<Result<_, _>>()?;
    let without_effect = words.iter().filter(|word| *word != ENCRYPTED_REASONING);
    ignored.extend(without_effect.map(|word| format!("include.{word}")));
    Ok(words)
}

/// Parses `metadata`: up to sixteen short texts that the answer repeats.
pub(super) fn read_metadata(map: Option<Map<String, Value>>, at: FieldPath<'_>) -> Result<Value, ApiError> {
    let Some(map) = map else { return Ok(json!({})) };
    if map.len() > MAX_METADATA {
        let message = format!("`{at}` has {} keys; at most {MAX_METADATA} are taken", map.len());
        return Err(ApiError::invalid(at.to_string(), "object_above_max_properties", message));
    }
    for (key, value) in &map {
        let place = at.key(key);
        let Value::String(text) = value else { return Err(fields::wrong_type(&place, "a string", value)) };
        if key.chars().count() > MAX_METADATA_KEY {
            let message = format!("a key of `{at}` is longer than {MAX_METADATA_KEY} characters");
            return Err(ApiError::invalid(at.to_string(), "string_above_max_length", message));
        }
        if text.chars().count() > MAX_METADATA_VALUE {
            let message = format!("`{place}` is longer than {MAX_METADATA_VALUE} characters");
            return Err(ApiError::invalid(place.to_string(), "string_above_max_length", message));
        }
    }
    Ok(Value::Object(map))
}

/// Parses fields that have no effect here and that the answer repeats. Those that change answers elsewhere are named
/// in `ignored`.
pub(super) fn read_repeated(
    body: &mut UnreadFields<'_>,
    ignored: &mut Vec<String>,
) -> Result<Map<String, Value>, ApiError> {
    let mut repeated = Map::new();
    for key in ["safety_identifier", "prompt_cache_key", "prompt_cache_retention", "user"] {
        if let Some(text) = body.string(key)? {
            repeated.insert(key.to_owned(), json!(text));
        }
    }
    if body.string("service_tier")?.is_some_and(|tier| !matches!(tier.as_str(), "auto" | "default")) {
        ignored.push("service_tier".to_owned());
    }
    if let Some(truncation) = body.word("truncation", &["auto", "disabled"])? {
        if truncation == "auto" {
            ignored.push("truncation".to_owned());
        }
        repeated.insert("truncation".to_owned(), json!(truncation));
    }
    for key in ["presence_penalty", "frequency_penalty"] {
        if let Some(penalty) = body.number(key, -2.0..=2.0)? {
            if penalty != 0.0 {
                ignored.push(key.to_owned());
            }
            repeated.insert(key.to_owned(), json!(penalty));
        }
    }
    if let Some(count) = body.count("top_logprobs", 0)? {
        if count > 0 {
            ignored.push("top_logprobs".to_owned());
        }
        repeated.insert("top_logprobs".to_owned(), json!(count));
    }
    Ok(repeated)
}
