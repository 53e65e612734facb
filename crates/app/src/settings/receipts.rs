//! `[receipts]` as it is parsed: the largest budget in tokens, and the budget of each family.

use engine::ReceiptLimits;
use envelope::ReceiptFamily;
use serde::Deserialize;
use toml::Spanned;

/// A family that is not named keeps its own budget.
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
    /// Returns the budgets. Fails with the offset of the first invalid one, and the reason.
    pub(super) fn resolve(&self) -> Result<ReceiptLimits, (usize, String)> {
        let mut receipts = ReceiptLimits::default();
        if let Some(most) = &self.max_tokens {
            receipts.max_tokens = check_minimum(most, "max_tokens")?;
        }
        for family in ReceiptFamily::ALL {
            let Some(given) = self.of(family) else { continue };
            let (tokens, most) = (check_minimum(given, family.name())?, receipts.max_tokens);
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

    fn of(&self, family: ReceiptFamily) -> Option<&Spanned<u32>> {
        match family {
            ReceiptFamily::Command => self.command.as_ref(),
            ReceiptFamily::Task => self.task.as_ref(),
            ReceiptFamily::Mutation => self.mutation.as_ref(),
            ReceiptFamily::Read => self.read.as_ref(),
            ReceiptFamily::Listing => self.listing.as_ref(),
            ReceiptFamily::Search => self.search.as_ref(),
            ReceiptFamily::Links => self.links.as_ref(),
            ReceiptFamily::Editor => self.editor.as_ref(),
            ReceiptFamily::Workspace => self.workspace.as_ref(),
            ReceiptFamily::HostCommand => self.host_command.as_ref(),
            ReceiptFamily::Text => self.text.as_ref(),
            ReceiptFamily::Artifact => self.artifact.as_ref(),
            ReceiptFamily::External => self.external.as_ref(),
        }
    }
}

fn check_minimum(given: &Spanned<u32>, name: &str) -> Result<u32, (usize, String)> {
    let (tokens, least) = (*given.get_ref(), ReceiptLimits::MIN_TOKENS);
    if tokens < least {
        let why = format!("`receipts.{name}` cannot be {tokens}: a receipt needs at least {least} tokens");
        return Err((given.span().start, why));
    }
    Ok(tokens)
}
