//! What the tests share: a vault on disk, a headless host on it, and the tools of both, called as the gate
//! calls them.
pub(crate) mod fake_editor;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use envelope::{CallId, DataRef, Failure, Fault, Hash, VaultChange};
use host::{HeadlessHost, HostSettings, HostSlot, LocalClock};
use jiff::civil::date;
use serde_json::{Value, json};
use toolkit::{CancelToken, MappedResult, ObjectStore, Projection, Registry, ToolCx};
use vault::Vault;

/// What was kept, in memory.
#[derive(Default)]
pub(crate) struct Kept(Mutex<HashMap<Hash, Vec<u8>>>);

impl Kept {
    /// The texts that were kept, in order.
    pub(crate) fn texts(&self) -> Vec<String> {
        let kept = self.0.lock().unwrap();
        let mut texts: Vec<String> = kept.values().map(|c| String::from_utf8(c.clone()).unwrap()).collect();
        texts.sort();
        texts
    }
}

impl ObjectStore for Kept {
    fn keep(&self, content: &mut dyn Read) -> Result<DataRef, Fault> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).unwrap();
        let kept = DataRef { hash: Hash::of(&bytes), bytes: bytes.len() as u64 };
        self.0.lock().unwrap().insert(kept.hash, bytes);
        Ok(kept)
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        match self.0.lock().unwrap().get(&wanted.hash) {
            Some(bytes) => {
                into.write_all(bytes).unwrap();
                Ok(())
            }
            None => Err(Fault::new(Failure::NotFound, "nothing was kept")),
        }
    }
}

pub(crate) struct Bench {
    pub(crate) folder: Arc<tempfile::TempDir>,
    pub(crate) vault: Arc<Vault>,
    pub(crate) host: HostSlot,
    pub(crate) registry: Registry,
    pub(crate) kept: Arc<Kept>,
}

/// Sunday, 15 November 2026, five past nine.
pub(crate) fn clock() -> LocalClock {
    Arc::new(|| date(2026, 11, 15).at(9, 5, 0, 0))
}

impl Bench {
    pub(crate) fn new(files: &[(&str, &str)]) -> Bench {
        Bench::with(files, HostSettings::default(), true)
    }

    /// A host that leaves edits unsaved.
    pub(crate) fn unsaved(files: &[(&str, &str)]) -> Bench {
        Bench::with(files, HostSettings::default(), false)
    }

    pub(crate) fn with(files: &[(&str, &str)], settings: HostSettings, autosave: bool) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            put(&folder.path().join(path), content);
        }
        Bench::at(Arc::new(folder), settings, autosave)
    }

    /// Another process on the same folder.
    pub(crate) fn over(other: &Bench) -> Bench {
        Bench::at(other.folder.clone(), HostSettings::default(), true)
    }

    /// A vault with a slot of one's own.
    pub(crate) fn with_slot(files: &[(&str, &str)], slot: impl FnOnce(Arc<Vault>) -> HostSlot) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            put(&folder.path().join(path), content);
        }
        let vault = Arc::new(Vault::open(folder.path()).unwrap());
        let host = slot(vault.clone());
        let registry = registry(&vault, &host);
        Bench { folder: Arc::new(folder), vault, host, registry, kept: Arc::default() }
    }

    fn at(folder: Arc<tempfile::TempDir>, settings: HostSettings, autosave: bool) -> Bench {
        let vault = Arc::new(Vault::open(folder.path()).unwrap());
        let host = HostSlot::new(HeadlessHost::new(vault.clone(), settings, clock()).autosave(autosave));
        let registry = registry(&vault, &host);
        Bench { folder, vault, host, registry, kept: Arc::default() }
    }

    /// The same bench over an imagined vault.
    pub(crate) fn imagined(&self) -> Imagined {
        let vault = Arc::new(self.vault.with_overlay());
        let host = self.host.with_overlay(vault.clone());
        Imagined { registry: registry(&vault, &host) }
    }

    pub(crate) fn cx(&self) -> ToolCx {
        let call = CallId::parse("call").unwrap();
        ToolCx::with_store(call, CancelToken::new(), None, Some(self.kept.clone()))
    }

    /// A call as the gate makes it: the output or the fault, then what was seen to happen.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> String {
        let cx = self.cx();
        shown(&call(&self.registry, &cx, tool, &args).await, &cx)
    }

    /// The output alone, which must be one.
    pub(crate) async fn output(&self, tool: &str, args: Value) -> Value {
        call(&self.registry, &self.cx(), tool, &args).await.unwrap_or_else(|fault| panic!("{tool}: {fault}"))
    }

    /// What stands in the record and what a model reads, without the etag, which is long.
    pub(crate) async fn told(&self, tool: &str, args: Value) -> String {
        let mapped = mapped(&self.registry, &self.cx(), tool, &args).await.unwrap();
        let result = mapped.canonical.result.unwrap();
        let told = format!("{result}\n{}\n", mapped.receipt);
        match result.get("etag").and_then(Value::as_str) {
            Some(etag) => told.replace(etag, "ETAG"),
            None => told,
        }
    }

    pub(crate) async fn open(&self, path: &str) {
        self.output("workspace.openFile", json!({"path": path})).await;
    }

    pub(crate) async fn select(&self, from: (u32, u32), to: (u32, u32)) {
        let place = |(line, ch)| json!({"line": line, "ch": ch});
        self.output("editor.setSelection", json!({"from": place(from), "to": place(to)})).await;
    }

    /// The active note's selection as `0:1-0:4 text`.
    pub(crate) async fn selection(&self) -> String {
        let selected = self.output("editor.getSelection", json!({})).await;
        let place = |at: &str| format!("{}:{}", selected["range"][at]["line"], selected["range"][at]["ch"]);
        format!("{}-{} {}", place("from"), place("to"), selected["text"])
    }

    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(path)).unwrap()
    }

    /// Another program writes a file.
    pub(crate) fn write(&self, path: &str, content: &str) {
        put(&self.folder.path().join(path), content);
    }

    /// Every file with its content.
    pub(crate) fn files(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(self.folder.path()).unwrap().display().to_string();
                    files.push((name, std::fs::read_to_string(&path).unwrap()));
                }
            }
        }
        files.sort();
        files
    }
}

