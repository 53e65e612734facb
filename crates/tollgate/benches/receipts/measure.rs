//! Maps a case as the gate does, and counts the tokens of each form.
//!
//! The tools themselves make the canonical result and the receipt, with the budget of their family or a given one.
//! Nothing is run, and no file of a vault is touched.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{Seek, Write};
use std::sync::Mutex;

use bpe_openai::Tokenizer;
use envelope::{Artifact, CanonicalResult, Fault, Hash, ReceiptFamily, Requirement};
use receipts::families::{self, failed};
use receipts::preview::tokenizer::estimate;
use serde_json::Value;
use toolkit::{ArtifactSink, OpenArtifact, Projection, Registry, Surface, SurfaceRules};

use super::corpus::{CorpusCall, CorpusCase};
use super::foreign::CallServer;

/// What one case comes to.
pub(crate) struct ReceiptSizes {
    pub(crate) name: &'static str,
    pub(crate) family: &'static str,
    /// Tokens that the receipt may have; `None` for a failure, which is never cut.
    pub(crate) budget: Option<usize>,
    pub(crate) receipt: String,
    pub(crate) tokens: ReceiptTokenCounts,
    /// Facts that are missing in the receipt.
    pub(crate) missing: Vec<String>,
}

/// Tokens, counted by the vocabulary `o200k_base`, and those that the receipt was thought to have.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ReceiptTokenCounts {
    pub(crate) receipt: usize,
    pub(crate) compact: usize,
    pub(crate) pretty: usize,
    /// The complete output as compact JSON; nothing for a failure, which has none.
    pub(crate) data: usize,
    /// The receipts of those that have data.
    pub(crate) receipt_of_data: usize,
    pub(crate) estimated: usize,
}

impl ReceiptTokenCounts {
    pub(crate) fn add(&mut self, other: &ReceiptTokenCounts) {
        self.receipt += other.receipt;
        self.compact += other.compact;
        self.pretty += other.pretty;
        self.data += other.data;
        self.receipt_of_data += other.receipt_of_data;
        self.estimated += other.estimated;
    }
}

pub(crate) fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// Every tool, and the vocabulary.
pub(crate) struct TokenScale {
    surface: Surface,
    tokenizer: &'static Tokenizer,
}

struct ResultForms {
    family: &'static str,
    budget: Option<usize>,
    data: Option<Value>,
    canonical: CanonicalResult,
    receipt: String,
}

impl TokenScale {
    pub(crate) fn new() -> TokenScale {
        let mut registry = Registry::new();
        vault::register(&mut registry, None).unwrap();
        host::register(&mut registry, None).unwrap();
        shell::register(&mut registry, &None).unwrap();
        shell::register_artifact_read(&mut registry, None).unwrap();
        registry.register(CallServer).unwrap();
        let satisfied = BTreeSet::from([Requirement::Vault, Requirement::Host]);
        let surface = Surface::new(&registry, &satisfied, &SurfaceRules::default());
        TokenScale { surface, tokenizer: bpe_openai::o200k_base() }
    }

    pub(crate) fn weigh(&self, case: &CorpusCase) -> ReceiptSizes {
        let sink = CorpusRun::with(&case.artifacts);
        let forms = self.forms(case, &sink);
        let receipt = self.tokenizer.count(&*forms.receipt);
        let data = forms.data.as_ref().map(|data| self.tokenizer.count(&*data.to_string()));
        let tokens = ReceiptTokenCounts {
            receipt,
            compact: self.tokenizer.count(&*serde_json::to_string(&forms.canonical).unwrap()),
            pretty: self.tokenizer.count(&*serde_json::to_string_pretty(&forms.canonical).unwrap()),
            data: data.unwrap_or_default(),
            receipt_of_data: data.map_or(0, |_| receipt),
            estimated: estimate(&forms.receipt),
        };
        let missing = case.facts.iter().filter(|fact| !forms.receipt.contains(*fact)).cloned().collect();
        let ResultForms { family, budget, receipt, .. } = forms;
        ReceiptSizes { name: case.name, family, budget, receipt, tokens, missing }
    }

    fn forms(&self, case: &CorpusCase, sink: &CorpusRun) -> ResultForms {
        match &case.call {
            CorpusCall::Answered { tool, data } => {
                let entry = self.surface.resolve(tool).unwrap();
                let family = entry.decl.family;
                let budget = family.default_budget() as usize;
                let mapped = entry.tool.remap(data, Projection::new(budget, Some(sink))).unwrap();
                let problems = entry.output.validate(&mapped.data);
                assert!(problems.is_empty(), "{}: {problems:?}", case.name);
                ResultForms {
                    family: family.name(),
                    budget: Some(budget),
                    // Bytes as JSON cost says nothing useful.
                    data: Some(mapped.data).filter(|_| family != ReceiptFamily::External),
                    canonical: mapped.canonical,
                    receipt: mapped.receipt,
                }
            }
            CorpusCall::Failed { tool, fault, done } => {
                let canonical = failed::canonical(tool, fault, done.clone());
                let receipt = families::render(ReceiptFamily::External, &canonical, usize::MAX);
                ResultForms { family: "failure", budget: None, data: None, canonical, receipt }
            }
        }
    }
}

/// The artifacts of one run: those that a call left, and those that a projection keeps.
#[derive(Default)]
struct CorpusRun(Mutex<HashMap<String, File>>);

impl CorpusRun {
    fn with(artifacts: &[(&'static str, Vec<u8>)]) -> CorpusRun {
        let run = CorpusRun::default();
        for (path, content) in artifacts {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(content).unwrap();
            run.0.lock().unwrap().insert((*path).to_owned(), file);
        }
        run
    }
}

impl ArtifactSink for CorpusRun {
    fn create(&self, role: &str, extension: &str) -> Result<Option<OpenArtifact>, Fault> {
        let file = tempfile::tempfile().unwrap();
        Ok(Some(OpenArtifact { path: format!("artifacts/step-1-{role}.{extension}"), file }))
    }

    fn seal(&self, artifact: OpenArtifact, bytes: u64, hash: Hash) -> Result<Artifact, Fault> {
        self.0.lock().unwrap().insert(artifact.path.clone(), artifact.file);
        Ok(Artifact { path: artifact.path, bytes, hash })
    }

    fn discard(&self, artifact: &Artifact) {
        self.0.lock().unwrap().remove(&artifact.path);
    }

    fn open(&self, path: &str) -> Result<File, Fault> {
        let mut file = self.0.lock().unwrap().get(path).unwrap().try_clone().unwrap();
        file.rewind().unwrap();
        Ok(file)
    }
}
