//! The tools of a run as its folder remembers them.

use envelope::{Catalog, SchemaProblem, ToolDecl, distinct_alias};
use serde_json::Value;

/// Answers from recorded declarations alone, so that a run can be derived again on a machine that has
/// none of its tools.
pub(crate) struct RecordedTools<'a>(pub &'a [ToolDecl]);

impl Catalog for RecordedTools<'_> {
    fn tool(&self, name: &str) -> Option<&ToolDecl> {
        let named = self.0.iter().find(|tool| tool.name.as_str() == name || tool.alias() == name);
        // The second of two tools that are spelled alike without dots.
        named.or_else(|| self.0.iter().find(|tool| distinct_alias(tool.name.as_str()) == name))
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|tool| tool.name.as_str()).collect()
    }

    fn blocked(&self, _name: &str) -> Option<String> {
        None
    }

    /// The plan passed its check when it was recorded; what matters now is what follows from it.
    fn check_input(&self, _name: &str, _args: &Value) -> Vec<SchemaProblem> {
        Vec::new()
    }
}
