//! The registry of all tools, each checked and compiled once.
//!
//! A tool is registered with compiled schemas and checked conventions, or not at all. The registry knows nothing of
//! a run: the surface decides which tools one run can see.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use envelope::{Hash, SchemaProblem, ToolDecl, ToolName, distinct_alias};
use serde_json::Value;

use crate::any_tool::TypedToolAdapter;
use crate::common_args::{SplitArgs, common_texts};
use crate::compiled_tools::CompiledTools;
use crate::conventions::{check_conventions, check_timeout, explicit_required};
use crate::json_tool::JsonToolAdapter;
use crate::{AnyTool, CompiledSchema, JsonTool, StagedTool};

/// Changed when the digest is computed differently, so that an old confirmation does not match a new one.
const VERSION_FORMAT: &str = "1.0";
/// Length of the digest, 64 bits: short enough for a user to compare, long enough that a working tool cannot be
/// crafted to match.
const VERSION_DIGITS: usize = 16;

/// A registered tool: its declaration, its compiled schemas, and the tool.
pub struct RegisteredTool {
    pub decl: Arc<ToolDecl>,
    /// The tool's own arguments; [`RegisteredTool::check_args`] also knows the common ones.
    pub input: Arc<CompiledSchema>,
    pub output: Arc<CompiledSchema>,
    pub tool: Arc<dyn AnyTool>,
    /// Name for providers and clients that reject dots, dashes or long names.
    alias: String,
    digest: Hash,
}

/// All reasons why a tool was not registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{tool}` cannot be registered:\n- {}", problems.join("\n- "))]
pub struct RegistrationError {
    pub tool: String,
    pub problems: Vec<String>,
}

/// The tools by name, in name order, and by alias.
#[derive(Default)]
pub struct Registry {
    entries: BTreeMap<ToolName, Arc<RegisteredTool>>,
    /// Names and aliases in one namespace, so that no name can mean two tools.
    by_name: HashMap<String, Arc<RegisteredTool>>,
    compiled: CompiledTools,
}

impl Registry {
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Returns an empty registry that takes compiled schemas from a cache.
    pub fn with_compiled(compiled: &CompiledTools) -> Registry {
        Registry { compiled: compiled.clone(), ..Registry::default() }
    }

    /// Registers a tool, or returns everything that prevents it.
    pub fn register<T: StagedTool>(&mut self, tool: T) -> Result<(), RegistrationError> {
        let tool: Arc<dyn AnyTool> = Arc::new(TypedToolAdapter::new(tool));
        let entry = self
            .checked(tool)
            .map_err(|problems| RegistrationError { tool: T::NAME.to_owned(), problems })?;
        self.insert(entry);
        Ok(())
    }

    /// Registers a tool with external schemas, or returns everything that prevents it. Its schemas are screened and
    /// compiled like any other; the conventions do not apply to it. If its alias is taken, it gets a longer one.
    pub fn register_json_tool(&mut self, tool: Arc<dyn JsonTool>) -> Result<(), RegistrationError> {
        let decl = tool.decl().clone();
        let mut problems = Vec::new();
        if self.by_name.contains_key(decl.name.as_str()) {
            problems.push(format!("name: `{}` is registered already", decl.name));
        }
        check_timeout(&decl, &mut problems);
        let usual = [decl.alias(), distinct_alias(decl.name.as_str())];
        let alias = usual.into_iter().find(|alias| !self.by_name.contains_key(alias));
        let alias = alias.unwrap_or_else(|| {
            problems.push("name: every spelling of it without dots is another tool's".to_owned());
            String::new()
        });
        let name = decl.name.to_string();
        let entry = self
            .entry(decl, Arc::new(JsonToolAdapter(tool)), alias, problems)
            .map_err(|problems| RegistrationError { tool: name, problems })?;
        self.insert(entry);
        Ok(())
    }

