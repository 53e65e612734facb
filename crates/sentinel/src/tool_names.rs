//! The names of the tools of one request.

use std::collections::HashMap;

/// Known tool names, and which tools are strict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolNames {
    strict: HashMap<String, bool>,
}

impl ToolNames {
    /// Whether a tool is strict; `None` if no tool has exactly this name.
    pub fn is_strict(&self, name: &str) -> Option<bool> {
        self.strict.get(name).copied()
    }

    /// Whether a block that is not a call is a failure, by its name as far as it could be read.
    pub(super) fn is_failure(&self, name: Option<&str>) -> bool {
        let mut all = self.strict.values();
        match name {
            None => all.any(|strict| *strict),
            Some(name) => self.is_strict(name).unwrap_or_else(|| all.len() > 0 && all.all(|strict| *strict)),
        }
    }
}

impl<N: Into<String>> FromIterator<(N, bool)> for ToolNames {
    /// Collects pairs of a name and whether the tool is strict. Of two pairs with one name the later counts.
    fn from_iter<I: IntoIterator<Item = (N, bool)>>(tools: I) -> ToolNames {
        ToolNames { strict: tools.into_iter().map(|(name, strict)| (name.into(), strict)).collect() }
    }
}
