//! The tools that one run can see, and the visibility of each.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use envelope::{Failure, Fault, Requirement, SchemaProblem, ToolCatalog, ToolDecl, nearest_tool};
use serde_json::Value;

use crate::literal_paths::path_problems;
use crate::{RegisteredTool, Registry};

/// Rules for the visibility of tools, besides their requirements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SurfaceRules {
    /// Hidden tools by name or alias, each with the reason to report.
    pub blocked: Vec<(String, String)>,
    /// Tools that are listed by name and summary only, until they are loaded.
    pub deferred: BTreeSet<String>,
}

/// Visibility of a tool in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolVisibility {
    Loaded,
    Blocked {
        reason: String,
    },
    /// Name and summary only: a long list of schemas would crowd out the task.
    Deferred,
}

/// The tools of one run. Shared behind one `Arc`: a tool that one caller loads, all can call.
#[derive(Debug)]
pub struct Surface {
    /// In name order.
    slots: Vec<ToolSlot>,
    /// Index by name and by alias.
    by_name: HashMap<String, usize>,
    /// Version of the registry; computed once, since every confirmation and call is bound to it.
    version: String,
}

#[derive(Debug)]
struct ToolSlot {
    entry: Arc<RegisteredTool>,
    blocked: Option<String>,
    /// Only changes from false to true, and no other state depends on it, so no memory ordering is needed.
    loaded: AtomicBool,
}

impl Surface {
    pub fn new(registry: &Registry, satisfied: &BTreeSet<Requirement>, rules: &SurfaceRules) -> Surface {
        let mut slots = Vec::new();
        let mut by_name = HashMap::new();
        for entry in registry.iter() {
            let named = |name: &str| name == entry.decl.name.as_str() || name == entry.alias();
            let rule = rules.blocked.iter().find(|(name, _)| named(name)).map(|(_, reason)| reason.clone());
            let blocked = rule.or_else(|| unmet(&entry.decl, satisfied));
            let deferred = rules.deferred.iter().any(|name| named(name));
            by_name.insert(entry.decl.name.as_str().to_owned(), slots.len());
            by_name.insert(entry.alias().to_owned(), slots.len());
            slots.push(ToolSlot { entry: entry.clone(), blocked, loaded: AtomicBool::new(!deferred) });
        }
        Surface { slots, by_name, version: registry.version() }
    }

    /// Returns the tool to call. Fails with the reason why it cannot be called and a hint.
    pub fn resolve(&self, name: &str) -> Result<&Arc<RegisteredTool>, Fault> {
        let slot = self.slot(name).ok_or_else(|| self.unknown(name))?;
        match slot.visibility() {
            ToolVisibility::Loaded => Ok(&slot.entry),
            ToolVisibility::Blocked { reason } => Err(slot.refuse(Failure::BlockedTool, &reason)),
            ToolVisibility::Deferred => Err(slot
                .refuse(Failure::SchemaNotLoaded, "its schema has not been loaded")
                .hint(format!("load the schema of `{}`, then call it again", slot.name()))),
        }
    }

    /// Makes a deferred tool callable and returns it, so that its schema can be shown. Idempotent.
    pub fn load(&self, name: &str) -> Result<&Arc<RegisteredTool>, Fault> {
        if let Some(slot) = self.slot(name).filter(|slot| slot.blocked.is_none()) {
            slot.loaded.store(true, Ordering::Relaxed);
        }
        self.resolve(name)
    }

    /// Iterates over all tools with their visibility, in name order.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<RegisteredTool>, ToolVisibility)> {
        self.slots.iter().map(|slot| (&slot.entry, slot.visibility()))
    }

    /// Returns the version of the registry that this surface was made from.
    pub fn version(&self) -> &str {
        &self.version
    }

    fn slot(&self, name: &str) -> Option<&ToolSlot> {
        self.by_name.get(name).map(|&index| &self.slots[index])
    }

    fn unknown(&self, name: &str) -> Fault {
        let shown: String = name.chars().take(80).flat_map(char::escape_debug).collect();
        let fault = Fault::new(Failure::UnknownTool, format!("no tool is named `{shown}`"));
        match nearest_tool(name, self.names()) {
            Some(meant) => fault.hint(format!("did you mean `{meant}`?")).detail("nearest", meant),
            None => fault,
        }
    }
}

impl ToolSlot {
    fn name(&self) -> &str {
        self.entry.decl.name.as_str()
    }

    fn visibility(&self) -> ToolVisibility {
        match &self.blocked {
            Some(reason) => ToolVisibility::Blocked { reason: reason.clone() },
            None if self.loaded.load(Ordering::Relaxed) => ToolVisibility::Loaded,
            None => ToolVisibility::Deferred,
        }
    }

    fn refuse(&self, failure: Failure, reason: &str) -> Fault {
        Fault::new(failure, format!("`{}` cannot be used in this run: {reason}", self.name()))
            .detail("tool", self.name())
            .detail("reason", reason)
    }
}

/// A plan is checked against the same tools that a call would find.
impl ToolCatalog for Surface {
    fn tool(&self, name: &str) -> Option<&ToolDecl> {
        self.slot(name).map(|slot| &*slot.entry.decl)
    }

    fn names(&self) -> Vec<&str> {
        self.slots.iter().filter(|slot| slot.blocked.is_none()).map(ToolSlot::name).collect()
    }

    fn blocked(&self, name: &str) -> Option<String> {
        match self.slot(name)?.visibility() {
            ToolVisibility::Loaded => None,
            ToolVisibility::Blocked { reason } => Some(reason),
            ToolVisibility::Deferred => {
                Some("its schema has not been loaded; load it, then plan with it".to_owned())
            }
        }
    }

    fn check_input(&self, name: &str, args: &Value) -> Vec<SchemaProblem> {
        self.slot(name).map(|slot| slot.entry.check_args(args)).unwrap_or_default()
    }

    fn check_values(&self, name: &str, args: &Value) -> Vec<SchemaProblem> {
        self.slot(name).map(|slot| path_problems(&slot.entry.decl, args)).unwrap_or_default()
    }
}

/// Returns the unmet requirements of a tool as text.
fn unmet(decl: &ToolDecl, satisfied: &BTreeSet<Requirement>) -> Option<String> {
    let missing: Vec<&str> = decl
        .availability
        .iter()
        .filter(|requirement| !satisfied.contains(requirement))
        .map(|requirement| match requirement {
            Requirement::Vault => "an open vault",
            Requirement::Host => "a running application",
            Requirement::CommandSandbox => "a sandbox for commands",
            Requirement::Server => "the server it belongs to",
        })
        .collect();
    if missing.is_empty() {
        None
    } else {
        Some(format!("it needs {}, which this run does not have", missing.join(" and ")))
    }
}
