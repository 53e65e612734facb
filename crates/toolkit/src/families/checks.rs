//! What must be true of every receipt, for the tests of the families.

use std::fs::File;
use std::sync::Mutex;

use envelope::{Artifact, CanonicalResult, CanonicalStatus, Failure, Fault, Hash, has_invisible};
use proptest::prelude::ProptestConfig;

use super::{Projected, Projection, render};
use crate::preview::tokens;
use crate::{ArtifactSink, OpenArtifact};

/// Artifacts that are counted and thrown away.
#[derive(Default)]
pub(super) struct Nowhere(Mutex<Vec<(String, u64)>>);

impl Nowhere {
    /// The path of each, and how many bytes it had.
    pub(super) fn kept(self) -> Vec<(String, u64)> {
        self.0.into_inner().unwrap()
    }
}

impl ArtifactSink for Nowhere {
    fn create(&self, role: &str, extension: &str) -> Result<Option<OpenArtifact>, Fault> {
        let number = self.0.lock().unwrap().len() + 1;
        let path = format!("artifacts/{role}-{number}.{extension}");
        Ok(Some(OpenArtifact { path, file: tempfile::tempfile().unwrap() }))
    }

    fn seal(&self, artifact: OpenArtifact, bytes: u64, hash: Hash) -> Result<Artifact, Fault> {
        self.0.lock().unwrap().push((artifact.path.clone(), bytes));
        Ok(Artifact { path: artifact.path, bytes, hash })
    }

    fn discard(&self, _artifact: &Artifact) {}

    fn open(&self, path: &str) -> Result<File, Fault> {
        Err(Fault::new(Failure::NotFound, path))
    }
}

/// Projects without a place for artifacts.
pub(super) fn projected(
    budget: usize,
    project: impl FnOnce(&mut Projection<'_>) -> Result<Projected, Fault>,
) -> Projected {
    project(&mut Projection::new(budget, None)).unwrap()
}

/// What proptest takes when `PROPTEST_CASES` asks for nothing else.
const UNASKED: u32 = 256;

/// So few cases, unless `PROPTEST_CASES` asks for more.
pub(super) fn cases(few: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = if config.cases == UNASKED { few } else { config.cases };
    ProptestConfig { cases, ..config }
}

/// The receipt, once everything is found that must be true of it: it depends on the canonical result as it was
/// written down and on nothing else, holds nothing that acts on a screen, and keeps to its budget.
#[track_caller]
pub(super) fn receipt(summary: &str, projected: &Projected, budget: usize) -> String {
    let canonical = CanonicalResult {
        tool_name: "a.tool".to_owned(),
        status: CanonicalStatus::Success,
        summary_text: summary.to_owned(),
        result: Some(projected.result.clone()),
        error: None,
    };
    let receipt = render(projected.family, &canonical, budget);
    let written = serde_json::to_string(&canonical).unwrap();
    let read: CanonicalResult = serde_json::from_str(&written).unwrap();
    assert_eq!(render(projected.family, &read, budget), receipt);
    assert!(!has_invisible(&receipt), "{receipt:?}");
    let tokens = tokens::estimate(&receipt);
    assert!(tokens <= budget, "{tokens} tokens for {budget}:\n{receipt}");
    receipt
}

/// The canonical result and the receipt of it, for a golden test.
#[track_caller]
pub(super) fn shown(summary: &str, projected: &Projected, budget: usize) -> String {
    format!("{}\n---\n{}\n", projected.result, receipt(summary, projected, budget))
}
