//! Tools that were not written here: text as text, JSON as readable structure, bytes as a described artifact.
//!
//! What fits the budget is the result as it stands. What does not is kept whole as an artifact, and the result
//! holds as much of its shape as fits. A text that is JSON is shown as JSON: nothing is escaped twice.

mod blocks;
mod cut;
mod readable;

use envelope::{Failure, Family, Fault};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plain::longest;
use super::{Projected, Projection};
use crate::preview::tokens::estimate;
use blocks::Blocks;
use cut::{Cut, Whole};

pub use blocks::{Block, External};
pub(super) use readable::has_word;

/// Tokens of a receipt that are not the output: the summary, and where the whole is.
const WORDS: usize = 60;

/// Bounds whatever a tool returned.
pub fn project(output: &impl Serialize, with: &mut Projection<'_>) -> Result<Projected, Fault> {
    let output = serde_json::to_value(output).map_err(|error| unmappable(&error))?;
    let result = match &output {
        Value::String(text) => one(Whole::Text(text), with)?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            one(Whole::Json(&output), with)?
        }
    };
    Ok(Projected { family: Family::External, result: result.unwrap_or(output) })
}

/// Bounds an answer that came in blocks.
pub fn project_blocks(output: &External<'_>, with: &mut Projection<'_>) -> Result<Projected, Fault> {
    let result = match output.blocks.as_slice() {
        // The usual case needs no words about blocks.
        [Block::Text(text)] => {
            one(Whole::Text(text), with)?.unwrap_or_else(|| Value::String((*text).to_owned()))
        }
        [Block::Json(value)] => one(Whole::Json(value), with)?.unwrap_or_else(|| (*value).clone()),
        blocks => {
            let blocks = Blocks::of(blocks, with.budget().saturating_sub(WORDS), with)?;
            serde_json::to_value(blocks).map_err(|error| unmappable(&error))?
        }
    };
    Ok(Projected { family: Family::External, result })
}

/// The result of an output that does not fit; none when it fits as it is.
fn one(whole: Whole<'_>, with: &mut Projection<'_>) -> Result<Option<Value>, Fault> {
    let room = with.budget().saturating_sub(WORDS);
    if whole.fits(room) {
        return Ok(None);
    }
    let cut = Cut::of(whole, "output", room, with)?;
    serde_json::to_value(cut.named()).map(Some).map_err(|error| unmappable(&error))
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    let summary = readable::cleaned(summary);
    let room = budget.saturating_sub(estimate(&summary));
    let below = |write: &dyn Fn(&mut String, usize)| {
        longest(0..=room, budget, |room| {
            let mut text = summary.clone();
            write(&mut text, room);
            text
        })
    };
    // A look at the names first: to find out by reading that it is something else costs more than all the rest.
    let has = |name| result.get(name).is_some();
    if has("blocks")
        && let Ok(blocks) = Blocks::deserialize(result)
    {
        below(&|text, room| blocks.render(text, room))
    } else if has("output_preview")
        && let Ok(cut) = cut::Named::deserialize(result)
    {
        below(&|text, room| cut.render(text, room))
    } else if readable::is_said(result, &summary) {
        summary
    } else {
        below(&|text, room| readable::append(text, result, room))
    }
}

fn unmappable(error: &serde_json::Error) -> Fault {
    Fault::new(Failure::ResultMappingFailed, format!("the output cannot be mapped: {error}"))
}

#[cfg(test)]
mod tests;
