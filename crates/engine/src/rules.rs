//! Rules a person writes: which tools, on which paths, up to which risk, are allowed, asked about or denied.

mod pattern;

use envelope::{Risk, VaultPath};
use globset::{GlobBuilder, GlobMatcher};
use pattern::{Below, PathPattern};
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, Reach};

/// What a rule says about the calls it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleEffect {
    Allow,
    Ask,
    Deny,
}

/// One rule. All conditions that it names must hold; a condition that it leaves out always holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Rule {
    pub effect: RuleEffect,
    /// Globs over tool names, such as `vault.*`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Globs over vault paths, such as `Private/**`. A rule that allows needs all paths of the call to
    /// match; one that asks or denies needs one, or something below one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// Shown to whoever meets the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A rule that cannot be used as written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule {number}: {what}")]
pub struct BadRule {
    /// Counted from 1, in the order of the settings file.
    pub number: usize,
    pub what: String,
}

pub(crate) struct CompiledRule {
    pub(crate) rule: Rule,
    pub(crate) number: usize,
    tools: Vec<GlobMatcher>,
    paths: Vec<PathPattern>,
}

impl CompiledRule {
    pub(crate) fn compile(number: usize, rule: Rule) -> Result<CompiledRule, BadRule> {
        let bad = |what: String| BadRule { number, what };
        if rule.tools.is_empty() && rule.paths.is_empty() && rule.risk.is_none() {
            return Err(bad(
                "it names no `tools`, `paths` or `risk`; to let everything through set `mode`".to_owned()
            ));
        }
        let tools =
            rule.tools.iter().map(|pattern| tool_glob(pattern).map_err(bad)).collect::<Result<_, _>>()?;
        let paths = rule
            .paths
            .iter()
            .map(|pattern| PathPattern::compile(pattern).map_err(bad))
            .collect::<Result<_, _>>()?;
        Ok(CompiledRule { rule, number, tools, paths })
    }

    /// Whether the rule speaks about a call of this tool, whatever its paths.
    pub(crate) fn names_tool(&self, tool: &str, risk: Risk) -> bool {
        (self.tools.is_empty() || self.tools.iter().any(|glob| glob.is_match(tool)))
            && self.rule.risk.is_none_or(|limit| match self.rule.effect {
                RuleEffect::Allow => risk <= limit,
                RuleEffect::Ask | RuleEffect::Deny => risk >= limit,
            })
    }

    pub(crate) fn has_paths(&self) -> bool {
        !self.paths.is_empty()
    }

    pub(crate) fn matches(&self, tool: &str, risk: Risk, paths: &PathKeys) -> bool {
        if !self.names_tool(tool, risk) {
            return false;
        }
        if self.paths.is_empty() {
            return true;
        }
        match self.rule.effect {
            // A call that names no path cannot be shown to stay within the allowed ones.
            RuleEffect::Allow => paths.all().next().is_some() && paths.all().all(|reach| self.covers(reach)),
            RuleEffect::Ask | RuleEffect::Deny => paths.all().any(|reach| self.touches(reach)),
        }
    }

    fn covers(&self, reach: &Reach) -> bool {
        match reach {
            Reach::Vault => false,
            Reach::File(path) | Reach::Folder(path) | Reach::Path(path) => {
                self.paths.iter().any(|pattern| pattern.covers(path))
            }
        }
    }

    fn touches(&self, reach: &Reach) -> bool {
        match reach {
            // A call over the whole vault reaches whatever the rule protects.
            Reach::Vault => true,
            Reach::File(path) => self.touches_path(path, Below::Nothing),
            Reach::Folder(path) => self.touches_path(path, Below::Anything),
            Reach::Path(path) => self.touches_path(path, Below::AsItLooks),
        }
    }

    fn touches_path(&self, path: &VaultPath, below: Below) -> bool {
        self.paths.iter().any(|pattern| pattern.touches(path, below))
    }

    /// "rule 2 (private notes)": how messages name it.
    pub(crate) fn label(&self) -> String {
        match &self.rule.reason {
            Some(reason) => format!("rule {} ({reason})", self.number),
            None => format!("rule {}", self.number),
        }
    }
}

/// Tool names are plain ASCII and closed; whoever writes a rule should not have to know how they are cased.
fn tool_glob(pattern: &str) -> Result<GlobMatcher, String> {
    GlobBuilder::new(pattern)
        .case_insensitive(true)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| format!("`{pattern}` is not a glob: {}", error.kind()))
}
