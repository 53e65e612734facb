//! A vault whose settings may change while it is served.
//!
//! What decides is in three files: the settings, what servers were approved, and what was trusted. Looking is comparing
//! what the system says of them; only a difference makes anybody read. Where the settings as they stand cannot be used,
//! whether they cannot be read or nobody has trusted them, nothing new is begun: whoever changed them may have meant to
//! forbid it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use gateway::mcp::Looked;

use crate::exit::Exit;
use crate::place::Place;
use crate::servers;
use crate::settings::{CONFIG_FILE, Settings};
use crate::stop::Stop;
use crate::trust;

pub(crate) struct LivePlace {
    current: RwLock<Arc<Place>>,
    files: Vec<PathBuf>,
    seen: Mutex<Vec<Stamp>>,
    /// Why there is no vault to be had now.
    unusable: Mutex<Option<String>>,
}

/// What the system says of a file: a change of it shows here.
type Stamp = Option<(u64, u64, i64, i64)>;

impl LivePlace {
    pub(crate) fn new(place: &Arc<Place>) -> Result<Arc<LivePlace>, Stop> {
        let files =
            vec![place.vault.join(CONFIG_FILE), servers::file(place)?, trust::trust_file(&place.vault)?];
        let seen = Mutex::new(stamps(&files));
        let (current, unusable) = (RwLock::new(place.clone()), Mutex::default());
        Ok(Arc::new(LivePlace { current, files, seen, unusable }))
    }

    /// The vault under its settings, if they can be used as they stand.
    pub(crate) fn current(&self) -> Result<Arc<Place>, Stop> {
        match &*self.unusable.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(why) => {
                let message = format!("the settings have changed, so nothing is run for now: {why}");
                Err(Stop::new(Exit::Denied, "settings_unusable", message)
                    .hint("mend them, or decide with `tollgate trust`; no restart is needed"))
            }
            None => Ok(self.before()),
        }
    }

    fn before(&self) -> Arc<Place> {
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
        let (looked, why) = match reload(&self.before()).and_then(|place| usable(&place).map(|()| place)) {
            Ok(place) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = place;
                (Looked::Changed, None)
            }
            Err(stop) => {
                tracing::error!(error = %stop.message, "the settings have changed and cannot be used");
                (Looked::Unusable, Some(stop.message))
            }
        };
        *self.unusable.lock().unwrap_or_else(PoisonError::into_inner) = why;
        looked
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
        let unusable = std::sync::Mutex::default();
        LivePlace { current: std::sync::RwLock::new(place.clone()), files, seen, unusable }
    }

    #[test]
    fn settings_are_taken_over_once() {
        let vault = tempfile::tempdir().unwrap();
        let live = live(&place(vault.path()));
        let fine = |_: &Arc<Place>| Ok(());
        assert_eq!(live.look(fine), Looked::Same);
        write(vault.path(), "mode = \"read-only\"\n");
        assert_eq!(live.look(fine), Looked::Changed);
        assert_eq!(live.current().unwrap().settings.policy.mode, engine::Mode::ReadOnly);
        assert_eq!(live.look(fine), Looked::Same);
    }

    #[test]
    fn nothing_is_run_under_settings_that_were_replaced_by_some_that_cannot_be_used() {
        let vault = tempfile::tempdir().unwrap();
        let live = live(&place(vault.path()));
        let fine = |_: &Arc<Place>| Ok(());
        for bad in ["mode = \n", "state = \"elsewhere\"\n"] {
            write(vault.path(), bad);
            assert_eq!(live.look(fine), Looked::Unusable, "{bad}");
            assert_eq!(live.current().err().unwrap().code, "settings_unusable");
            assert_eq!(live.look(fine), Looked::Same);
            assert!(live.current().is_err(), "it stays so until they are mended");
        }
        write(vault.path(), "mode = \"read-only\"\n");
        let untrusted = |_: &Arc<Place>| Err(Stop::bad_input("untrusted_settings", "not trusted any more"));
        assert_eq!(live.look(untrusted), Looked::Unusable);
        assert!(live.current().is_err());
        write(vault.path(), "mode = \"ask\"\n");
        assert_eq!(live.look(fine), Looked::Changed);
        assert_eq!(live.current().unwrap().settings.policy.mode, engine::Mode::Ask);
    }
}
