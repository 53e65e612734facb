//! The tools that one run can see, and in what state each of them is.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use envelope::{Catalog, Failure, Fault, Requirement, SchemaProblem, ToolDecl, nearest};
use serde_json::Value;

use crate::{Entry, Registry};

/// What a run is told about the tools beyond what its surroundings decide.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SurfaceRules {
    /// Tools this run may not see, by name or alias, each with the reason that is given.
    pub blocked: Vec<(String, String)>,
    /// Tools that are listed by name and summary only, until they are loaded.
    pub deferred: BTreeSet<String>,
}

/// How a run sees a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Visibility {
    Loaded,
    Blocked {
        reason: String,
    },
    /// Name and summary only: a long list of schemas would crowd out the task.
    Deferred,
}

/// The tools of one run. Shared behind one `Arc`: what one caller loads, all can call.
#[derive(Debug)]
pub struct Surface {
    /// In name order.
    slots: Vec<Slot>,
    /// Names and aliases.
    spellings: HashMap<String, usize>,
    /// Of the registry; taken once, since it is bound into every confirmation and call.
    version: String,
}

#[derive(Debug)]
struct Slot {
    entry: Arc<Entry>,
    blocked: Option<String>,
    /// Only ever goes from false to true, and nothing else depends on it, so no ordering is needed.
    loaded: AtomicBool,
}

impl Surface {
    pub fn new(registry: &Registry, satisfied: &BTreeSet<Requirement>, rules: &SurfaceRules) -> Surface {
        let mut slots = Vec::new();
        let mut spellings = HashMap::new();
        for entry in registry.iter() {
            let named = |name: &str| name == entry.decl.name.as_str() || name == entry.alias();
            let rule = rules.blocked.iter().find(|(name, _)| named(name)).map(|(_, reason)| reason.clone());
            let blocked = rule.or_else(|| unmet(&entry.decl, satisfied));
            let deferred = rules.deferred.iter().any(|name| named(name));
            spellings.insert(entry.decl.name.as_str().to_owned(), slots.len());
            spellings.insert(entry.alias().to_owned(), slots.len());
            slots.push(Slot { entry: entry.clone(), blocked, loaded: AtomicBool::new(!deferred) });
        }
        Surface { slots, spellings, version: registry.version() }
    }

    /// The tool to call, or why it cannot be called and what to do instead.
    pub fn resolve(&self, name: &str) -> Result<&Arc<Entry>, Fault> {
        let slot = self.slot(name).ok_or_else(|| self.unknown(name))?;
        match slot.visibility() {
            Visibility::Loaded => Ok(&slot.entry),
            Visibility::Blocked { reason } => Err(slot.refuse(Failure::BlockedTool, &reason)),
            Visibility::Deferred => Err(slot
                .refuse(Failure::SchemaNotLoaded, "its schema has not been loaded")
                .hint(format!("load the schema of `{}`, then call it again", slot.name()))),
        }
    }

    /// Makes a deferred tool callable, and returns it so that its schema can be shown. Loading twice is fine.
    pub fn load(&self, name: &str) -> Result<&Arc<Entry>, Fault> {
        if let Some(slot) = self.slot(name).filter(|slot| slot.blocked.is_none()) {
            slot.loaded.store(true, Ordering::Relaxed);
        }
        self.resolve(name)
    }

    /// Every tool with its state, in name order, for listings.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<Entry>, Visibility)> {
        self.slots.iter().map(|slot| (&slot.entry, slot.visibility()))
    }

    /// The version of the registry that this surface was made from.
    pub fn version(&self) -> &str {
        &self.version
    }

    fn slot(&self, name: &str) -> Option<&Slot> {
        self.spellings.get(name).map(|&index| &self.slots[index])
    }

    fn unknown(&self, name: &str) -> Fault {
        let shown: String = name.chars().take(80).flat_map(char::escape_debug).collect();
        let fault = Fault::new(Failure::UnknownTool, format!("no tool is named `{shown}`"));
        match nearest(name, self.names()) {
            Some(meant) => fault.hint(format!("did you mean `{meant}`?")).detail("nearest", meant),
            None => fault,
        }
    }
}

impl Slot {
    fn name(&self) -> &str {
        self.entry.decl.name.as_str()
    }

    fn visibility(&self) -> Visibility {
        match &self.blocked {
            Some(reason) => Visibility::Blocked { reason: reason.clone() },
            None if self.loaded.load(Ordering::Relaxed) => Visibility::Loaded,
            None => Visibility::Deferred,
        }
    }

    fn refuse(&self, failure: Failure, reason: &str) -> Fault {
        Fault::new(failure, format!("`{}` cannot be used in this run: {reason}", self.name()))
            .detail("tool", self.name())
            .detail("reason", reason)
    }
}

/// A plan is checked against what a call would meet.
impl Catalog for Surface {
    fn tool(&self, name: &str) -> Option<&ToolDecl> {
        self.slot(name).map(|slot| &*slot.entry.decl)
    }

    fn names(&self) -> Vec<&str> {
        self.slots.iter().filter(|slot| slot.blocked.is_none()).map(Slot::name).collect()
    }

    fn blocked(&self, name: &str) -> Option<String> {
        match self.slot(name)?.visibility() {
            Visibility::Loaded => None,
            Visibility::Blocked { reason } => Some(reason),
            Visibility::Deferred => {
                Some("its schema has not been loaded; load it, then plan with it".to_owned())
            }
        }
    }

    fn check_input(&self, name: &str, args: &Value) -> Vec<SchemaProblem> {
        self.slot(name).map(|slot| slot.entry.input.validate(args)).unwrap_or_default()
    }
}

/// What a tool lacks here, in words.
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
