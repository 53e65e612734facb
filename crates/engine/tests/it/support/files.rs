//! A tool that replaces the text of made-up files and says beforehand what it would change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use envelope::{Fault, FileState, Hash, Idempotency, Requirement, Risk, SideEffect, VaultChange, VaultPath};
use receipts::families::external;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, ProjectedResult, Projection, Registry, Tool, ToolCx};

/// Files by path, with their text. All clones are the same files.
#[derive(Clone, Default)]
pub struct Files(Arc<Mutex<BTreeMap<String, String>>>);

impl Files {
    pub fn of(files: &[(&str, &str)]) -> Files {
        let own = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        Files(Arc::new(Mutex::new(files.iter().map(own).collect())))
    }

    pub fn put(&self, path: &str, text: &str) {
        self.0.lock().unwrap().insert(path.to_owned(), text.to_owned());
    }

    pub fn get(&self, path: &str) -> Option<String> {
        self.0.lock().unwrap().get(path).cloned()
    }

    /// Returns the change that saving a text would make.
    pub fn intent(&self, path: &str, text: &str) -> VaultChange {
        let after = state(text);
        match self.get(path) {
            Some(before) => {
                VaultChange::FileReplaced { path: path.to_owned(), before: state(&before), after }
            }
            None => VaultChange::FileCreated { path: path.to_owned(), after },
        }
    }
}

fn state(text: &str) -> FileState {
    FileState { hash: Hash::of(text.as_bytes()), bytes: text.len() as u64, mode: 0o644 }
}

struct Save(Files);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Args {
    /// The file.
    path: VaultPath,
    /// Its text.
    text: String,
    /// Report only.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    /// The file.
    path: String,
    /// Of its text.
    etag: String,
}

pub fn register(registry: &mut Registry, files: &Files) {
    registry.register(Save(files.clone())).unwrap();
}

impl Tool for Save {
    const NAME: &'static str = "test.save";
    const SUMMARY: &'static str = "Save a file";
    const CATEGORY: &'static str = "test";
    const RISK: Risk = Risk::Writes;
    const SIDE_EFFECTS: &'static [SideEffect] = &[SideEffect::CreateFile, SideEffect::ModifyFile];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Vault];

    type Args = Args;
    type Output = Output;

    fn paths(&self, args: &Args) -> PathKeys {
        PathKeys::write(&args.path)
    }

    fn is_dry_run(&self, args: &Args) -> bool {
        args.dry_run
    }

    fn preview(&self, args: &Args) -> String {
        format!("Save {}", args.path)
    }

    async fn intend(&self, _cx: &ToolCx, args: &Args) -> Vec<VaultChange> {
        if args.dry_run { Vec::new() } else { vec![self.0.intent(args.path.as_str(), &args.text)] }
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        if !args.dry_run {
            cx.changed(self.0.intent(args.path.as_str(), &args.text));
            self.0.put(args.path.as_str(), &args.text);
        }
        Ok(Output { path: args.path.to_string(), etag: state(&args.text).etag() })
    }

    fn summary(&self, output: &Output) -> String {
        format!("Saved {}", output.path)
    }

    fn project(&self, output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        external::project(output, with)
    }
}
