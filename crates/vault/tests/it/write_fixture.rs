//! Fixture for tests of writing tools: a vault, and calls made as the engine makes them.
//!
//! Every call is checked for what holds always: a refusal and a dry run leave the vault byte for byte
//! unchanged, the changes made are those of the recorded intent, and all removed content was stored.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use envelope::{CallId, DataRef, Fault, Hash, VaultChange};
use expect_test::Expect;
use serde_json::{Value, json};
use toolkit::{CancelToken, ObjectStore, Projection, ReconcileOutcome, Registry, ToolCx};
use vault::{Vault, register};

pub(crate) struct WriteFixture {
    pub(crate) folder: tempfile::TempDir,
    registry: Registry,
    kept: Arc<ContentStore>,
}

/// All stored content, by its hash.
#[derive(Default)]
struct ContentStore(Mutex<BTreeMap<String, Vec<u8>>>);

impl ObjectStore for ContentStore {
    fn keep(&self, content: &mut dyn Read) -> Result<DataRef, Fault> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).unwrap();
        let kept = DataRef { hash: Hash::of(&bytes), bytes: bytes.len() as u64 };
        self.0.lock().unwrap().insert(kept.hash.to_string(), bytes);
        Ok(kept)
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        into.write_all(&self.0.lock().unwrap()[&wanted.hash.to_string()]).unwrap();
        Ok(())
    }
}

