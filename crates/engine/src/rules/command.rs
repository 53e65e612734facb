//! The part of a rule that speaks about commands: a prefix, held to its own examples.

use toolkit::command_line::{CommandLine, Prefix, SimpleCommand, Stance, judge_examples};

use super::{Rule, RuleEffect};

/// A prefix that does what its rule says of it.
pub(super) struct CommandRule {
    prefix: Prefix,
}

impl CommandRule {
    /// A rule that fails its own examples is not loaded: nobody could say what it does.
    pub(super) fn compile(rule: &Rule) -> Result<Option<CommandRule>, String> {
        let Some(words) = &rule.command else {
            let has_examples = !rule.matching.is_empty() || !rule.not_matching.is_empty();
            return match has_examples {
                true => Err("it has examples but no `command` that they could be about".to_owned()),
                false => Ok(None),
            };
        };
        let prefix = Prefix::compile(words)?;
        let stance = match rule.effect {
            RuleEffect::Allow => Stance::Allows,
            RuleEffect::Ask | RuleEffect::Deny => Stance::Restricts,
        };
        if rule.effect == RuleEffect::Allow
            && let Some(why) = prefix.cannot_allow()
        {
            return Err(why);
        }
        if rule.effect != RuleEffect::Ask && (rule.matching.is_empty() || rule.not_matching.is_empty()) {
            return Err("a rule about commands needs a command line in `match` and one in `not_match`: \
                        they are tried when it is loaded"
                .to_owned());
        }
        judge_examples(&prefix, stance, &rule.matching, &rule.not_matching)?;
        Ok(Some(CommandRule { prefix }))
    }

    /// For rules that ask or deny: one command of the line is enough.
    pub(super) fn touches(&self, line: &CommandLine) -> bool {
        self.prefix.speaks_of(line, Stance::Restricts)
    }

    /// For rules that allow: one command of the line, which another rule may have to complete.
    pub(super) fn allows(&self, command: &SimpleCommand) -> bool {
        self.prefix.allows(command)
    }
}
