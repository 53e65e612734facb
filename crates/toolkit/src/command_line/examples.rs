//! Examples that a rule about commands carries: lines it must speak about, and lines it must not.

use super::{CommandLine, Prefix};

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
                line.opaque.is_none()
                    && line.env.is_empty()
                    && !line.commands.is_empty()
                    && line.commands.iter().all(|command| self.allows(command))
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
        return Err(format!("`match` has `{missed}`, which the rule does not match"));
    }
    if let Some(caught) = not_matching.iter().find(|text| speaks(text)) {
        return Err(format!("`not_match` has `{caught}`, which the rule matches"));
    }
    Ok(())
}
