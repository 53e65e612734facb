//! Tools that were not written here: text as text, JSON as readable structure.

use envelope::{Failure, Family, Fault};
use serde::Serialize;
use serde_json::Value;

use super::{Projected, Projection};

/// Bounds whatever a tool returned.
pub fn project(output: &impl Serialize, _with: &mut Projection<'_>) -> Result<Projected, Fault> {
    Projected::new(Family::External, output).map_err(|error| {
        Fault::new(Failure::ResultMappingFailed, format!("the output cannot be mapped: {error}"))
    })
}

pub(super) fn render(summary: &str, _result: &Value, _budget: usize) -> String {
    summary.to_owned()
}