impl WriteFixture {
    pub(crate) fn new(files: &[(&str, &str)]) -> WriteFixture {
        // In memory if possible: these tests are not about the disk.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            put(&path, content.as_bytes());
        }
        let mut registry = Registry::new();
        register(&mut registry, Some(Arc::new(Vault::open(folder.path()).unwrap()))).unwrap();
        WriteFixture { folder, registry, kept: Arc::default() }
    }

    fn cx(&self) -> ToolCx {
        ToolCx::with_store(
            CallId::parse("call").unwrap(),
            CancelToken::new(),
            None,
            Some(self.kept.clone() as Arc<dyn ObjectStore>),
        )
    }

    /// Calls a tool. Returns the receipt, the output without file times and the effects, or the fault with its
    /// hint.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> String {
        let entry = self.registry.get(tool).unwrap();
        let problems = entry.input.validate(&args);
        assert!(problems.is_empty(), "{problems:?}");
        let (cx, before) = (self.cx(), self.tree());
        let result = async {
            let mut decoded = entry.tool.decode(&args)?;
            entry.tool.validate(&cx, &mut decoded).await?;
            let preview = entry.tool.preview(&decoded);
            assert_eq!(preview.lines().count(), 1, "{preview}");
            let intent = entry.tool.intend(&cx, &mut decoded).await;
            Ok::<_, Fault>((
                preview,
                intent,
                entry.tool.run(&cx, decoded).await?.map(Projection::new(1_000, None))?,
            ))
        };
        let result = result.await;
        let seen = cx.take_report();
        match result {
            Ok((preview, intent, mapped)) => {
                assert_eq!(seen.changes, intent, "what was intended was done");
                assert!(args["dryRun"] != true || intent.is_empty());
                assert_eq!(self.tree() == before, intent.is_empty(), "a change shows, and nothing else does");
                self.assert_kept(&intent);
                let problems = entry.output.validate(&mapped.data);
                assert!(problems.is_empty(), "{problems:?}");
                let mut data = mapped.data;
                without_times(&mut data);
                let mut shown = format!("{preview}\n{}\n{data}\n", mapped.receipt);
                if !seen.effects.is_empty() {
                    shown.push_str(&format!("{}\n", serde_json::to_value(&seen.effects).unwrap()));
                }
                shown
            }
            Err(fault) => {
                assert_eq!(self.tree(), before, "a refusal changes nothing: {fault}");
                assert!(seen.changes.is_empty());
                format!("{}: {fault}; {}\n", fault.failure.code(), fault.recovery_hint())
            }
        }
    }

    pub(crate) async fn check(&self, tool: &str, args: Value, expected: Expect) {
        expected.assert_eq(&self.call(tool, args).await);
    }

    /// Returns the reconciliation of a call before its work, after it, and after another program wrote to `path`.
    pub(crate) async fn reconciled(&self, tool: &str, args: Value, path: &str) -> String {
        let tool = &self.registry.get(tool).unwrap().tool;
        let (cx, decode) = (self.cx(), || tool.decode(&args).unwrap());
        let intent = tool.intend(&cx, &mut decode()).await;
        let mut shown = format!("{}\n", verdict(tool.reconcile(&self.cx(), &decode(), &intent).await));
        tool.run(&cx, decode()).await.unwrap();
        let after = self.cx();
        shown.push_str(&format!("{}\n", verdict(tool.reconcile(&after, &decode(), &intent).await)));
        assert_eq!(after.take_report().changes, cx.take_report().changes, "the record is the same");
        put(&self.folder.path().join(path), b"edited since");
        shown.push_str(&format!("{}\n", verdict(tool.reconcile(&self.cx(), &decode(), &intent).await)));
        shown
    }

    /// Returns the result of a call if another program writes to `path` after the call was prepared.
    pub(crate) async fn overtaken(&self, tool: &str, args: Value, path: &str) -> String {
        let tool = &self.registry.get(tool).unwrap().tool;
        let (cx, mut decoded) = (self.cx(), tool.decode(&args).unwrap());
        assert!(!tool.intend(&cx, &mut decoded).await.is_empty());
        put(&self.folder.path().join(path), b"theirs");
        let before = self.tree();
        let Err(fault) = tool.run(&cx, decoded).await else { panic!("{args} was made unread") };
        assert_eq!(self.tree(), before);
        assert!(cx.take_report().changes.is_empty());
        format!("{}: {fault}; {}\n", fault.failure.code(), fault.recovery_hint())
    }

    fn assert_kept(&self, changes: &[VaultChange]) {
        let kept = self.kept.0.lock().unwrap();
        for change in changes {
            for lost in change.overwritten_states() {
                assert!(kept.contains_key(&lost.hash.to_string()), "{change:?}");
            }
        }
    }

    pub(crate) fn text(&self, path: &str) -> String {
        String::from_utf8(std::fs::read(self.folder.path().join(path)).unwrap()).unwrap()
    }

    /// Returns every name in the vault, hidden ones too, with mode and content, or the target of a link.
    pub(crate) fn tree(&self) -> BTreeMap<String, String> {
        let mut tree = BTreeMap::new();
        let mut todo = vec![self.folder.path().to_owned()];
        while let Some(folder) = todo.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let meta = std::fs::symlink_metadata(&path).unwrap();
                let shown = if meta.is_dir() {
                    todo.push(path.clone());
                    "folder".to_owned()
                } else if meta.is_symlink() {
                    format!("link to {}", std::fs::read_link(&path).unwrap().display())
                } else {
                    let content = std::fs::read(&path).unwrap();
                    format!("{:o} {}", meta.permissions().mode() & 0o7777, content.escape_ascii())
                };
                let name = path.strip_prefix(self.folder.path()).unwrap().to_str().unwrap().to_owned();
                tree.insert(name, shown);
            }
        }
        tree
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.tree().into_keys().collect()
    }
}

pub(crate) fn put(path: &Path, content: &[u8]) {
    std::fs::File::create(path).unwrap().write_all(content).unwrap();
}

/// Returns `args` with further fields or other values.
pub(crate) fn with(args: &Value, more: Value) -> Value {
    let mut args = args.as_object().unwrap().clone();
    args.extend(more.as_object().unwrap().clone());
    json!(args)
}

fn verdict(reconciled: ReconcileOutcome<toolkit::RawOutput>) -> String {
    match reconciled {
        ReconcileOutcome::Happened(output) => {
            let mapped = output.map(Projection::new(1_000, None)).unwrap();
            let mut data = mapped.data;
            without_times(&mut data);
            format!("happened: {} {data}", mapped.canonical.summary_text)
        }
        ReconcileOutcome::DidNot { .. } => "did not happen".to_owned(),
        ReconcileOutcome::Unknown { why } => format!("unknown: {why}"),
    }
}

fn without_times(output: &mut Value) {
    output.as_object_mut().unwrap().retain(|name, value| {
        assert!(name != "mtimeMs" || value.as_i64().unwrap() > 1_600_000_000_000);
        name != "mtimeMs"
    });
}