pub(crate) struct Imagined {
    registry: Registry,
}

impl Imagined {
    pub(crate) async fn call(&self, tool: &str, args: Value) -> String {
        let cx = ToolCx::new(CallId::parse("call").unwrap(), CancelToken::new(), None);
        shown(&call(&self.registry, &cx, tool, &args).await, &cx)
    }
}

fn registry(vault: &Arc<Vault>, host: &HostSlot) -> Registry {
    let mut registry = Registry::new();
    vault::register(&mut registry, Some(vault.clone())).unwrap();
    host::register(&mut registry, Some(host.clone())).unwrap();
    registry
}

/// The complete output of a call.
pub(crate) async fn call(registry: &Registry, cx: &ToolCx, tool: &str, args: &Value) -> Result<Value, Fault> {
    mapped(registry, cx, tool, args).await.map(|mapped| mapped.data)
}

/// The only place that calls a tool.
async fn mapped(registry: &Registry, cx: &ToolCx, tool: &str, args: &Value) -> Result<MappedResult, Fault> {
    let entry = registry.get(tool).unwrap_or_else(|| panic!("no tool {tool}"));
    let problems = entry.input.validate(args);
    assert!(problems.is_empty(), "{problems:?}");
    let mut args = entry.tool.decode(args)?;
    entry.tool.validate(cx, &mut args).await?;
    assert!(!entry.tool.preview(&args).is_empty());
    let intent =
        if entry.decl.risk_level.has_effects() { entry.tool.intend(cx, &mut args).await } else { Vec::new() };
    let budget = usize::try_from(entry.decl.family.default_budget()).unwrap();
    let mapped = entry.tool.run(cx, args).await?.map(Projection::new(budget, None))?;
    let problems = entry.output.validate(&mapped.data);
    assert!(problems.is_empty(), "{problems:?}");
    cx.with_report(|seen| {
        assert_eq!(seen.changes, intent, "what was done is what was written down");
        for effect in &seen.effects.side_effects_observed {
            assert!(entry.decl.side_effects.contains(effect), "{tool} does not declare {effect:?}");
        }
    });
    Ok(mapped)
}

fn shown(result: &Result<Value, Fault>, cx: &ToolCx) -> String {
    let mut text = match result {
        Ok(data) => {
            let mut data = data.clone();
            if let Some(fields) = data.as_object_mut() {
                fields.remove("etag");
                fields.remove("mtimeMs");
            }
            format!("{data}\n")
        }
        Err(fault) => format!("{}: {} | {}\n", fault.failure, fault.message, fault.recovery_hint()),
    };
    let seen = cx.take_report();
    for effect in &seen.effects.side_effects_observed {
        text.push_str(&format!("saw {}\n", json!(effect).as_str().unwrap()));
    }
    for change in &seen.changes {
        text.push_str(&format!("{}\n", told(change)));
    }
    text
}

fn told(change: &VaultChange) -> String {
    let paths: Vec<&str> = change.paths().collect();
    let name = serde_json::to_value(change).unwrap()["change"].as_str().unwrap().to_owned();
    format!("{name} {}", paths.join(" "))
}

pub(crate) fn put(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::File::create(path).unwrap().write_all(content.as_bytes()).unwrap();
}
