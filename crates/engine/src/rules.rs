//! The user's rules: which tools, on which paths and up to which risk, are allowed, asked about or denied.

mod built_in;
mod command;
mod path_glob;

use command::CommandRule;
use command_line::{CommandLine, PrefixWord, SimpleCommand};
use envelope::{Risk, ToolDecl, VaultPath};
use globset::{GlobBuilder, GlobMatcher};
use path_glob::{PathExtent, PathGlob};
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, PathScope};

pub(crate) use built_in::BuiltInRules;

/// The effect of a rule on the calls that it matches.
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
    /// The program and the words that must follow it, each a word, a list of alternatives, `*` for one word, or `...`
    /// at the end for any number. Matches only calls that run commands. A rule that allows needs every command of a
    /// line to be allowed, by it or by another, and covers no further words except those that are known to be harmless;
    /// one that asks or denies needs one command and is read widely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<PrefixWord>>,
    /// Globs over the folders of the vault in which a rule that allows covers the command, `.` for the root. Default:
    /// only the root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workdir: Vec<String>,
    /// Whether a rule that allows covers a call with standard input, given directly or by a pipe.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stdin: bool,
    /// Whether a rule that allows covers a call with a terminal.
    #[serde(default, skip_serializing_if = "is_false")]
    pub tty: bool,
    /// Environment variables that a call can set and still be covered by a rule that allows. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Command lines that the rule must match, tried when it is loaded.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matching: Vec<String>,
    /// Command lines that the rule must not match.
    #[serde(default, rename = "not_match", skip_serializing_if = "Vec::is_empty")]
    pub not_matching: Vec<String>,
    /// Shown in messages about the rule.
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
    paths: Vec<PathGlob>,
    command: Option<CommandRule>,
}

/// The properties of a call that rules can match.
#[derive(Clone, Copy)]
pub(crate) struct RuleSubject<'a> {
    pub(crate) tool: &'a ToolDecl,
    pub(crate) paths: &'a PathKeys,
    /// Set for a call that runs commands.
    pub(crate) command: Option<&'a CommandLine>,
    /// Whether the arguments ask for a dry run.
    pub(crate) dry_run: bool,
}

impl CompiledRule {
    pub(crate) fn compile(number: usize, rule: Rule) -> Result<CompiledRule, BadRule> {
        let bad = |what: String| BadRule { number, what };
        if rule.tools.is_empty() && rule.paths.is_empty() && rule.risk.is_none() && rule.command.is_none() {
            return Err(bad(
                "it names no `tools`, `paths`, `risk` or `command`; to let everything through set `mode`"
                    .to_owned(),
            ));
        }
        let tools =
            rule.tools.iter().map(|pattern| tool_glob(pattern).map_err(bad)).collect::<Result<_, _>>()?;
        let paths = rule
            .paths
            .iter()
            .map(|pattern| PathGlob::compile(pattern).map_err(bad))
            .collect::<Result<_, _>>()?;
        let command = CommandRule::compile(&rule).map_err(bad)?;
        Ok(CompiledRule { rule, number, tools, paths, command })
    }

    /// Whether the rule matches the tool and the risk of a call, whatever its paths.
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

    /// Whether the rule decides about the call by itself. One that allows commands does not: see
    /// [`CompiledRule::allows_command`].
    pub(crate) fn matches(&self, subject: RuleSubject<'_>) -> bool {
        let speaks_of_command = match (&self.command, subject.command, self.rule.effect) {
            // The effect of a command depends on its words, so a rule that allows the tool does not allow the command.
            (_, Some(_), RuleEffect::Allow) | (Some(_), None, _) => false,
            (Some(command), Some(line), RuleEffect::Ask | RuleEffect::Deny) => command.touches(line),
            (None, _, _) => true,
        };
        speaks_of_command && self.matches_place(subject)
    }

    /// Whether the rule allows one command of the call, in the folder and with the input of the call.
    pub(crate) fn allows_command(
        &self,
        subject: RuleSubject<'_>,
        line: &CommandLine,
        command: &SimpleCommand,
    ) -> bool {
        self.rule.effect == RuleEffect::Allow
            && self.command.as_ref().is_some_and(|rule| rule.allows(line, command))
            && self.matches_place(subject)
    }

    /// Whether the rule would deny a command of the call, or ask about it, if the words matched.
    pub(crate) fn could_restrict(&self, subject: RuleSubject<'_>) -> bool {
        self.rule.effect != RuleEffect::Allow && self.command.is_some() && self.matches_place(subject)
    }

    /// Whether the rule matches the tool and the paths of the call.
    fn matches_place(&self, subject: RuleSubject<'_>) -> bool {
        let RuleSubject { tool, paths, .. } = subject;
        if !self.names_tool(tool.name.as_str(), tool.risk_level) {
            return false;
        }
        if self.paths.is_empty() {
            return true;
        }
        match self.rule.effect {
            // A call without paths cannot be shown to stay within the allowed ones.
            RuleEffect::Allow => paths.all().next().is_some() && paths.all().all(|reach| self.covers(reach)),
            RuleEffect::Ask | RuleEffect::Deny => paths.all().any(|reach| self.touches(reach)),
        }
    }

    fn covers(&self, reach: &PathScope) -> bool {
        match reach {
            PathScope::Vault => false,
            PathScope::File(path) | PathScope::Folder(path) | PathScope::Path(path) => {
                self.paths.iter().any(|pattern| pattern.covers(path))
            }
        }
    }

    fn touches(&self, reach: &PathScope) -> bool {
        match reach {
            // A call over the whole vault reaches everything that the rule protects.
            PathScope::Vault => true,
            PathScope::File(path) => self.touches_path(path, PathExtent::Nothing),
            PathScope::Folder(path) => self.touches_path(path, PathExtent::Anything),
            PathScope::Path(path) => self.touches_path(path, PathExtent::AsItLooks),
        }
    }

    fn touches_path(&self, path: &VaultPath, below: PathExtent) -> bool {
        self.paths.iter().any(|pattern| pattern.touches(path, below))
    }

    /// Returns the name of the rule in messages, such as "rule 2 (private notes)".
    pub(crate) fn label(&self) -> String {
        match &self.rule.reason {
            Some(reason) => format!("rule {} ({reason})", self.number),
            None => format!("rule {}", self.number),
        }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Compiles a glob over tool names. Case is ignored: tool names are plain ASCII, and the author of a rule need not know
/// their case.
fn tool_glob(pattern: &str) -> Result<GlobMatcher, String> {
    GlobBuilder::new(pattern)
        .case_insensitive(true)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| format!("`{pattern}` is not a glob: {}", error.kind()))
}
