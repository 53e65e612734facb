//! `[receipts]` as it is written: the most tokens that a receipt may have, and what each family has.

use engine::Receipts;
use envelope::Family;
use serde::Deserialize;
use toml::Spanned;

/// Only what is written changes; every family that is not named keeps its own budget.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ReceiptsTable {
    max_tokens: Option<Spanned<u32>>,
    command: Option<Spanned<u32>>,
    task: Option<Spanned<u32>>,
    mutation: Option<Spanned<u32>>,
    read: Option<Spanned<u32>>,
    listing: Option<Spanned<u32>>,
    search: Option<Spanned<u32>>,
    links: Option<Spanned<u32>>,
    editor: Option<Spanned<u32>>,
    workspace: Option<Spanned<u32>>,
    host_command: Option<Spanned<u32>>,
    text: Option<Spanned<u32>>,
    artifact: Option<Spanned<u32>>,
    external: Option<Spanned<u32>>,
}

impl ReceiptsTable {
    /// The budgets, or the first one that cannot be, with its place and why.
    pub(super) fn resolve(&self) -> Result<Receipts, (usize, String)> {
        let mut receipts = Receipts::default();
        if let Some(most) = &self.max_tokens {
            receipts.max_tokens = enough(most, "max_tokens")?;
        }
        for family in Family::ALL {
            let Some(given) = self.of(family) else { continue };
            let (tokens, most) = (enough(given, family.name())?, receipts.max_tokens);
            if tokens > most {
                let why = format!(
                    "`receipts.{family}` cannot be {tokens}: no receipt may have more than `receipts.max_tokens`, which is {most}; raise that first"
                );
                return Err((given.span().start, why));
            }
            receipts.budgets.insert(family, tokens);
        }
        Ok(receipts)
    }

    fn of(&self, family: Family) -> Option<&Spanned<u32>> {
        match family {
            Family::Command => self.command.as_ref(),
            Family::Task => self.task.as_ref(),
            Family::Mutation => self.mutation.as_ref(),
            Family::Read => self.read.as_ref(),
            Family::Listing => self.listing.as_ref(),
            Family::Search => self.search.as_ref(),
            Family::Links => self.links.as_ref(),
            Family::Editor => self.editor.as_ref(),
            Family::Workspace => self.workspace.as_ref(),
            Family::HostCommand => self.host_command.as_ref(),
            Family::Text => self.text.as_ref(),
            Family::Artifact => self.artifact.as_ref(),
            Family::External => self.external.as_ref(),
        }
    }
}

fn enough(given: &Spanned<u32>, name: &str) -> Result<u32, (usize, String)> {
    let (tokens, least) = (*given.get_ref(), Receipts::LEAST);
    if tokens < least {
        let why = format!("`receipts.{name}` cannot be {tokens}: a receipt needs at least {least} tokens");
        return Err((given.span().start, why));
    }
    Ok(tokens)
}
