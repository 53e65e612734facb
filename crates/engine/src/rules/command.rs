//! The part of a rule that matches commands: a prefix, checked against its own examples, and the calls that it covers.

use command_line::{CommandLine, CommandPrefix, RulePurpose, SimpleCommand, check_examples, is_harmless};
use globset::{GlobBuilder, GlobMatcher};

use super::{Rule, RuleEffect};

/// Variables that can make a program start another one.
const DECIDING_VARIABLES: [&str; 14] = [
    "PATH",
    "HOME",
    "ENV",
    "IFS",
    "SHELL",
    "CDPATH",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "CC",
    "CXX",
    "GOFLAGS",
    "CLASSPATH",
];

/// Prefixes of the names of such variables.
const DECIDING_FAMILIES: [&str; 16] = [
    "LD_", "DYLD_", "GIT_", "BASH_", "PYTHON", "PERL", "RUBY", "NODE_", "NPM_", "CARGO_", "RUST", "LESS",
    "MAN", "MAKE", "XDG_", "SSH_",
];

/// A compiled command prefix that has passed the examples of its rule.
pub(super) struct CommandRule {
    prefix: CommandPrefix,
    /// Whether the rule covers the vault's root.
    root: bool,
    /// Folders below the root that the rule covers.
    workdirs: Vec<GlobMatcher>,
    stdin: bool,
    tty: bool,
    env: Vec<String>,
}

impl CommandRule {
    /// Returns an error if the rule contradicts its own examples, since its meaning is then unclear.
    pub(super) fn compile(rule: &Rule) -> Result<Option<CommandRule>, String> {
        check_call_fields(rule)?;
        let Some(words) = &rule.command else {
            let has_examples = !rule.matching.is_empty() || !rule.not_matching.is_empty();
            return match has_examples {
                true => Err("it has examples but no `command` that they could be about".to_owned()),
                false => Ok(None),
            };
        };
        let prefix = CommandPrefix::compile(words)?;
        let purpose = match rule.effect {
            RuleEffect::Allow => RulePurpose::Allows,
            RuleEffect::Ask | RuleEffect::Deny => RulePurpose::Restricts,
        };
        match rule.effect {
            RuleEffect::Allow => prefix.cannot_allow().map_or(Ok(()), Err)?,
            RuleEffect::Ask | RuleEffect::Deny if prefix.is_open() => {
                return Err(
                    "`...` is for rules that allow; this one holds for any further words as it is".to_owned()
                );
            }
            RuleEffect::Ask | RuleEffect::Deny => {}
        }
        if rule.effect != RuleEffect::Ask && (rule.matching.is_empty() || rule.not_matching.is_empty()) {
            return Err("a rule about commands needs a command line in `match` and one in `not_match`: \
                        they are tried when it is loaded"
                .to_owned());
        }
        check_examples(&prefix, purpose, &rule.matching, &rule.not_matching)?;
        let workdirs = rule.workdir.iter().map(|folder| folder_glob(folder)).collect::<Result<_, _>>()?;
        let names_root = |folder: &String| matches!(folder.trim_end_matches('/'), "." | "**");
        let root = rule.workdir.is_empty() || rule.workdir.iter().any(names_root);
        let (stdin, tty, env) = (rule.stdin, rule.tty, rule.env.clone());
        Ok(Some(CommandRule { prefix, root, workdirs, stdin, tty, env }))
    }

    /// Whether a rule that asks or denies matches: one command of the line is enough.
    pub(super) fn touches(&self, line: &CommandLine) -> bool {
        self.prefix.covers_line(line, RulePurpose::Restricts)
    }

    /// Whether a rule that allows covers one command of the line. The effect of a program depends on its folder and its
    /// input as much as on its words, so these must be covered too.
    pub(super) fn allows(&self, line: &CommandLine, command: &SimpleCommand) -> bool {
        self.covers_call(line)
            && self.prefix.allows(command)
            && (!command.piped || self.stdin || is_harmless(&command.argv))
    }

    fn covers_call(&self, line: &CommandLine) -> bool {
        let in_folder = match &line.workdir {
            None => self.root,
            Some(folder) => self.workdirs.iter().any(|glob| glob.is_match(folder)) && !leaves_vault(folder),
        };
        in_folder
            && !line.changes_folder
            && (self.stdin || !line.input.stdin)
            && (self.tty || !line.input.tty)
            && line.env.iter().all(|name| self.env.contains(name))
    }
}

/// Checks that `workdir`, `stdin`, `tty` and `env` are only in rules that allow a command: they widen such a rule, and
/// have no meaning elsewhere.
fn check_call_fields(rule: &Rule) -> Result<(), String> {
    let fields = [
        ("workdir", !rule.workdir.is_empty()),
        ("stdin", rule.stdin),
        ("tty", rule.tty),
        ("env", !rule.env.is_empty()),
    ];
    let Some((field, _)) = fields.into_iter().find(|(_, is_set)| *is_set) else {
        return Ok(());
    };
    if rule.command.is_none() {
        return Err(format!("it has `{field}` but no `command` that it could be about"));
    }
    if rule.effect != RuleEffect::Allow {
        return Err(format!(
            "`{field}` is for rules that allow; this one holds for every folder, input and variable as it is"
        ));
    }
    let decides = |name: &&String| {
        let upper = name.to_ascii_uppercase();
        DECIDING_VARIABLES.contains(&upper.as_str())
            || DECIDING_FAMILIES.iter().any(|family| upper.starts_with(family))
    };
    match rule.env.iter().find(decides) {
        Some(name) => {
            Err(format!("`env` has `{name}`, which can make a program start any other: it cannot be allowed"))
        }
        None => Ok(()),
    }
}

fn leaves_vault(workdir: &str) -> bool {
    workdir.starts_with('/') || workdir.split('/').any(|part| part == "..")
}

fn folder_glob(folder: &str) -> Result<GlobMatcher, String> {
    if folder.is_empty() || leaves_vault(folder) {
        return Err(format!(
            "`workdir` has `{folder}`; name folders of the vault, such as `scripts`, or `.` for its root"
        ));
    }
    GlobBuilder::new(folder.trim_end_matches('/'))
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| format!("`workdir` has `{folder}`, which is not a glob: {}", error.kind()))
}
