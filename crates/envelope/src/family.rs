//! The families of tools, by what their results look like.

use serde::{Deserialize, Serialize};

/// Which projector bounds a tool's results and which renderer words them.
///
/// Part of the declaration, so that a record can be shown again years later without the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// A command that ran, or goes on as a task.
    Command,
    /// A look at, or a word to, a background task.
    Task,
    /// Files that were made, changed or removed.
    Mutation,
    /// The content of a file.
    Read,
    /// Names of files.
    Listing,
    /// Places that match.
    Search,
    /// Links between notes, and what a rename did to them.
    Links,
    /// The note that is open, its selection and its text.
    Editor,
    /// What is open where.
    Workspace,
    /// Commands of the host application.
    HostCommand,
    /// Text that was taken apart or put together.
    Text,
    /// A piece of an artifact.
    Artifact,
    /// Everything that was not written here.
    #[default]
    External,
}

impl Family {
    pub const ALL: [Family; 13] = [
        Family::Command,
        Family::Task,
        Family::Mutation,
        Family::Read,
        Family::Listing,
        Family::Search,
        Family::Links,
        Family::Editor,
        Family::Workspace,
        Family::HostCommand,
        Family::Text,
        Family::Artifact,
        Family::External,
    ];

    /// As it stands in declarations and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Command => "command",
            Family::Task => "task",
            Family::Mutation => "mutation",
            Family::Read => "read",
            Family::Listing => "listing",
            Family::Search => "search",
            Family::Links => "links",
            Family::Editor => "editor",
            Family::Workspace => "workspace",
            Family::HostCommand => "host_command",
            Family::Text => "text",
            Family::Artifact => "artifact",
            Family::External => "external",
        }
    }

    /// Tokens that a receipt of this family has unless the caller or the policy says otherwise.
    pub const fn default_budget(self) -> u32 {
        match self {
            // A failing build or test has to fit with its cause.
            Family::Command | Family::Task | Family::Artifact | Family::Read => 2_000,
            Family::Search | Family::External | Family::Text => 1_500,
            Family::Listing | Family::Links | Family::Editor => 1_000,
            Family::Mutation | Family::Workspace | Family::HostCommand => 500,
        }
    }
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Family;

    #[test]
    fn every_family_is_written_as_it_is_named() {
        for family in Family::ALL {
            assert_eq!(serde_json::to_value(family).unwrap(), family.name());
            assert!(family.default_budget() >= 500);
        }
    }
}
