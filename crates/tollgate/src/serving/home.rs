//! The folder for what the server keeps between starts, outside of every vault.

use std::path::{Path, PathBuf};

use crate::stop::Stop;
use crate::trust;

/// The file with the clients that have a token of their own.
pub(crate) const CLIENTS: &str = "clients.json";

/// `$XDG_STATE_HOME/tollgate`.
pub(crate) fn folder(vault: Option<&Path>) -> Result<PathBuf, Stop> {
    let near = vault.and_then(|vault| vault.canonicalize().ok());
    trust::state_folder(near.as_deref())
}
