//! Examples of a rule about commands: lines that it must match, and lines that it must not.

use super::{CommandLine, CommandPrefix, SimpleCommand, is_harmless};

/// Purpose of a rule, which decides how its prefix is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RulePurpose {
    /// As narrow as possible: every command of the line has to be covered, and the line must not be opaque.
    Allows,
    /// As wide as possible: one command of the line is enough.
    Restricts,
}

impl CommandPrefix {
    /// Whether the prefix alone covers the whole line.
    pub fn covers_line(&self, line: &CommandLine, purpose: RulePurpose) -> bool {
        match purpose {
            RulePurpose::Allows => {
                let covers = |command: &SimpleCommand| {
                    self.allows(command) && (!command.piped || is_harmless(&command.argv))
                };
                line.opaque.is_none()
                    && line.is_words_only()
                    && !line.commands.is_empty()
                    && line.commands.iter().all(covers)
            }
            RulePurpose::Restricts => line.commands.iter().any(|command| self.restricts(command)),
        }
    }
}

/// Checks the examples of a rule against the rule. Fails with the first one that does not come out as expected.
pub fn check_examples(
    prefix: &CommandPrefix,
    purpose: RulePurpose,
    matching: &[String],
    not_matching: &[String],
) -> Result<(), String> {
    let speaks = |text: &String| prefix.covers_line(&CommandLine::of_shell(text, Vec::new()), purpose);
    if let Some(missed) = matching.iter().find(|text| !speaks(text)) {
        return Err(format!("`match` has `{missed}`, which the rule does not match{}", why_not(purpose)));
    }
    if let Some(caught) = not_matching.iter().find(|text| speaks(text)) {
        return Err(format!("`not_match` has `{caught}`, which the rule matches"));
    }
    Ok(())
}

/// A hint for rules that name a program and expect it to cover any arguments.
fn why_not(purpose: RulePurpose) -> &'static str {
    match purpose {
        RulePurpose::Allows => {
            "; it covers its own words and options that are known to be harmless: name more words, or end with \
             `\"*\"` for one word or `\"...\"` for any number"
        }
        RulePurpose::Restricts => "",
    }
}
