//! Every tool there is, checked and compiled once.
//!
//! A tool enters with its schemas compiled and its conventions checked, or not at all. The registry knows
//! nothing of a run: which of its tools one run may see is the surface's business.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use envelope::{Hash, ToolDecl, ToolName, distinct_alias};

use crate::any_tool::Erased;
use crate::conventions::{check_conventions, check_timeout, explicit_required};
use crate::foreign::Foreign;
use crate::{AnyTool, CompiledSchema, ForeignTool, Tool};

/// Changes when the digest is computed differently, so that an old confirmation is not taken for a new one.
const VERSION_FORMAT: &str = "1.0";
/// 64 bits: a person can compare them, and nobody can aim at them with a tool that still does its work.
const VERSION_DIGITS: usize = 16;

/// A registered tool: what it says about itself, its compiled schemas, and the tool.
pub struct Entry {
    pub decl: Arc<ToolDecl>,
    pub input: CompiledSchema,
    pub output: CompiledSchema,
    pub tool: Arc<dyn AnyTool>,
    /// The spelling for providers and clients that refuse dots, dashes or long names.
    alias: String,
    digest: Hash,
}

/// Why a tool was not registered: everything at once.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{tool}` cannot be registered:\n- {}", problems.join("\n- "))]
pub struct Refused {
    pub tool: String,
    pub problems: Vec<String>,
}

/// The tools by name, in name order, and by every spelling.
#[derive(Default)]
pub struct Registry {
    entries: BTreeMap<ToolName, Arc<Entry>>,
    /// Names and aliases. One table, so that no spelling can mean two tools.
    spellings: HashMap<String, Arc<Entry>>,
}

impl Registry {
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Takes a tool in, or says everything that keeps it out.
    pub fn register<T: Tool>(&mut self, tool: T) -> Result<(), Refused> {
        let tool: Arc<dyn AnyTool> = Arc::new(Erased::new(tool));
        let entry = self.checked(tool).map_err(|problems| Refused { tool: T::NAME.to_owned(), problems })?;
        self.insert(entry);
        Ok(())
    }

    /// Takes a tool in that was not written here, or says everything that keeps it out. Its schemas are screened and
    /// compiled like any other; how it words itself is its own affair. A spelling that is taken already becomes a
    /// longer one.
    pub fn register_foreign(&mut self, tool: Arc<dyn ForeignTool>) -> Result<(), Refused> {
        let decl = tool.decl().clone();
        let mut problems = Vec::new();
        if self.spellings.contains_key(decl.name.as_str()) {
            problems.push(format!("name: `{}` is registered already", decl.name));
        }
        check_timeout(&decl, &mut problems);
        let usual = [decl.alias(), distinct_alias(decl.name.as_str())];
        let alias = usual.into_iter().find(|alias| !self.spellings.contains_key(alias));
        let alias = alias.unwrap_or_else(|| {
            problems.push("name: every spelling of it without dots is another tool's".to_owned());
            String::new()
        });
        let name = decl.name.to_string();
        let entry = compiled(decl, Arc::new(Foreign(tool)), alias, problems)
            .map_err(|problems| Refused { tool: name, problems })?;
        self.insert(entry);
        Ok(())
    }

    fn insert(&mut self, entry: Entry) {
        let entry = Arc::new(entry);
        self.spellings.insert(entry.alias.clone(), entry.clone());
        self.spellings.insert(entry.decl.name.as_str().to_owned(), entry.clone());
        self.entries.insert(entry.decl.name.clone(), entry);
    }

    fn checked(&self, tool: Arc<dyn AnyTool>) -> Result<Entry, Vec<String>> {
        let mut decl = tool.decl().map_err(|bad| vec![format!("name: {bad}")])?;
        explicit_required(&mut decl.input_schema);
        explicit_required(&mut decl.output_schema);
        let mut problems = self.collisions(&decl);
        problems.extend(check_conventions(&decl));
        let alias = decl.alias();
        compiled(decl, tool, alias, problems)
    }

    fn collisions(&self, decl: &ToolDecl) -> Vec<String> {
        let alias = decl.alias();
        if self.entries.contains_key(&decl.name) {
            return vec![format!("name: `{}` is registered already", decl.name)];
        }
        let mut problems = Vec::new();
        for spelling in [decl.name.as_str(), alias.as_str()] {
            if let Some(other) = self.spellings.get(spelling) {
                problems.push(format!(
                    "name: `{spelling}` would also mean `{}`; without dots both are `{}`",
                    other.decl.name, other.alias
                ));
            }
        }
        problems.dedup();
        problems
    }

    /// Finds a tool by its name or alias.
    pub fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        self.spellings.get(name)
    }

    /// The tools in name order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.values()
    }

    /// What a confirmation binds: changes whenever a tool appears, goes, or means something else.
    pub fn version(&self) -> String {
        let parts: Vec<&[u8]> =
            self.entries.values().map(|entry| entry.digest.as_bytes().as_slice()).collect();
        let mut text = Hash::of_parts(&parts).to_string();
        text.truncate("b3:".len() + VERSION_DIGITS);
        format!("{VERSION_FORMAT}+{text}")
    }
}

impl Entry {
    pub fn alias(&self) -> &str {
        &self.alias
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("decl", &self.decl).finish_non_exhaustive()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.entries.keys()).finish()
    }
}

/// The entry of a tool whose problems are known so far, or all of them.
fn compiled(
    decl: ToolDecl,
    tool: Arc<dyn AnyTool>,
    alias: String,
    mut problems: Vec<String>,
) -> Result<Entry, Vec<String>> {
    let input = CompiledSchema::compile(&decl.input_schema);
    let output = CompiledSchema::compile(&decl.output_schema);
    match (input, output) {
        (Ok(input), Ok(output)) if problems.is_empty() => {
            let digest = digest(&decl);
            Ok(Entry { decl: Arc::new(decl), input, output, tool, alias, digest })
        }
        (input, output) => {
            problems.extend(input.err().map(|refused| format!("input: {refused}")));
            problems.extend(output.err().map(|refused| format!("output: {refused}")));
            Err(problems)
        }
    }
}

/// What a call of the tool means: the declaration without what is only said about it.
fn digest(decl: &ToolDecl) -> Hash {
    envelope::canonical_hash(&serde_json::json!([
        decl.name,
        decl.version,
        decl.risk_level,
        decl.input_schema,
        decl.output_schema,
    ]))
}
