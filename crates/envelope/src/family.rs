//! Families of tools, grouped by the shape of their results.

use serde::{Deserialize, Serialize};

/// Selects the projector that bounds a tool's results and the renderer of its receipts.
///
/// Part of the declaration, so that a record can be rendered years later without the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptFamily {
    /// A command that ran or continues as a background task.
    Command,
    /// A query or a command to a background task.
    Task,
    /// Files that were created, changed or removed.
    Mutation,
    /// The content of a file.
    Read,
    /// A list of file names.
    Listing,
    /// Search matches.
    Search,
    /// Links between notes, and how a rename changed them.
    Links,
    /// The note that is open, with its selection and its text.
    Editor,
    /// The layout of the workspace.
    Workspace,
    /// Commands of the host application.
    HostCommand,
    /// Text that was parsed or composed.
    Text,
    /// A part of an artifact.
    Artifact,
    /// Results of tools that are not part of Tollgate.
    #[default]
    External,
}

impl ReceiptFamily {
    pub const ALL: [ReceiptFamily; 13] = [
        ReceiptFamily::Command,
        ReceiptFamily::Task,
        ReceiptFamily::Mutation,
        ReceiptFamily::Read,
        ReceiptFamily::Listing,
        ReceiptFamily::Search,
        ReceiptFamily::Links,
        ReceiptFamily::Editor,
        ReceiptFamily::Workspace,
        ReceiptFamily::HostCommand,
        ReceiptFamily::Text,
        ReceiptFamily::Artifact,
        ReceiptFamily::External,
    ];

    /// Returns the name in declarations and settings.
    pub const fn name(self) -> &'static str {
        match self {
            ReceiptFamily::Command => "command",
            ReceiptFamily::Task => "task",
            ReceiptFamily::Mutation => "mutation",
            ReceiptFamily::Read => "read",
            ReceiptFamily::Listing => "listing",
            ReceiptFamily::Search => "search",
            ReceiptFamily::Links => "links",
            ReceiptFamily::Editor => "editor",
            ReceiptFamily::Workspace => "workspace",
            ReceiptFamily::HostCommand => "host_command",
            ReceiptFamily::Text => "text",
            ReceiptFamily::Artifact => "artifact",
            ReceiptFamily::External => "external",
        }
    }

    /// Returns the receipt's token budget, unless the caller or the policy sets another one.
    pub const fn default_budget(self) -> u32 {
        match self {
            // Who reads wants the text, and each further call costs more than a longer answer.
            ReceiptFamily::Read | ReceiptFamily::Artifact => 7_000,
            // A failing build or test must fit together with its cause.
            ReceiptFamily::Command | ReceiptFamily::Task => 2_400,
            // The names of the fields take half of a list in its structured form.
            ReceiptFamily::Search | ReceiptFamily::Listing | ReceiptFamily::Links => 3_000,
            ReceiptFamily::External | ReceiptFamily::Text => 1_500,
            ReceiptFamily::Editor => 1_000,
            ReceiptFamily::Mutation | ReceiptFamily::Workspace | ReceiptFamily::HostCommand => 500,
        }
    }
}

impl std::fmt::Display for ReceiptFamily {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::ReceiptFamily;

    #[test]
    fn every_family_is_written_as_it_is_named() {
        for family in ReceiptFamily::ALL {
            assert_eq!(serde_json::to_value(family).unwrap(), family.name());
            assert!(family.default_budget() >= 500);
        }
    }
}
