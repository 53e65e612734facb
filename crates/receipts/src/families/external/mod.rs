//! External tools: text as text, JSON as readable structure, bytes as a described artifact.
//!
//! An output that fits the budget is the result as it is. Any other output is stored completely as an artifact, and
//! the result has as much of its shape as fits. A text that contains JSON is shown as JSON, so that nothing is
//! escaped twice.

mod blocks;
mod cut;
mod readable;

use envelope::{Fault, ReceiptFamily};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::receipt_writer::longest_fitting;
use super::{ProjectedResult, Projection, json_budget, serialization_fault};
use crate::preview::tokenizer::estimate;
use blocks::BoundedBlocks;
use cut::{CUT_FIELDS, CutOutput, FullOutput};

pub use blocks::{ExternalOutput, OutputBlock};
pub(super) use readable::has_word;

/// Tokens of a receipt besides the output: the summary, and the reference to the artifact.
const WORDS: usize = 60;

/// Bounds the output of any tool.
pub fn project(output: &impl Serialize, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
    let output = serde_json::to_value(output).map_err(|error| serialization_fault(&error))?;
    let result = match &output {
        Value::String(text) => cut_if_needed(FullOutput::Text(text), with)?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            cut_if_needed(FullOutput::Json(&output), with)?
        }
    };
    Ok(ProjectedResult {
        family: ReceiptFamily::External,
        result: result.unwrap_or(output),
        render: super::render,
    })
}

/// Bounds an answer with several blocks.
pub fn project_blocks(
    output: &ExternalOutput<'_>,
    with: &mut Projection<'_>,
) -> Result<ProjectedResult, Fault> {
    let result = match output.blocks.as_slice() {
        // The usual case is shown without block headings.
        [OutputBlock::Text(text)] => {
            cut_if_needed(FullOutput::Text(text), with)?.unwrap_or_else(|| Value::String((*text).to_owned()))
        }
        [OutputBlock::Json(value)] => {
            cut_if_needed(FullOutput::Json(value), with)?.unwrap_or_else(|| (*value).clone())
        }
        blocks => {
            let blocks = BoundedBlocks::of(blocks, json_budget(with.budget()), with)?;
            serde_json::to_value(blocks).map_err(|error| serialization_fault(&error))?
        }
    };
    Ok(ProjectedResult { family: ReceiptFamily::External, result, render: super::render })
}

/// Returns the cut result of an output, or `None` if it fits as it is.
fn cut_if_needed(whole: FullOutput<'_>, with: &mut Projection<'_>) -> Result<Option<Value>, Fault> {
    let (room, json_room) = (with.budget().saturating_sub(WORDS), json_budget(with.budget()));
    if whole.fits(room, json_room) {
        return Ok(None);
    }
    let room = room.min(json_room.saturating_sub(CUT_FIELDS));
    let cut = CutOutput::of(whole, "output", room, with)?;
    serde_json::to_value(cut.into_result()).map(Some).map_err(|error| serialization_fault(&error))
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    let summary = readable::cleaned(summary);
    let room = budget.saturating_sub(estimate(&summary));
    let below = |write: &dyn Fn(&mut String, usize)| {
        longest_fitting(0..=room, budget, |room| {
            let mut text = summary.clone();
            write(&mut text, room);
            text
        })
    };
    // The names are checked first: a failed deserialization costs more than all the rest.
    let has = |name| result.get(name).is_some();
    if has("blocks")
        && let Ok(blocks) = BoundedBlocks::deserialize(result)
    {
        below(&|text, room| blocks.render(text, room))
    } else if has("output_preview")
        && let Ok(cut) = cut::CutResult::deserialize(result)
    {
        below(&|text, room| cut.render(text, room))
    } else if readable::repeats_summary(result, &summary) {
        summary
    } else {
        below(&|text, room| readable::append_value(text, result, room))
    }
}

#[cfg(test)]
mod tests;
