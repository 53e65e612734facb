//! Text that was taken apart or put together: one text, or a list of items.
//!
//! It is made of the arguments alone, so there is nothing to ask again but the same call; what does not fit is
//! kept as an artifact, where it can be paged and searched.

use envelope::{Artifact, Family, Fault};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plain::{Receipt, cost, fitting, fitting_text, is_zero, many_lines, one_line, projected, room};
use super::{Projected, Projection, external};

/// Items that are deeper are shown as if they were not.
const MAX_DEPTH: u32 = 20;

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item<Text> {
    pub text: Text,
    /// 0 for one at the left, 1 for one below it, and so on.
    pub depth: u32,
}

/// One text in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
struct OneText<Text> {
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
struct List<Text> {
    items_preview: Vec<Item<Text>>,
    /// How many items there are.
    count: u64,
    /// How many of them do not stand here.
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

/// A path relative to the run, and nothing else: what it holds is said by the field that points here.
#[derive(Debug, Serialize, Deserialize)]
struct ArtifactRef {
    path: String,
}

/// Bounds one text.
pub fn project(text: &str, with: &mut Projection<'_>) -> Result<Projected, Fault> {
    let cut = fitting_text(text, room(with.budget()));
    let kept = if cut < text.len() { with.keep("text", "txt", text.as_bytes())? } else { None };
    let shown = OneText {
        text_preview: &text[..cut],
        text_artifact: kept.as_ref().map(|_| 0),
        text_bytes: (cut < text.len()).then_some(text.len() as u64),
        text_digest: kept.as_ref().map(|kept| kept.hash.to_string()),
        truncated: cut < text.len(),
        artifacts: artifacts(kept),
    };
    projected(Family::Text, &shown)
}

/// Bounds a list. The artifact has one line for each item, indented by its depth.
pub fn project_items<'a>(
    items: impl ExactSizeIterator<Item = Item<&'a str>> + Clone,
    with: &mut Projection<'_>,
) -> Result<Projected, Fault> {
    let count = items.len() as u64;
    let fits = fitting(items.clone(), room(with.budget()), |item| cost(&shown(item)));
    let left_out = count - fits.len() as u64;
    let mut kept = None;
    if left_out > 0 {
        let mut all = String::new();
        for item in items {
            all.push_str(&shown(&item));
            all.push('\n');
        }
        kept = with.keep("items", "md", all.as_bytes())?;
    }
    let list = List {
        items_preview: fits,
        count,
        left_out,
        items_artifact: kept.as_ref().map(|_| 0),
        items_bytes: kept.as_ref().map(|kept| kept.bytes),
        items_digest: kept.as_ref().map(|kept| kept.hash.to_string()),
        truncated: left_out > 0,
        artifacts: artifacts(kept),
    };
    projected(Family::Text, &list)
}

fn artifacts(kept: Option<Artifact>) -> Vec<ArtifactRef> {
    kept.into_iter().map(|kept| ArtifactRef { path: kept.path }).collect()
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    let receipt = Receipt::new(summary);
    if let Ok(list) = List::<String>::deserialize(result) {
        let items: Vec<String> = list
            .items_preview
            .iter()
            .map(|item| shown(&Item { text: item.text.as_str(), depth: item.depth }))
            .collect();
        let place = place(&list.artifacts, list.items_artifact, list.items_bytes);
        return receipt.with_most(1..=items.len(), budget, |most, receipt| {
            items.iter().take(most).for_each(|item| receipt.line(item));
            let left_out = list.left_out + items.len().saturating_sub(most) as u64;
            let words = format!("{left_out} of {} not shown", list.count);
            go_on(left_out, &words, "list", place.as_deref(), receipt);
        });
    }
    let Ok(text) = OneText::<String>::deserialize(result) else {
        return external::render(summary, result, budget);
    };
    let preview = text.text_preview.as_str();
    // A short text often is the summary.
    if !text.truncated && !preview.contains('\n') && summary.contains(preview) {
        return receipt.done();
    }
    let place = place(&text.artifacts, text.text_artifact, text.text_bytes);
    receipt.with_text(budget, |room, receipt| {
        let cut = fitting_text(preview, room);
        let shown = many_lines(&preview[..cut]);
        receipt.line(shown.strip_suffix('\n').unwrap_or(&shown));
        let all = text.text_bytes.unwrap_or(preview.len() as u64);
        let left_out = all.saturating_sub(cut as u64);
        go_on(left_out, &format!("{left_out} more bytes"), "text", place.as_deref(), receipt);
    })
}

/// Where the whole of it is.
fn place(artifacts: &[ArtifactRef], index: Option<usize>, bytes: Option<u64>) -> Option<String> {
    let path = &artifacts.get(index?)?.path;
    Some(match bytes {
        Some(bytes) => format!("{} ({bytes} bytes)", one_line(path)),
        None => one_line(path).into_owned(),
    })
}

/// What was cut, and how to get it.
fn go_on(left_out: u64, words: &str, what: &str, place: Option<&str>, receipt: &mut Receipt) {
    match place {
        _ if left_out == 0 => {}
        Some(place) => {
            receipt.line(&format!("… {words}\nFull {what}: {place}; page it with artifact.read"));
        }
        None => receipt.line(&format!("… {words}; call again with a part of the text")),
    }
}

fn shown(item: &Item<&str>) -> String {
    let indent = "  ".repeat(item.depth.min(MAX_DEPTH) as usize);
    format!("{indent}- {}", one_line(item.text))
}

#[cfg(test)]
mod tests;
