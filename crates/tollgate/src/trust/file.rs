//! The file that says what was trusted: outside of every vault, for its owner only.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::comparison::TrustedSettings;
use crate::bounded_file;
use crate::stop::Stop;
use crate::visible::path_words;

/// The code of the error that says that there is no folder for what must stay outside of every vault.
pub(super) const NO_STATE_HOME: &str = "no_state_home";

/// The largest trust file that is read. It holds the settings of every vault that was trusted.
const LARGEST: u64 = 64 << 20;

/// What is on record about a vault.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TrustRecord {
    /// Nobody has trusted it.
    None,
    /// It was trusted by a build that kept less, or in a form that this build cannot read.
    Outdated,
    Settings(Box<TrustedSettings>),
}

#[derive(Serialize, Deserialize)]
struct Entry {
    settings: TrustedSettings,
}

/// Vaults by their real path, each with what was trusted in it. An entry is read only for the vault in question.
type TrustFile = BTreeMap<String, Value>;

pub(super) fn trust_record(vault: &Path) -> Result<TrustRecord, Stop> {
    let mut trusted = read(&trust_file(vault)?)?;
    Ok(match trusted.remove(&key(vault)).map(serde_json::from_value::<Entry>) {
        None => TrustRecord::None,
        Some(Ok(entry)) => TrustRecord::Settings(Box::new(entry.settings)),
        Some(Err(_other_form)) => TrustRecord::Outdated,
    })
}

/// Writes down the settings that were trusted; without any, that none are. Returns whether there was a record.
pub(super) fn put_trust_record(vault: &Path, settings: Option<TrustedSettings>) -> Result<bool, Stop> {
    let file = trust_file(vault)?;
    let _turn = take_turn(&file)?;
    let mut trusted = read(&file)?;
    let before = match settings {
        Some(settings) => {
            let entry = serde_json::to_value(Entry { settings })
                .map_err(|error| Stop::io("write down what is trusted", error))?;
            trusted.insert(key(vault), entry)
        }
        None => trusted.remove(&key(vault)),
    };
    write(&file, &trusted)?;
    Ok(before.is_some())
}

fn key(vault: &Path) -> String {
    vault.to_string_lossy().into_owned()
}

fn read(file: &Path) -> Result<TrustFile, Stop> {
    let bad = |why: String| {
        Stop::bad_input("bad_trust_file", format!("{}: {why}", path_words(file)))
            .hint("move it away; `tollgate trust` makes a new one")
    };
    match bounded_file::read_own(file, LARGEST).map_err(bad)? {
        Some(bytes) => serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string())),
        None => Ok(TrustFile::new()),
    }
}

/// Held while the file is read and written, so that two who trust at once do not undo each other.
pub(crate) fn take_turn(file: &Path) -> Result<std::fs::File, Stop> {
    let lock = file.with_extension("lock");
    let take = || {
        if let Some(folder) = file.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let held = std::fs::File::options().create(true).truncate(false).write(true).open(&lock)?;
        held.lock()?;
        Ok(held)
    };
    take().map_err(|error: std::io::Error| Stop::io(format_args!("lock {}", path_words(&lock)), error))
}

/// `$XDG_STATE_HOME/tollgate/trusted.json`, which must not be in reach of the vault it speaks about.
pub(crate) fn trust_file(vault: &Path) -> Result<PathBuf, Stop> {
    Ok(state_folder(Some(vault))?.join("trusted.json"))
}

/// `$XDG_STATE_HOME/tollgate`, which must not be inside the vault.
pub(crate) fn state_folder(vault: Option<&Path>) -> Result<PathBuf, Stop> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let states =
        absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    let Some(states) = states else {
        return Err(Stop::bad_input(NO_STATE_HOME, "neither XDG_STATE_HOME nor HOME names a folder")
            .hint("set one of them: what must stay outside of the vault is kept there"));
    };
    let folder = states.join("tollgate");
    let nearest = folder.ancestors().find_map(|folder| folder.canonicalize().ok());
    let inside = |vault: &Path| {
        folder.starts_with(vault) || nearest.as_ref().is_some_and(|real| real.starts_with(vault))
    };
    if vault.is_some_and(inside) {
        let message =
            format!("`{}` is inside the vault, so it cannot say what the vault may run", path_words(&folder));
        return Err(Stop::bad_input("no_state_home", message)
            .hint("set XDG_STATE_HOME to a folder outside of the vault"));
    }
    Ok(folder)
}

/// Whole or not at all, for the owner only: the temporary file is made with mode 600.
pub(crate) fn write(file: &Path, trusted: &impl Serialize) -> Result<(), Stop> {
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
    written().map_err(|error: std::io::Error| Stop::io(format_args!("write {}", path_words(file)), error))
}
