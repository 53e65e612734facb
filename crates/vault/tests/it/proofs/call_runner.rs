//! Makes calls as the engine does: schema, decoding, values, paths, preview, intent, work, mapping.

use std::path::Path;
use std::sync::Arc;

use envelope::{CallId, Failure, Fault, VaultChange};
use serde_json::Value;
use toolkit::{
    CancelToken, MappedResult, ObjectStore, Projection, ReconcileOutcome, RegisteredTool, Registry, ToolCx,
};
use vault::{Vault, register, register_restore};

use super::folder_store::FolderStore;

pub(crate) struct CallRunner {
    registry: Registry,
    store: Arc<FolderStore>,
    threads: tokio::runtime::Runtime,
}

/// RunnerOutcome of a call, with its changes.
pub(crate) struct RunnerOutcome {
    pub(crate) result: Result<MappedResult, Fault>,
    /// Changes recorded before the work.
    pub(crate) intent: Vec<VaultChange>,
    /// Changes made.
    pub(crate) changes: Vec<VaultChange>,
}

impl RunnerOutcome {
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.result.as_ref().err().map(|fault| fault.failure)
    }

    /// `done`, or the name of the failure.
    pub(crate) fn verdict(&self) -> String {
        self.failure().map_or_else(|| "done".to_owned(), |failure| failure.to_string())
    }

    /// Everything that a model or user reads of the call.
    pub(crate) fn said(&self) -> String {
        match &self.result {
            Ok(mapped) => format!("{} {} {}", mapped.data, mapped.canonical.summary_text, mapped.receipt),
            Err(fault) => format!("{} {:?} {}", fault.message, fault.details, fault.recovery_hint()),
        }
    }
}

impl CallRunner {
    /// An engine stand-in for the vault in `folder`; overwritten content is stored in `store`.
    pub(crate) fn new(folder: &Path, store: &Path) -> CallRunner {
        let mut registry = Registry::new();
        register(&mut registry, Some(Arc::new(Vault::open(folder).unwrap()))).unwrap();
        let threads = tokio::runtime::Builder::new_current_thread().build().unwrap();
        CallRunner { registry, store: Arc::new(FolderStore::at(store)), threads }
    }

    /// [`CallRunner::new`] with the tool of undo and redo.
    pub(crate) fn with_restore(folder: &Path, store: &Path) -> CallRunner {
        let mut runner = CallRunner::new(folder, store);
        register_restore(&mut runner.registry, Some(Arc::new(Vault::open(folder).unwrap()))).unwrap();
        runner
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = &Arc<RegisteredTool>> {
        self.registry.iter()
    }

    pub(crate) fn store(&self) -> &FolderStore {
        &self.store
    }

    fn cx(&self) -> ToolCx {
        let store: Arc<dyn ObjectStore> = self.store.clone();
        ToolCx::with_store(CallId::parse("call").unwrap(), CancelToken::new(), None, Some(store))
    }

    pub(crate) fn call(&self, tool: &str, args: &Value) -> RunnerOutcome {
        self.call_noting(tool, args, |_| {})
    }

    /// Makes a call whose intent is recorded before the work begins.
    pub(crate) fn call_noting(
        &self,
        tool: &str,
        args: &Value,
        note: impl FnOnce(&[VaultChange]),
    ) -> RunnerOutcome {
        let (entry, cx) = (self.registry.get(tool).unwrap(), self.cx());
        let mut intent = Vec::new();
        let result = self.threads.block_on(async {
            if let Some(problem) = entry.input.validate(args).first() {
                return Err(Fault::new(Failure::SchemaValidationFailed, format!("{problem:?}")));
            }
            let mut decoded = entry.tool.decode(args)?;
            entry.tool.validate(&cx, &mut decoded).await?;
            entry.tool.paths(&decoded);
            let preview = entry.tool.preview(&decoded);
            // Whatever the arguments contain, the user who is asked reads one plain line.
            assert!(!preview.is_empty() && !preview.chars().any(char::is_control), "{tool}: {preview:?}");
            intent = entry.tool.intend(&cx, &mut decoded).await;
            note(&intent);
            let mapped = entry.tool.run(&cx, decoded).await?.map(Projection::new(1_000, None))?;
            let problems = entry.output.validate(&mapped.data);
            assert!(problems.is_empty(), "{tool} {args}: {problems:?}");
            Ok(mapped)
        });
        RunnerOutcome { result, intent, changes: cx.take_report().changes }
    }

    /// Reconciles an interrupted call: `happened`, `did not` or `unknown`.
    pub(crate) fn reconcile(&self, tool: &str, args: &Value, intent: &[VaultChange]) -> &'static str {
        let entry = self.registry.get(tool).unwrap();
        let decoded = entry.tool.decode(args).unwrap();
        let cx = self.cx();
        match self.threads.block_on(entry.tool.reconcile(&cx, &decoded, intent)) {
            ReconcileOutcome::Happened(_) => "happened",
            ReconcileOutcome::DidNot { .. } => "did not",
            ReconcileOutcome::Unknown { .. } => "unknown",
        }
    }
}
