//! The file of trusted settings: outside of every vault, for its owner only.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::comparison::TrustedSettings;
use crate::bounded_file;
use crate::display_text::display_path;
use crate::error::AppError;

/// Error code for a missing state folder outside of every vault.
pub(super) const NO_STATE_HOME: &str = "no_state_home";

/// Largest trust file that is read. It holds the settings of every trusted vault.
const MAX_TRUST_BYTES: u64 = 64 << 20;

/// The trust record of a vault.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TrustRecord {
    /// Never trusted.
    None,
    /// Trusted by a build that recorded less, or in a form that this build cannot read.
    Outdated,
    Settings(Box<TrustedSettings>),
}

#[derive(Serialize, Deserialize)]
struct TrustEntry {
    settings: TrustedSettings,
}

/// Vaults by their real path, each with its trusted settings. Only the entry of the vault in question is parsed.
type TrustFile = BTreeMap<String, Value>;

pub(super) fn trust_record(vault: &Path) -> Result<TrustRecord, AppError> {
    let mut trusted = read(&trust_file(vault)?)?;
    Ok(match trusted.remove(&key(vault)).map(serde_json::from_value::<TrustEntry>) {
        None => TrustRecord::None,
        Some(Ok(entry)) => TrustRecord::Settings(Box::new(entry.settings)),
        Some(Err(_other_form)) => TrustRecord::Outdated,
    })
}

/// Records the trusted settings of a vault, or removes its entry. Returns true if there was an entry.
pub(super) fn put_trust_record(vault: &Path, settings: Option<TrustedSettings>) -> Result<bool, AppError> {
    let file = trust_file(vault)?;
    let _turn = lock_file(&file)?;
    let mut trusted = read(&file)?;
    let before = match settings {
        Some(settings) => {
            let entry = serde_json::to_value(TrustEntry { settings })
                .map_err(|error| AppError::io("write down what is trusted", error))?;
            trusted.insert(key(vault), entry)
        }
        None => trusted.remove(&key(vault)),
    };
    write_private_file(&file, &trusted)?;
    Ok(before.is_some())
}

fn key(vault: &Path) -> String {
    vault.to_string_lossy().into_owned()
}

fn read(file: &Path) -> Result<TrustFile, AppError> {
    let bad = |why: String| {
        AppError::bad_input("bad_trust_file", format!("{}: {why}", display_path(file)))
            .hint("move it away; `tollgate trust` makes a new one")
    };
    match bounded_file::read_own(file, MAX_TRUST_BYTES).map_err(bad)? {
        Some(bytes) => serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string())),
        None => Ok(TrustFile::new()),
    }
}

/// Locks the file while it is read and written, so that concurrent changes do not undo each other.
pub fn lock_file(file: &Path) -> Result<std::fs::File, AppError> {
    let lock = file.with_extension("lock");
    let take = || {
        if let Some(folder) = file.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let held = std::fs::File::options().create(true).truncate(false).write(true).open(&lock)?;
        held.lock()?;
        Ok(held)
    };
    take().map_err(|error: std::io::Error| AppError::io(format_args!("lock {}", display_path(&lock)), error))
}

/// Returns `$XDG_STATE_HOME/tollgate/trusted.json`. Fails if that is inside the vault.
pub fn trust_file(vault: &Path) -> Result<PathBuf, AppError> {
    Ok(state_folder(Some(vault))?.join("trusted.json"))
}

/// Returns `$XDG_STATE_HOME/tollgate`. Fails if that is inside the vault.
pub fn state_folder(vault: Option<&Path>) -> Result<PathBuf, AppError> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let states =
        absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    let Some(states) = states else {
        return Err(AppError::bad_input(NO_STATE_HOME, "neither XDG_STATE_HOME nor HOME names a folder")
            .hint("set one of them: what must stay outside of the vault is kept there"));
    };
    let folder = states.join("tollgate");
    let nearest = folder.ancestors().find_map(|folder| folder.canonicalize().ok());
    let inside = |vault: &Path| {
        folder.starts_with(vault) || nearest.as_ref().is_some_and(|real| real.starts_with(vault))
    };
    if vault.is_some_and(inside) {
        let message = format!(
            "`{}` is inside the vault, so it cannot say what the vault may run",
            display_path(&folder)
        );
        return Err(AppError::bad_input("no_state_home", message)
            .hint("set XDG_STATE_HOME to a folder outside of the vault"));
    }
    Ok(folder)
}

/// Writes a file atomically, for the owner only: the temporary file has mode 600.
pub fn write_private_file(file: &Path, trusted: &impl Serialize) -> Result<(), AppError> {
    let folder = file.parent().unwrap_or(file);
    let written = || {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&mut new, trusted)?;
        new.write_all(b"\n")?;
        new.as_file().sync_all()?;
        new.persist(file)?;
        Ok(())
    };
    written()
        .map_err(|error: std::io::Error| AppError::io(format_args!("write {}", display_path(file)), error))
}