    fn insert(&mut self, entry: RegisteredTool) {
        let entry = Arc::new(entry);
        self.by_name.insert(entry.alias.clone(), entry.clone());
        self.by_name.insert(entry.decl.name.as_str().to_owned(), entry.clone());
        self.entries.insert(entry.decl.name.clone(), entry);
    }

    fn checked(&self, tool: Arc<dyn AnyTool>) -> Result<RegisteredTool, Vec<String>> {
        let mut decl = tool.decl().map_err(|bad| vec![format!("name: {bad}")])?;
        explicit_required(&mut decl.input_schema);
        explicit_required(&mut decl.output_schema);
        let mut problems = self.collisions(&decl);
        problems.extend(check_conventions(&decl));
        let alias = decl.alias();
        self.entry(decl, tool, alias, problems)
    }

    /// Creates the entry of a tool, or returns its problems, including those found before.
    fn entry(
        &self,
        decl: ToolDecl,
        tool: Arc<dyn AnyTool>,
        alias: String,
        mut problems: Vec<String>,
    ) -> Result<RegisteredTool, Vec<String>> {
        match self.compiled.compile(decl) {
            Ok(compiled) if problems.is_empty() => Ok(RegisteredTool {
                decl: compiled.decl.clone(),
                input: compiled.input.clone(),
                output: compiled.output.clone(),
                tool,
                alias,
                digest: digest(&compiled.decl),
            }),
            Ok(_) => Err(problems),
            Err(refused) => {
                problems.extend(refused);
                Err(problems)
            }
        }
    }

    fn collisions(&self, decl: &ToolDecl) -> Vec<String> {
        let alias = decl.alias();
        if self.entries.contains_key(&decl.name) {
            return vec![format!("name: `{}` is registered already", decl.name)];
        }
        let mut problems = Vec::new();
        for spelling in [decl.name.as_str(), alias.as_str()] {
            if let Some(other) = self.by_name.get(spelling) {
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
    pub fn get(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.by_name.get(name)
    }

    /// Iterates over the tools in name order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<RegisteredTool>> {
        self.entries.values()
    }

    /// Returns the version that a confirmation binds. It changes whenever a tool is added, removed, or changes its
    /// meaning.
    pub fn version(&self) -> String {
        let parts: Vec<&[u8]> =
            self.entries.values().map(|entry| entry.digest.as_bytes().as_slice()).collect();
        let mut text = Hash::of_parts(&parts).to_string();
        text.truncate("b3:".len() + VERSION_DIGITS);
        format!("{VERSION_FORMAT}+{text}")
    }
}

impl RegisteredTool {
    pub fn alias(&self) -> &str {
        &self.alias
    }

    /// Returns every problem of the arguments of a call; empty if they are valid. Accepts the arguments of the tool, and
    /// `note` and `requestId`, which every tool takes.
    pub fn check_args(&self, args: &Value) -> Vec<SchemaProblem> {
        let split = SplitArgs::of(&self.decl.input_schema, args);
        let mut problems = self.input.validate(&split.own);
        problems.extend(split.problems());
        problems
    }

    /// Returns the caller's remark for people, if the arguments contain one.
    pub fn note<'a>(&self, args: &'a Value) -> Option<&'a str> {
        common_texts(&self.decl.input_schema, args).0
    }

    /// Returns the id of the call in the caller's own records, if the arguments contain one.
    pub fn request_id<'a>(&self, args: &'a Value) -> Option<&'a str> {
        common_texts(&self.decl.input_schema, args).1
    }
}

impl fmt::Debug for RegisteredTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("decl", &self.decl).finish_non_exhaustive()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.entries.keys()).finish()
    }
}

/// Returns the parts of a declaration that define the meaning of a call, without descriptive texts.
fn digest(decl: &ToolDecl) -> Hash {
    envelope::canonical_hash(&serde_json::json!([
        decl.name,
        decl.version,
        decl.risk_level,
        decl.input_schema,
        decl.output_schema,
    ]))
}
