//! Output of text tools: one text, or a list of items.
//!
//! The output depends only on the arguments, so the rest cannot be requested in another way; it is stored as an
//! artifact, where it can be paged and searched.

use envelope::{Artifact, Fault, Hash, ReceiptFamily};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::receipt_writer::{
    ReceiptWriter, escape_text, fitting_prefix, is_zero, line_cost, one_line, take_fitting,
};
use super::streams::ArtifactRef;
use super::{ProjectedResult, Projection, external, project_result, project_within};

/// Largest indentation of an item.
const MAX_DEPTH: u32 = 20;

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListItem<Text> {
    pub text: Text,
    /// Indentation level, from 0.
    pub depth: u32,
}

/// One text in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
struct BoundedText<Text> {
    text_preview: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text_artifact: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text_digest: Option<String>,
    truncated: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<ArtifactRef>,
}

/// A list in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
struct BoundedItems<Text> {
    items_preview: Vec<ListItem<Text>>,
    /// Number of items.
    count: u64,
    /// Number of these that are not listed here.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    items_artifact: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    items_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    items_digest: Option<String>,
    truncated: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<ArtifactRef>,
}

/// Bounds one text.
pub fn project(text: &str, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
    let bounded = |cut: usize, kept: Option<Artifact>| BoundedText {
        text_preview: &text[..cut],
        text_artifact: kept.as_ref().map(|_| 0),
        text_bytes: (cut < text.len()).then_some(text.len() as u64),
        text_digest: kept.as_ref().map(|kept| kept.hash.to_string()),
        truncated: cut < text.len(),
        artifacts: artifacts(kept),
    };
    // The artifact is stored once the length of the preview is known.
    let mut cut = 0;
    project_within(ReceiptFamily::Text, with, |room| {
        cut = fitting_prefix(text, room);
        bounded(cut, (cut < text.len()).then(some_artifact))
    })?;
    let kept = if cut < text.len() { with.keep("text", "txt", text.as_bytes())? } else { None };
    project_result(ReceiptFamily::Text, &bounded(cut, kept))
}

/// Returns an artifact with a name of usual length, to measure a result before its artifact is stored.
fn some_artifact() -> Artifact {
    Artifact { path: "artifacts/".to_owned() + &"a".repeat(48), bytes: 1 << 20, hash: Hash::of(b"") }
}

/// Bounds a list. The artifact has one line for each item, indented by its depth.
pub fn project_items<'a>(
    items: impl ExactSizeIterator<Item = ListItem<&'a str>> + Clone,
    with: &mut Projection<'_>,
) -> Result<ProjectedResult, Fault> {
    let count = items.len() as u64;
    let first = |room| take_fitting(items.clone(), room, |item| line_cost(&item_line(item)));
    let bounded = |fits: Vec<ListItem<&'a str>>, kept: Option<Artifact>| BoundedItems {
        left_out: count - fits.len() as u64,
        truncated: (fits.len() as u64) < count,
        items_preview: fits,
        count,
        items_artifact: kept.as_ref().map(|_| 0),
        items_bytes: kept.as_ref().map(|kept| kept.bytes),
        items_digest: kept.as_ref().map(|kept| kept.hash.to_string()),
        artifacts: artifacts(kept),
    };
    let mut fits = Vec::new();
    project_within(ReceiptFamily::Text, with, |room| {
        fits = first(room);
        let kept = ((fits.len() as u64) < count).then(some_artifact);
        bounded(fits.clone(), kept)
    })?;
    let mut kept = None;
    if (fits.len() as u64) < count {
        let mut all = String::new();
        for item in items {
            all.push_str(&item_line(&item));
            all.push('\n');
        }
        kept = with.keep("items", "md", all.as_bytes())?;
    }
    project_result(ReceiptFamily::Text, &bounded(fits, kept))
}

fn artifacts(kept: Option<Artifact>) -> Vec<ArtifactRef> {
    kept.into_iter().map(|kept| ArtifactRef { path: kept.path }).collect()
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    let receipt = ReceiptWriter::new(summary);
    if let Ok(list) = BoundedItems::<String>::deserialize(result) {
        let items: Vec<String> = list
            .items_preview
            .iter()
            .map(|item| item_line(&ListItem { text: item.text.as_str(), depth: item.depth }))
            .collect();
        let place = artifact_place(&list.artifacts, list.items_artifact, list.items_bytes);
        return receipt.render_most(1..=items.len(), budget, |most, receipt| {
            items.iter().take(most).for_each(|item| receipt.line(item));
            let left_out = list.left_out + items.len().saturating_sub(most) as u64;
            let words = format!("{left_out} of {} not shown", list.count);
            render_rest(left_out, &words, "list", place.as_deref(), receipt);
        });
    }
    let Ok(text) = BoundedText::<String>::deserialize(result) else {
        return external::render(summary, result, budget);
    };
    let preview = text.text_preview.as_str();
    // A short text is often the same as the summary.
    if !text.truncated && !preview.contains('\n') && summary.contains(preview) {
        return receipt.finish();
    }
    let place = artifact_place(&text.artifacts, text.text_artifact, text.text_bytes);
    receipt.render_text(budget, |room, receipt| {
        let cut = fitting_prefix(preview, room);
        let shown = escape_text(&preview[..cut]);
        receipt.line(shown.strip_suffix('\n').unwrap_or(&shown));
        let all = text.text_bytes.unwrap_or(preview.len() as u64);
        let left_out = all.saturating_sub(cut as u64);
        render_rest(left_out, &format!("{left_out} more bytes"), "text", place.as_deref(), receipt);
    })
}

/// Returns the place of the complete output.
fn artifact_place(artifacts: &[ArtifactRef], index: Option<usize>, bytes: Option<u64>) -> Option<String> {
    let path = &artifacts.get(index?)?.path;
    Some(match bytes {
        Some(bytes) => format!("{} ({bytes} bytes)", one_line(path)),
        None => one_line(path).into_owned(),
    })
}

/// Renders how much was cut, and how to get it.
fn render_rest(left_out: u64, words: &str, what: &str, place: Option<&str>, receipt: &mut ReceiptWriter) {
    match place {
        _ if left_out == 0 => {}
        Some(place) => {
            receipt.line(&format!("… {words}\nFull {what}: {place}; page it with artifact_read"));
        }
        None => receipt.line(&format!("… {words}; call again with a part of the text")),
    }
}

fn item_line(item: &ListItem<&str>) -> String {
    let indent = "  ".repeat(item.depth.min(MAX_DEPTH) as usize);
    format!("{indent}- {}", one_line(item.text))
}

#[cfg(test)]
mod tests;
