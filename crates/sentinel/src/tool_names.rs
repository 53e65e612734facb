//! The names of the tools of one request.
//!
//! A model is given one name for each tool. It may also write the name that the client uses (`weather.get`) or the last part
//! of it (`get`): such another name counts if it belongs to one tool only.

use std::collections::HashMap;

/// Known tool names, and which tools are strict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolNames {
    strict: HashMap<String, bool>,
    /// Other names, with the name of their tool; `None` if two tools have the same one.
    others: HashMap<String, Option<String>>,
}

impl ToolNames {
    /// Adds another name of a tool. It has no effect if it is the name of a tool, or another name of another one.
    pub fn add_other_name(&mut self, other: impl Into<String>, name: &str) {
        let entry = self.others.entry(other.into()).or_insert_with(|| Some(name.to_owned()));
        if entry.as_deref() != Some(name) {
            *entry = None;
        }
    }

    /// Returns the name that the model was given for a tool, and whether the tool is strict. `None` if no tool has this name,
    /// or if several have.
    pub fn resolve<'a>(&'a self, name: &'a str) -> Option<(&'a str, bool)> {
        if let Some(strict) = self.strict.get(name) {
            return Some((name, *strict));
        }
        let name = self.others.get(name)?.as_deref()?;
        self.strict.get(name).map(|strict| (name, *strict))
    }

    /// Whether a tool is strict; `None` if no tool has this name.
    pub fn is_strict(&self, name: &str) -> Option<bool> {
        self.resolve(name).map(|(_, strict)| strict)
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
        ToolNames {
            strict: tools.into_iter().map(|(name, strict)| (name.into(), strict)).collect(),
            others: HashMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ToolNames;

    #[test]
    fn another_name_counts_if_it_belongs_to_one_tool_and_is_no_name() {
        let mut names: ToolNames = [("a_get", false), ("b_get", true), ("put", false)].into_iter().collect();
        for (other, name) in [
            ("a.get", "a_get"),
            ("get", "a_get"),
            ("b.get", "b_get"),
            ("get", "b_get"),
            ("set", "a_get"),
            ("put", "a_get"),
            ("b.get", "b_get"),
        ] {
            names.add_other_name(other, name);
        }
        let resolved =
            ["a_get", "a.get", "b.get", "get", "set", "put", "gone"].map(|name| names.resolve(name));
        assert_eq!(
            resolved,
            [
                Some(("a_get", false)),
                Some(("a_get", false)),
                Some(("b_get", true)),
                None,
                Some(("a_get", false)),
                Some(("put", false)),
                None,
            ]
        );
    }
}
