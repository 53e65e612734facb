//! The tools of one request as far as finding calls needs them.

use std::collections::HashMap;

/// Which names are tools, and which of these are strict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolNames {
    strict: HashMap<String, bool>,
}

impl ToolNames {
    /// Whether a tool is strict; `None` when no tool has this name, byte for byte.
    pub fn strict(&self, name: &str) -> Option<bool> {
        self.strict.get(name).copied()
    }

    /// Whether a block that is no call is a failure, by what could be read of its name.
    pub(super) fn fails(&self, name: Option<&str>) -> bool {
        let mut all = self.strict.values();
        match name {
            None => all.any(|strict| *strict),
            Some(name) => self.strict(name).unwrap_or_else(|| all.len() > 0 && all.all(|strict| *strict)),
        }
    }
}

impl<N: Into<String>> FromIterator<(N, bool)> for ToolNames {
    /// Pairs of a name and whether the tool is strict. Of two pairs with one name the later counts.
    fn from_iter<I: IntoIterator<Item = (N, bool)>>(tools: I) -> ToolNames {
        ToolNames { strict: tools.into_iter().map(|(name, strict)| (name.into(), strict)).collect() }
    }
}
