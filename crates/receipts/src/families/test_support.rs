//! Checks that every receipt must pass, for the tests of the families.

use std::fs::File;
use std::sync::Mutex;

use envelope::{Artifact, CanonicalResult, CanonicalStatus, Failure, Fault, Hash, has_invisible};
use proptest::prelude::ProptestConfig;

use super::{ProjectedResult, Projection, render};
use crate::preview::tokenizer;
use toolkit::{ArtifactSink, OpenArtifact};

/// Artifact sink that counts artifacts and drops their content.
#[derive(Default)]
pub(super) struct DiscardingSink(Mutex<Vec<(String, u64)>>);

impl DiscardingSink {
    /// Returns the path and size of each artifact.
    pub(super) fn kept(self) -> Vec<(String, u64)> {
        self.0.into_inner().unwrap()
    }
}

impl ArtifactSink for DiscardingSink {
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

/// Projects without artifact storage.
pub(super) fn projected(
    budget: usize,
    project: impl FnOnce(&mut Projection<'_>) -> Result<ProjectedResult, Fault>,
) -> ProjectedResult {
    project(&mut Projection::new(budget, None)).unwrap()
}

/// Default number of proptest cases.
const UNASKED: u32 = 256;

/// Returns a configuration with `few` cases, unless `PROPTEST_CASES` sets another number.
pub(super) fn cases(few: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = if config.cases == UNASKED { few } else { config.cases };
    ProptestConfig { cases, ..config }
}

/// Renders the receipt and checks that it depends only on the serialized canonical result, contains no invisible
/// character, and fits its budget.
#[track_caller]
pub(super) fn receipt(summary: &str, projected: &ProjectedResult, budget: usize) -> String {
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
    let tokens = tokenizer::estimate(&receipt);
    assert!(tokens <= budget, "{tokens} tokens for {budget}:\n{receipt}");
    receipt
}

/// Returns the canonical result and its receipt, for a golden test.
#[track_caller]
pub(super) fn shown(summary: &str, projected: &ProjectedResult, budget: usize) -> String {
    format!("{}\n---\n{}\n", projected.result, receipt(summary, projected, budget))
}
