//! A vault whose settings may change while it is served.
//!
//! What decides is in three files: the settings, what servers were approved, and what was trusted. Looking is comparing
//! what the system says of them; only a difference makes anybody read. Settings that cannot be used leave those in
//! force that were. Where it is not the settings that changed but the word of the person, nothing new is begun.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use gateway::mcp::Looked;

use crate::place::Place;
use crate::servers;
use crate::settings::{CONFIG_FILE, Settings};
use crate::stop::Stop;
use crate::trust;

pub(crate) struct LivePlace {
    current: RwLock<Arc<Place>>,
    files: Vec<PathBuf>,
    seen: Mutex<Vec<Stamp>>,
}

/// What the system says of a file: a change of it shows here.
type Stamp = Option<(u64, u64, i64, i64)>;

impl LivePlace {
    pub(crate) fn new(place: &Arc<Place>) -> Result<Arc<LivePlace>, Stop> {
        let files =
            vec![place.vault.join(CONFIG_FILE), servers::file(place)?, trust::trust_file(&place.vault)?];
        let seen = Mutex::new(stamps(&files));
        Ok(Arc::new(LivePlace { current: RwLock::new(place.clone()), files, seen }))
    }

    /// The vault under the settings that are in force.
    pub(crate) fn current(&self) -> Arc<Place> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes over what has changed, if `usable` finds that a gate can be made from it.
    pub(crate) fn look(&self, usable: impl Fn(&Arc<Place>) -> Result<(), Stop>) -> Looked {
        let now = stamps(&self.files);
        {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if *seen == now {
                return Looked::Same;
            }
            *seen = now;
        }
        let before = self.current();
        match reload(&before).and_then(|place| usable(&place).map(|()| place)) {
            Ok(place) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = place;
                Looked::Changed
            }
            Err(stop) => {
                tracing::error!(error = %stop.message, "the settings have changed and cannot be used");
                if usable(&before).is_ok() { Looked::Same } else { Looked::Unusable }
            }
        }
    }
}

fn reload(before: &Place) -> Result<Arc<Place>, Stop> {
    let settings = Settings::load(&before.vault)?;
    if settings.state != before.settings.state {
        return Err(Stop::bad_input("state_moved", "`state` cannot change while the vault is served")
            .hint("start the server anew"));
    }
    Ok(Arc::new(Place { vault: before.vault.clone(), settings }))
}

fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |file: &PathBuf| {
        let of = |file: &Path| std::fs::metadata(file).ok();
        of(file).map(|of| (of.ino(), of.size(), of.mtime(), of.mtime_nsec()))
    };
    files.iter().map(stamp).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use gateway::mcp::Looked;

    use super::{LivePlace, Place, Settings};
    use crate::stop::Stop;

    fn place(vault: &Path) -> Arc<Place> {
        std::fs::create_dir_all(vault.join(".tollgate")).unwrap();
        Arc::new(Place { vault: vault.to_owned(), settings: Settings::load(vault).unwrap() })
    }

    /// As an editor does it: another file in the place of the first.
    fn write(vault: &Path, text: &str) {
        let new = tempfile::NamedTempFile::new_in(vault.join(".tollgate")).unwrap();
        std::io::Write::write_all(&mut new.as_file(), text.as_bytes()).unwrap();
        new.persist(vault.join(super::CONFIG_FILE)).unwrap();
    }

    fn live(place: &Arc<Place>) -> LivePlace {
        let files = vec![place.vault.join(super::CONFIG_FILE)];
        let seen = std::sync::Mutex::new(super::stamps(&files));
        LivePlace { current: std::sync::RwLock::new(place.clone()), files, seen }
    }

    #[test]
    fn settings_are_taken_over_once_and_bad_ones_not_at_all() {
        let vault = tempfile::tempdir().unwrap();
        let live = live(&place(vault.path()));
        let fine = |_: &Arc<Place>| Ok(());
        assert_eq!(live.look(fine), Looked::Same);
        write(vault.path(), "mode = \"read-only\"\n");
        assert_eq!(live.look(fine), Looked::Changed);
        assert_eq!(live.current().settings.policy.mode, engine::Mode::ReadOnly);
        assert_eq!(live.look(fine), Looked::Same);
        write(vault.path(), "mode = \n");
        assert_eq!(live.look(fine), Looked::Same);
        assert_eq!(live.current().settings.policy.mode, engine::Mode::ReadOnly);
        write(vault.path(), "state = \"elsewhere\"\n");
        assert_eq!(live.look(fine), Looked::Same);
        assert_eq!(live.current().settings.state, None);
    }

    #[test]
    fn where_not_even_the_old_settings_can_be_used_any_more_that_is_said() {
        let vault = tempfile::tempdir().unwrap();
        let live = live(&place(vault.path()));
        write(vault.path(), "mode = \"ask\"\n");
        let untrusted = |_: &Arc<Place>| Err(Stop::bad_input("untrusted_settings", "not trusted any more"));
        assert_eq!(live.look(untrusted), Looked::Unusable);
        assert_eq!(live.look(untrusted), Looked::Same);
    }
}
