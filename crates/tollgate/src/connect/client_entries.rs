//! Finds the entries for Tollgate in the settings of clients.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::client::{ClientKind, ConfigScope};
use super::client_config_file::ConfigFile;
use super::client_config_paths::ConfigFolders;
use super::entry::TOKEN_VARIABLE;
use super::entry_edit::read_entries;

/// An entry for Tollgate.
#[derive(Debug, PartialEq)]
pub(crate) struct ClientEntry {
    pub(crate) client: ClientKind,
    pub(crate) scope: ConfigScope,
    pub(crate) file: PathBuf,
    pub(crate) name: String,
    pub(crate) entry: Value,
}

/// A settings file that cannot be read.
#[derive(Debug, PartialEq)]
pub(crate) struct UnreadableConfig {
    pub(crate) client: ClientKind,
    pub(crate) file: PathBuf,
    pub(crate) why: String,
}

/// Searches the files of every client: those of the user, and those of these folders as projects.
pub(crate) fn find_client_entries(
    homes: &ConfigFolders,
    projects: &[&Path],
) -> Vec<Result<ClientEntry, UnreadableConfig>> {
    let mut found = Vec::new();
    let mut seen: Vec<PathBuf> = Vec::new();
    for client in ClientKind::ALL {
        let user =
            homes.file(client, ConfigScope::User, Path::new("/")).map(|file| (ConfigScope::User, file));
        let of_project =
            |folder: &&Path| Some((ConfigScope::Project, homes.file(client, ConfigScope::Project, folder)?));
        for (scope, file) in user.into_iter().chain(projects.iter().filter_map(of_project)) {
            if seen.contains(&file) {
                continue;
            }
            seen.push(file.clone());
            let text = match ConfigFile::read(&file) {
                Ok(ConfigFile { text: Some(text), .. }) => text,
                Ok(ConfigFile { text: None, .. }) => continue,
                Err(error) => {
                    found.push(Err(UnreadableConfig { client, file, why: error.to_string() }));
                    continue;
                }
            };
            match read_entries(client, &text) {
                Ok(entries) => {
                    found.extend(tollgate_entries(entries).map(|(name, entry)| {
                        Ok(ClientEntry { client, scope, file: file.clone(), name, entry })
                    }));
                }
                Err(why) => found.push(Err(UnreadableConfig { client, file, why })),
            }
        }
    }
    found
}

fn tollgate_entries(entries: Map<String, Value>) -> impl Iterator<Item = (String, Value)> {
    entries.into_iter().filter(|(name, entry)| {
        let started = entry["command"]
            .as_str()
            .is_some_and(|program| Path::new(program).file_name().is_some_and(|file| file == "tollgate"));
        let called =
            entry_url(entry).is_some() && (name == "tollgate" || entry.to_string().contains(TOKEN_VARIABLE));
        started && entry["args"][0] == "mcp" || called
    })
}

/// Returns the address of an entry that calls a server.
fn entry_url(entry: &Value) -> Option<&str> {
    entry["url"].as_str().or_else(|| entry["httpUrl"].as_str())
}

impl ClientEntry {
    /// Returns the address that the entry calls; `None` if it starts a program.
    pub(crate) fn url(&self) -> Option<&str> {
        entry_url(&self.entry)
    }

    pub(crate) fn args(&self) -> Vec<&str> {
        self.entry["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The vault that the arguments name.
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
