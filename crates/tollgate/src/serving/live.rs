//! A vault whose settings may change while it is served.
//!
//! What decides is in a few files: the settings, what servers were approved, what was trusted, and the files that hooks
//! are made of. They are looked at before every call. Where the settings as they stand cannot be used, whether they
//! cannot be read or nobody has trusted them, nothing new is begun: whoever changed them may have meant to forbid it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{Clock, SystemClock};
use envelope::Timestamp;
use gateway::mcp::Looked;

use super::file_watch::{Content, Links, WatchedFile};
use crate::exit::Exit;
use crate::place::Place;
use crate::servers;
use crate::settings::{CONFIG_FILE, Settings};
use crate::stop::Stop;
use crate::trust;

/// No file that is watched may be larger. The programs of hooks are the largest.
const LARGEST: u64 = 512 << 20;

pub(crate) struct LivePlace {
    state: Mutex<LiveState>,
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

struct LiveState {
    /// The last settings that could be used.
    current: Arc<Place>,
    /// Why there is no vault to be had now.
    unusable: Option<String>,
    /// The settings, and what decides besides: the approved servers and what was trusted.
    files: Vec<WatchedFile>,
    /// The files that the hooks of the current settings are made of.
    hook_files: Vec<WatchedFile>,
}

impl LivePlace {
    pub(crate) fn new(place: &Arc<Place>) -> Result<Arc<LivePlace>, Stop> {
        let clock = SystemClock::new();
        let now: Arc<dyn Fn() -> Timestamp + Send + Sync> = Arc::new(move || clock.now());
        let own = [servers::file(place)?, trust::trust_file(&place.vault)?];
        let own = own.map(|file| WatchedFile::read(file, Links::Followed, LARGEST, now()));
        Ok(Arc::new(LivePlace::of(place, own, now)))
    }

    fn of(
        place: &Arc<Place>,
        own: impl IntoIterator<Item = WatchedFile>,
        now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    ) -> LivePlace {
        // Compared with what was read, so that no change since then goes unnoticed.
        let read = place.settings.source.map_or(Content::Absent, Content::Bytes);
        let settings = WatchedFile::new(place.vault.join(CONFIG_FILE), Links::Refused, LARGEST, read);
        let state = LiveState {
            current: place.clone(),
            unusable: None,
            files: std::iter::once(settings).chain(own).collect(),
            hook_files: hook_files(place),
        };
        LivePlace { state: Mutex::new(state), now }
    }

    /// The vault under its settings, if they can be used as they stand.
    pub(crate) fn current(&self) -> Result<Arc<Place>, Stop> {
        let state = self.state();
        match &state.unusable {
            Some(why) => {
                let message = format!("the settings have changed, so nothing is run for now: {why}");
                Err(Stop::new(Exit::Denied, "settings_unusable", message)
                    .hint("fix them, or decide with `tollgate trust`; no restart is needed"))
            }
            None => Ok(state.current.clone()),
        }
    }

