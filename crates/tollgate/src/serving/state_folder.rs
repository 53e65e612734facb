//! The state folder of the server, outside of every vault.

use std::path::{Path, PathBuf};

use crate::cli_error::CliError;
use app::trust;

/// The file with the clients that have a token.
pub(crate) const CLIENTS_FILE: &str = "clients.json";

/// Returns `$XDG_STATE_HOME/tollgate`.
pub(crate) fn server_state_folder(vault: Option<&Path>) -> Result<PathBuf, CliError> {
    let vault = vault.and_then(|vault| vault.canonicalize().ok());
    Ok(trust::state_folder(vault.as_deref())?)
}
