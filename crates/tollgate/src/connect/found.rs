//! Which clients have been told to use Tollgate, read from the files that `connect` writes.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::client::{Client, Scope};
use super::edit::entries;
use super::entry::TOKEN_VARIABLE;
use super::file::Written;
use super::places::Homes;

/// An entry that names Tollgate.
#[derive(Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) client: Client,
    pub(crate) scope: Scope,
    pub(crate) file: PathBuf,
    pub(crate) name: String,
    pub(crate) entry: Value,
}

/// A file of a client that cannot be read.
#[derive(Debug, PartialEq)]
pub(crate) struct Unread {
    pub(crate) client: Client,
    pub(crate) file: PathBuf,
    pub(crate) why: String,
}

/// Looks through every file of every client, for the person and for these folders as projects.
pub(crate) fn find(homes: &Homes, projects: &[&Path]) -> Vec<Result<Found, Unread>> {
    let mut found = Vec::new();
    let mut seen: Vec<PathBuf> = Vec::new();
    for client in Client::ALL {
        let user = homes.file(client, Scope::User, Path::new("/")).map(|file| (Scope::User, file));
        let of_project = |folder: &&Path| Some((Scope::Project, homes.file(client, Scope::Project, folder)?));
        for (scope, file) in user.into_iter().chain(projects.iter().filter_map(of_project)) {
            if seen.contains(&file) {
                continue;
            }
            seen.push(file.clone());
            let text = match Written::read(&file) {
                Ok(Written { text: Some(text), .. }) => text,
                Ok(Written { text: None, .. }) => continue,
                Err(error) => {
                    found.push(Err(Unread { client, file, why: error.to_string() }));
                    continue;
                }
            };
            match entries(client, &text) {
                Ok(entries) => found.extend(
                    ours(entries)
                        .map(|(name, entry)| Ok(Found { client, scope, file: file.clone(), name, entry })),
                ),
                Err(why) => found.push(Err(Unread { client, file, why })),
            }
        }
    }
    found
}

fn ours(entries: Map<String, Value>) -> impl Iterator<Item = (String, Value)> {
    entries.into_iter().filter(|(name, entry)| {
        let started = entry["command"]
            .as_str()
            .is_some_and(|program| Path::new(program).file_name().is_some_and(|file| file == "tollgate"));
        let called =
            entry["url"].is_string() && (name == "tollgate" || entry.to_string().contains(TOKEN_VARIABLE));
        started && entry["args"][0] == "mcp" || called
    })
}

impl Found {
    pub(crate) fn args(&self) -> Vec<&str> {
        self.entry["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The vault that its arguments name.
    pub(crate) fn vault(&self) -> Option<&str> {
        let mut args = self.args().into_iter();
        while let Some(arg) = args.next() {
            if arg == "--vault" {
                return args.next();
            }
            if let Some(vault) = arg.strip_prefix("--vault=") {
                return Some(vault);
            }
        }
        None
    }
}