    /// Takes over what has changed, if `usable` finds that a gate can be made from it. Whoever looks at the same time
    /// waits, so that no call is made under settings that are about to be replaced.
    pub(crate) fn look(&self, usable: impl Fn(&Arc<Place>) -> Result<(), Stop>) -> Looked {
        let mut state = self.state();
        let now = (self.now)();
        let LiveState { files, hook_files, .. } = &mut *state;
        // Each of them, so that one change is noticed once.
        let changed = files.iter_mut().chain(hook_files).filter_map(|file| file.changed(now).then_some(()));
        if changed.count() == 0 {
            return Looked::Same;
        }
        match reload(&state.current).and_then(|place| usable(&place).map(|()| place)) {
            Ok(place) => {
                state.hook_files = self::hook_files(&place);
                state.current = place;
                state.unusable = None;
                Looked::Changed
            }
            Err(stop) => {
                tracing::error!(error = %stop.message, "the settings have changed and cannot be used");
                state.unusable = Some(stop.message);
                Looked::Unusable
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hook_files(place: &Place) -> Vec<WatchedFile> {
    let files = place.settings.hooks.iter().flat_map(|hook| &hook.files);
    let watched = files.map(|file| {
        let links = if file.in_vault { Links::Refused } else { Links::Followed };
        let content = file.hash.map_or(Content::Absent, Content::Bytes);
        WatchedFile::new(file.path.clone(), links, LARGEST, content)
    });
    watched.collect()
}

fn reload(before: &Place) -> Result<Arc<Place>, Stop> {
    let settings = Settings::load(&before.vault)?;
    if settings.state != before.settings.state {
        return Err(Stop::bad_input("state_moved", "`state` cannot change while the vault is served")
            .hint("start the server anew"));
    }
    Ok(Arc::new(Place { vault: before.vault.clone(), settings }))
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

    /// Watches the settings alone, at a time at which every file was changed just now.
    fn live(place: &Arc<Place>) -> LivePlace {
        let clock = engine::SystemClock::new();
        LivePlace::of(place, [], Arc::new(move || engine::Clock::now(&clock)))
    }

    #[test]
    fn settings_are_taken_over_once() {
        let vault = tempfile::tempdir().unwrap();
        let vault = vault.path().canonicalize().unwrap();
        let live = live(&place(&vault));
        let fine = |_: &Arc<Place>| Ok(());
        assert_eq!(live.look(fine), Looked::Same);
        write(&vault, "mode = \"read-only\"\n");
        assert_eq!(live.look(fine), Looked::Changed);
        assert_eq!(live.current().unwrap().settings.policy.mode, engine::Mode::ReadOnly);
        assert_eq!(live.look(fine), Looked::Same);
    }

    #[test]
    fn nothing_is_run_under_settings_that_were_replaced_by_some_that_cannot_be_used() {
        let vault = tempfile::tempdir().unwrap();
        let vault = vault.path().canonicalize().unwrap();
        let live = live(&place(&vault));
        let fine = |_: &Arc<Place>| Ok(());
        for bad in ["mode = \n", "state = \"elsewhere\"\n"] {
            write(&vault, bad);
            assert_eq!(live.look(fine), Looked::Unusable, "{bad}");
            assert_eq!(live.current().err().unwrap().code, "settings_unusable");
            assert_eq!(live.look(fine), Looked::Same);
            assert!(live.current().is_err(), "it stays so until they are mended");
        }
        write(&vault, "mode = \"read-only\"\n");
        let untrusted = |_: &Arc<Place>| Err(Stop::bad_input("untrusted_settings", "not trusted any more"));
        assert_eq!(live.look(untrusted), Looked::Unusable);
        assert!(live.current().is_err());
        write(&vault, "mode = \"ask\"\n");
        assert_eq!(live.look(fine), Looked::Changed);
        assert_eq!(live.current().unwrap().settings.policy.mode, engine::Mode::Ask);
    }

    #[test]
    fn a_change_that_keeps_the_size_and_the_time_is_noticed() {
        let vault = tempfile::tempdir().unwrap();
        let vault = vault.path().canonicalize().unwrap();
        let put = |text: &str| {
            let mut file = std::fs::File::create(vault.join(super::CONFIG_FILE)).unwrap();
            std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        };
        place(&vault);
        put("[limits]\nmax_attempts = 4\n");
        let live = live(&place(&vault));
        let fine = |_: &Arc<Place>| Ok(());
        assert_eq!(live.look(fine), Looked::Same);
        for attempts in [3, 2, 1] {
            put(&format!("[limits]\nmax_attempts = {attempts}\n"));
            assert_eq!(live.look(fine), Looked::Changed, "{attempts}");
            assert_eq!(live.current().unwrap().settings.policy.limits.max_attempts.get(), attempts);
        }
    }

    #[test]
    fn a_change_between_the_reading_of_the_settings_and_the_first_look_is_noticed() {
        let vault = tempfile::tempdir().unwrap();
        let vault = vault.path().canonicalize().unwrap();
        let before = place(&vault);
        write(&vault, "mode = \"read-only\"\n");
        let live = live(&before);
        assert_eq!(live.look(|_| Ok(())), Looked::Changed);
    }

    #[test]
    fn a_folder_that_becomes_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let (vault, other) = (dir.join("vault"), dir.join("other"));
        let live = live(&place(&vault));
        place(&other);
        write(&other, "mode = \"read-only\"\n");
        std::fs::rename(vault.join(".tollgate"), dir.join("moved")).unwrap();
        std::os::unix::fs::symlink(other.join(".tollgate"), vault.join(".tollgate")).unwrap();
        assert_eq!(live.look(|_| Ok(())), Looked::Unusable);
        let why = live.current().err().unwrap().message;
        assert!(why.contains(".tollgate is a link"), "{why}");
    }

    #[test]
    fn a_hook_file_that_changes_is_a_change_of_the_settings() {
        let vault = tempfile::tempdir().unwrap();
        let vault = vault.path().canonicalize().unwrap();
        let script = vault.join(".tollgate/guard.sh");
        let put = |text: &str| {
            std::io::Write::write_all(&mut std::fs::File::create(&script).unwrap(), text.as_bytes()).unwrap();
        };
        place(&vault);
        put("one");
        write(&vault, "[[hooks]]\nname = \"guard\"\ncommand = [\"sh\", \".tollgate/guard.sh\"]\n");
        let live = live(&place(&vault));
        let before = live.current().unwrap().settings.policy.clone();
        assert_eq!(live.look(|_| Ok(())), Looked::Same);
        put("two");
        assert_eq!(live.look(|_| Ok(())), Looked::Changed);
        assert_ne!(
            live.current().unwrap().settings.policy,
            before,
            "a yes is bound to the bytes of the hook"
        );
        assert_eq!(live.look(|_| Ok(())), Looked::Same);
    }
}
