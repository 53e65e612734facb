//! Examples that a rule about commands carries: lines it must speak about, and lines it must not.

use super::{CommandLine, Prefix, SimpleCommand, is_harmless};

/// Which of the two readings of a prefix a rule uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stance {
    /// As narrow as possible: every command of the line has to be allowed, and nothing may be in doubt.
    Allows,
    /// As wide as possible: one command of the line is enough.
    Restricts,
}

impl Prefix {
    /// Whether the prefix, by itself, speaks about the whole line.
    pub fn speaks_of(&self, line: &CommandLine, stance: Stance) -> bool {
        match stance {
            Stance::Allows => {
                let covers = |command: &SimpleCommand| {
                    self.allows(command) && (!command.piped || is_harmless(&command.argv))
                };
                line.opaque.is_none()
                    && line.is_words_only()
                    && !line.commands.is_empty()
                    && line.commands.iter().all(covers)
            }
            Stance::Restricts => line.commands.iter().any(|command| self.mentions(command)),
        }
    }
}

/// Tries the examples of a rule on the rule itself. The first one that comes out wrong is named.
pub fn judge_examples(
    prefix: &Prefix,
    stance: Stance,
    matching: &[String],
    not_matching: &[String],
) -> Result<(), String> {
    let speaks = |text: &String| prefix.speaks_of(&CommandLine::of_shell(text, Vec::new()), stance);
    if let Some(missed) = matching.iter().find(|text| !speaks(text)) {
        return Err(format!("`match` has `{missed}`, which the rule does not match{}", why_not(stance)));
    }
    if let Some(caught) = not_matching.iter().find(|text| speaks(text)) {
        return Err(format!("`not_match` has `{caught}`, which the rule matches"));
    }
    Ok(())
}

/// What people who wrote a rule for a program and any arguments need to know.
fn why_not(stance: Stance) -> &'static str {
    match stance {
        Stance::Allows => {
            "; it covers its own words and options that are known to be harmless: name more words, or end with \
             `\"*\"` for one word or `\"...\"` for any number"
        }
        Stance::Restricts => "",
    }
}
