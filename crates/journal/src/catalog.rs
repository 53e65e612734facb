//! The tool catalog of a recorded run.

use envelope::{SchemaProblem, ToolCatalog, ToolDecl, distinct_alias};
use serde_json::Value;

/// A catalog of recorded declarations, so that a run can be replayed on a machine without its tools.
pub(crate) struct RecordedTools<'a>(pub &'a [ToolDecl]);

impl ToolCatalog for RecordedTools<'_> {
    fn tool(&self, name: &str) -> Option<&ToolDecl> {
        let named = self.0.iter().find(|tool| tool.name.as_str() == name || tool.alias() == name);
        // If two tools have the same alias, the second one has a distinct alias.
        named.or_else(|| self.0.iter().find(|tool| distinct_alias(tool.name.as_str()) == name))
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|tool| tool.name.as_str()).collect()
    }

    fn blocked(&self, _name: &str) -> Option<String> {
        None
    }

    /// Always empty: the plan passed its check when it was recorded.
    fn check_input(&self, _name: &str, _args: &Value) -> Vec<SchemaProblem> {
        Vec::new()
    }
}
