//! Calls made the way the gate makes them: schema, decoding, values, paths, preview, intent, work, mapping.

use std::path::Path;
use std::sync::Arc;

use envelope::{CallId, Change, Failure, Fault};
use serde_json::Value;
use toolkit::families::Projection;
use toolkit::{CancelToken, Entry, Mapped, ObjectStore, Reconciled, Registry, ToolCx};
use vault::{Vault, register};

use crate::kept::Kept;

pub(crate) struct Gate {
    registry: Registry,
    store: Arc<Kept>,
    threads: tokio::runtime::Runtime,
}

/// How a call ended, and what it did by then.
pub(crate) struct Outcome {
    pub(crate) result: Result<Mapped, Fault>,
    /// What was written down before the work.
    pub(crate) intent: Vec<Change>,
    /// What was done.
    pub(crate) changes: Vec<Change>,
}

impl Outcome {
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.result.as_ref().err().map(|fault| fault.failure)
    }

    /// `done`, or the name of the failure.
    pub(crate) fn verdict(&self) -> String {
        self.failure().map_or_else(|| "done".to_owned(), |failure| failure.to_string())
    }

    /// Everything that anyone is told of the call.
    pub(crate) fn said(&self) -> String {
        match &self.result {
            Ok(mapped) => format!("{} {} {}", mapped.data, mapped.canonical.summary_text, mapped.receipt),
            Err(fault) => format!("{} {:?} {}", fault.message, fault.details, fault.recovery_hint()),
        }
    }
}

impl Gate {
    /// A gate before the vault in `folder`; what is overwritten is kept in `store`.
    pub(crate) fn new(folder: &Path, store: &Path) -> Gate {
        let mut registry = Registry::new();
        register(&mut registry, Some(Arc::new(Vault::open(folder).unwrap()))).unwrap();
        let threads = tokio::runtime::Builder::new_current_thread().build().unwrap();
        Gate { registry, store: Arc::new(Kept::at(store)), threads }
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.registry.iter()
    }

    pub(crate) fn store(&self) -> &Kept {
        &self.store
    }

    fn cx(&self) -> ToolCx {
        let store: Arc<dyn ObjectStore> = self.store.clone();
        ToolCx::with_store(CallId::parse("call").unwrap(), CancelToken::new(), None, Some(store))
    }

    pub(crate) fn call(&self, tool: &str, args: &Value) -> Outcome {
        self.call_noting(tool, args, |_| {})
    }

    /// A call whose intent somebody writes down before the work begins.
    pub(crate) fn call_noting(&self, tool: &str, args: &Value, note: impl FnOnce(&[Change])) -> Outcome {
        let (entry, cx) = (self.registry.get(tool).unwrap(), self.cx());
        let mut intent = Vec::new();
        let result = self.threads.block_on(async {
            if let Some(problem) = entry.input.validate(args).first() {
                return Err(Fault::new(Failure::SchemaValidationFailed, format!("{problem:?}")));
            }
            let decoded = entry.tool.decode(args)?;
            entry.tool.validate(&cx, &decoded).await?;
            entry.tool.paths(&decoded);
            let preview = entry.tool.preview(&decoded);
            // Whatever is in the arguments, the person who is asked reads one plain line.
            assert!(!preview.is_empty() && !preview.chars().any(char::is_control), "{tool}: {preview:?}");
            intent = entry.tool.intend(&cx, &decoded).await;
            note(&intent);
            let mapped = entry.tool.run(&cx, decoded).await?.map(Projection::new(1_000, None))?;
            let problems = entry.output.validate(&mapped.data);
            assert!(problems.is_empty(), "{tool} {args}: {problems:?}");
            Ok(mapped)
        });
        Outcome { result, intent, changes: cx.take_seen().changes }
    }

    /// What can be found out about a call that was interrupted: `happened`, `did not` or `unknown`.
    pub(crate) fn reconcile(&self, tool: &str, args: &Value, intent: &[Change]) -> &'static str {
        let entry = self.registry.get(tool).unwrap();
        let decoded = entry.tool.decode(args).unwrap();
        let cx = self.cx();
        match self.threads.block_on(entry.tool.reconcile(&cx, &decoded, intent)) {
            Reconciled::Happened(_) => "happened",
            Reconciled::DidNot => "did not",
            Reconciled::Unknown { .. } => "unknown",
        }
    }
}
