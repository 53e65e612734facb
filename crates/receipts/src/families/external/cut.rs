//! An output that does not fit: cut to its budget, with a reference to the complete output.

use std::fmt::Write as _;

use envelope::{Fault, Hash};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::readable;
use crate::families::json_bound::{fit_value, parse_container, unfold_json};
use crate::families::streams::{ArtifactRef, describe_artifact};
use crate::families::{Projection, json_cost};
use crate::preview::tokenizer::is_within;
use crate::preview::{PreviewInput, PreviewStyle, SMALLEST_BUDGET, preview};

/// Tokens of a cut output as JSON besides its preview: names of fields, the artifact, the digest.
pub(super) const CUT_FIELDS: usize = 110;

/// Complete output.
#[derive(Clone, Copy)]
pub(super) enum FullOutput<'a> {
    Text(&'a str),
    Json(&'a Value),
}

impl FullOutput<'_> {
    /// Returns true if the output can be the result as it is. Cheap for most outputs.
    pub(super) fn fits(self, tokens: usize, json_tokens: usize) -> bool {
        // Upper bound for the average bytes per token, except for very short texts.
        let surely_not = tokens.saturating_mul(16);
        match self {
            FullOutput::Text(text) => {
                // Control characters are short as text but escaped in a result.
                let spelled_out = |text: &str| Value::from(text).to_string();
                text.len() <= surely_not
                    && is_within(text, tokens)
                    && is_within(&spelled_out(text), json_tokens)
            }
            FullOutput::Json(value) => {
                let text = value.to_string();
                text.len() <= surely_not && is_within(&text, tokens.min(json_tokens))
            }
        }
    }
}

/// The output cut to its budget.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CutOutput {
    pub(super) preview: Value,
    pub(super) path: Option<String>,
    pub(super) bytes: u64,
    pub(super) digest: String,
}

impl CutOutput {
    /// Cuts an output and stores the complete one as an artifact under `role`.
    pub(super) fn of(
        whole: FullOutput<'_>,
        role: &str,
        tokens: usize,
        with: &mut Projection<'_>,
    ) -> Result<CutOutput, Fault> {
        let pretty;
        let (preview, content, extension) = match whole {
            FullOutput::Text(text) => match parse_container(text) {
                Some(value) => (fit_value(&unfold_json(&value), tokens), text.as_bytes(), "json"),
                None => (shortened(text, tokens), text.as_bytes(), "txt"),
            },
            FullOutput::Json(value) => {
                // Formatted with line breaks, so that it can be paged and searched.
                pretty = format!("{value:#}\n");
                (fit_value(&unfold_json(value), tokens), pretty.as_bytes(), "json")
            }
        };
        let kept = with.keep(role, extension, content)?;
        let hash = kept.as_ref().map_or_else(|| Hash::of(content), |kept| kept.hash);
        Ok(CutOutput {
            preview,
            path: kept.map(|kept| kept.path),
            bytes: content.len() as u64,
            digest: hash.to_string(),
        })
    }

    /// Converts it to a result of its own.
    pub(super) fn into_result(self) -> CutResult {
        let artifacts: Vec<ArtifactRef> = self.path.map(|path| ArtifactRef { path }).into_iter().collect();
        CutResult {
            output_preview: self.preview,
            truncated: true,
            output_artifact: (!artifacts.is_empty()).then_some(0),
            artifacts,
            output_bytes: self.bytes,
            output_digest: self.digest,
        }
    }
}

/// A cut output as the complete result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CutResult {
    output_preview: Value,
    truncated: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<ArtifactRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_artifact: Option<usize>,
    output_bytes: u64,
    output_digest: String,
}

impl CutResult {
    pub(super) fn render(&self, text: &mut String, tokens: usize) {
        let path = self.output_artifact.and_then(|index| self.artifacts.get(index));
        append_reference(text, "output", path.map(|kept| kept.path.as_str()), self.output_bytes);
        readable::append_value(text, &self.output_preview, tokens);
    }
}

/// Appends a line that says where the complete output is.
pub(super) fn append_reference(text: &mut String, what: &str, path: Option<&str>, bytes: u64) {
    let _infallible = match path {
        Some(path) => {
            let kept = describe_artifact(path, None, Some(bytes));
            write!(text, "\nFull {what}: {kept}; page it with artifact_read")
        }
        None => write!(text, "\nThe {what} has {bytes} bytes; what does not fit was not kept"),
    };
}

/// Returns as much of the text as fits, as JSON.
fn shortened(text: &str, tokens: usize) -> Value {
    let input = PreviewInput { head: text.as_bytes(), gap: None, tail: &[] };
    let mut room = tokens;
    loop {
        let shown = Value::from(preview(&input, room, PreviewStyle::Text).text);
        let cost = json_cost(&shown);
        if cost <= tokens || room <= SMALLEST_BUDGET {
            return shown;
        }
        room = (room.saturating_mul(tokens) / cost).min(room - 1).max(SMALLEST_BUDGET);
    }
}
