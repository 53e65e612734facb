//! An output that does not fit: as much of its shape as does, and where the whole of it is.

use std::fmt::Write as _;

use envelope::{Fault, Hash};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::readable;
use crate::families::Projection;
use crate::families::bound::{parsed, unfolded, within};
use crate::families::streams::{ArtifactRef, described};
use crate::preview::tokens::is_within;
use crate::preview::{Input, Style, preview};

/// What there is to show.
#[derive(Clone, Copy)]
pub(super) enum Whole<'a> {
    Text(&'a str),
    Json(&'a Value),
}

impl Whole<'_> {
    /// Whether it can stand in the result as it is. A short look is enough for most.
    pub(super) fn fits(self, tokens: usize) -> bool {
        // No token is longer than this in bytes, on average over more than a few of them.
        let surely_not = tokens.saturating_mul(16);
        match self {
            Whole::Text(text) => {
                // A text of controls is short as a text and long in a result, where each of them is spelled out.
                let spelled_out = |text: &str| Value::from(text).to_string();
                text.len() <= surely_not
                    && is_within(text, tokens)
                    && is_within(&spelled_out(text), tokens.saturating_mul(2))
            }
            Whole::Json(value) => {
                let text = value.to_string();
                text.len() <= surely_not && is_within(&text, tokens)
            }
        }
    }
}

/// As much as fits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cut {
    pub(super) preview: Value,
    pub(super) path: Option<String>,
    pub(super) bytes: u64,
    pub(super) digest: String,
}

impl Cut {
    /// Keeps the whole under the name of its role.
    pub(super) fn of(
        whole: Whole<'_>,
        role: &str,
        tokens: usize,
        with: &mut Projection<'_>,
    ) -> Result<Cut, Fault> {
        let pretty;
        let (preview, content, extension) = match whole {
            Whole::Text(text) => match parsed(text) {
                Some(value) => (within(&unfolded(&value), tokens), text.as_bytes(), "json"),
                None => (shortened(text, tokens), text.as_bytes(), "txt"),
            },
            Whole::Json(value) => {
                // Line by line, so that it can be paged and searched.
                pretty = format!("{value:#}\n");
                (within(&unfolded(value), tokens), pretty.as_bytes(), "json")
            }
        };
        let kept = with.keep(role, extension, content)?;
        let hash = kept.as_ref().map_or_else(|| Hash::of(content), |kept| kept.hash);
        Ok(Cut {
            preview,
            path: kept.map(|kept| kept.path),
            bytes: content.len() as u64,
            digest: hash.to_string(),
        })
    }

    /// As it stands in a result of its own.
    pub(super) fn named(self) -> Named {
        let artifacts: Vec<ArtifactRef> = self.path.map(|path| ArtifactRef { path }).into_iter().collect();
        Named {
            output_preview: self.preview,
            truncated: true,
            output_artifact: (!artifacts.is_empty()).then_some(0),
            artifacts,
            output_bytes: self.bytes,
            output_digest: self.digest,
        }
    }
}

/// A cut output as the whole result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    output_preview: Value,
    truncated: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<ArtifactRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_artifact: Option<usize>,
    output_bytes: u64,
    output_digest: String,
}

impl Named {
    pub(super) fn render(&self, text: &mut String, tokens: usize) {
        let path = self.output_artifact.and_then(|index| self.artifacts.get(index));
        where_it_is(text, "output", path.map(|kept| kept.path.as_str()), self.output_bytes);
        readable::append(text, &self.output_preview, tokens);
    }
}

/// Where the whole of something is that was cut.
pub(super) fn where_it_is(text: &mut String, what: &str, path: Option<&str>, bytes: u64) {
    let _infallible = match path {
        Some(path) => {
            let kept = described(path, None, Some(bytes));
            write!(text, "\nFull {what}: {kept}; page it with artifact.read")
        }
        None => write!(text, "\nThe {what} has {bytes} bytes; what does not fit was not kept"),
    };
}

fn shortened(text: &str, tokens: usize) -> Value {
    let input = Input { head: text.as_bytes(), gap: None, tail: &[] };
    preview(&input, tokens, Style::Text).text.into()
}
