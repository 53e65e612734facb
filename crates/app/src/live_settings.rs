//! A vault whose settings can change while it is served.
//!
//! The watched files are the settings, the approved servers, the trust record and the files of hooks. They are checked
//! before every call. If the current settings cannot be read or are not trusted, nothing new is begun: the change can
//! have been meant to forbid it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use call_session::ReloadOutcome as SettingsChange;
use engine::{Clock, SystemClock};
use envelope::Timestamp;
pub use host::HostRegistry;
use vault::HOST_DEADLINE;

use crate::error::AppError;
use crate::error::ErrorKind;
use crate::file_watch::{FileWatcher, LinkPolicy, WatchedContent};
use crate::servers;
use crate::settings::{CONFIG_FILE, Settings};
use crate::trust;
use crate::vault_context::VaultContext;
use crate::vault_id;

/// Largest watched file. The programs of hooks are the largest.
const MAX_FILE_BYTES: u64 = 512 << 20;

/// A vault with its current settings.
pub struct ReloadableVault {
    state: Mutex<LiveState>,
    hosts: HostRegistry,
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

struct LiveState {
    /// Last settings that could be used.
    current: Arc<VaultContext>,
    /// Reason why the vault cannot be used now.
    unusable: Option<String>,
    /// The settings, the approved servers and the trust record.
    files: Vec<FileWatcher>,
    /// Files of the current hooks.
    hook_files: Vec<FileWatcher>,
}

/// Returns a registry at which an application that has the vault open can attach.
pub fn new_host_registry(context: &VaultContext) -> HostRegistry {
    // An id that cannot be read is reported where runs are opened.
    let vault_id = vault_id::read(&context.vault).ok().flatten();
    HostRegistry::new(HOST_DEADLINE, vault_id)
}

impl ReloadableVault {
    /// Watches the settings of a vault. All front ends of one server share `hosts`, so that an application which is attached
    /// for one of them is known to the others.
    pub fn new(context: &Arc<VaultContext>, hosts: &HostRegistry) -> Result<Arc<ReloadableVault>, AppError> {
        let clock = SystemClock::new();
        let now: Arc<dyn Fn() -> Timestamp + Send + Sync> = Arc::new(move || clock.now());
        let own = [servers::approval_file_path(context)?, trust::trust_file(&context.vault)?];
        let own = own.map(|file| FileWatcher::read(file, LinkPolicy::Followed, MAX_FILE_BYTES, now()));
        Ok(Arc::new(ReloadableVault { hosts: hosts.clone(), ..ReloadableVault::of(context, own, now) }))
    }

    fn of(
        context: &Arc<VaultContext>,
        own: impl IntoIterator<Item = FileWatcher>,
        now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    ) -> ReloadableVault {
        // Compared with what was read, so that no change since then is missed.
        let read = context.settings.source.map_or(WatchedContent::Absent, WatchedContent::Bytes);
        let settings =
            FileWatcher::new(context.vault.join(CONFIG_FILE), LinkPolicy::Refused, MAX_FILE_BYTES, read);
        let state = LiveState {
            current: context.clone(),
            unusable: None,
            files: std::iter::once(settings).chain(own).collect(),
            hook_files: hook_files(context),
        };
        ReloadableVault { state: Mutex::new(state), hosts: HostRegistry::default(), now }
    }

    /// Returns the registry at which an application that has the vault open attaches. Runs that begin afterwards, and
    /// open ones, use it.
    pub fn hosts(&self) -> &HostRegistry {
        &self.hosts
    }

    /// Returns the vault with its current settings. Fails if they cannot be used.
    pub fn current(&self) -> Result<Arc<VaultContext>, AppError> {
        let state = self.state();
        match &state.unusable {
            Some(why) => {
                let message = format!("the settings have changed, so nothing is run for now: {why}");
                Err(AppError::new(ErrorKind::Denied, "settings_unusable", message)
                    .hint("fix them, or decide with `tollgate trust`; no restart is needed"))
            }
            None => Ok(state.current.clone()),
        }
    }

    /// Reloads changed settings if `usable` can build an engine from them. A concurrent check waits, so that no call is made
    /// under settings that are about to be replaced.
    pub fn reload_changed(
        &self,
        usable: impl Fn(&Arc<VaultContext>) -> Result<(), AppError>,
    ) -> SettingsChange {
        let mut state = self.state();
        let now = (self.now)();
        let LiveState { files, hook_files, .. } = &mut *state;
        // All of them, so that one change is reported once.
        let changed = files.iter_mut().chain(hook_files).filter_map(|file| file.changed(now).then_some(()));
        if changed.count() == 0 {
            return SettingsChange::Same;
        }
        match reload(&state.current).and_then(|context| usable(&context).map(|()| context)) {
            Ok(context) => {
                state.hook_files = self::hook_files(&context);
                state.current = context;
                state.unusable = None;
                SettingsChange::Changed
            }
            Err(error) => {
                tracing::error!(error = %error.message, "the settings have changed and are invalid");
                state.unusable = Some(error.message);
                SettingsChange::Unusable
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hook_files(context: &VaultContext) -> Vec<FileWatcher> {
    let files = context.settings.hooks.iter().flat_map(|hook| &hook.files);
    let watched = files.map(|file| {
        let links = if file.in_vault { LinkPolicy::Refused } else { LinkPolicy::Followed };
        let content = file.hash.map_or(WatchedContent::Absent, WatchedContent::Bytes);
        FileWatcher::new(file.path.clone(), links, MAX_FILE_BYTES, content)
    });
    watched.collect()
}

fn reload(before: &VaultContext) -> Result<Arc<VaultContext>, AppError> {
    let settings = Settings::load(&before.vault)?;
    if settings.state != before.settings.state {
        return Err(AppError::bad_input("state_moved", "`state` cannot change while the vault is served")
            .hint("restart the server"));
    }
    Ok(Arc::new(VaultContext { vault: before.vault.clone(), settings }))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::{ReloadableVault, Settings, SettingsChange, VaultContext};
    use crate::error::AppError;

    fn context(vault: &Path) -> Arc<VaultContext> {
        std::fs::create_dir_all(vault.join(".tollgate")).unwrap();
        Arc::new(VaultContext { vault: vault.to_owned(), settings: Settings::load(vault).unwrap() })
    }

    /// As an editor does it: another file in the place of the first.
    fn write(vault: &Path, text: &str) {
        let new = tempfile::NamedTempFile::new_in(vault.join(".tollgate")).unwrap();
        std::io::Write::write_all(&mut new.as_file(), text.as_bytes()).unwrap();
        new.persist(vault.join(super::CONFIG_FILE)).unwrap();
    }

    /// Watches the settings alone, at a time at which every file was changed just now.
    fn live(context: &Arc<VaultContext>) -> ReloadableVault {
        let clock = engine::SystemClock::new();
        ReloadableVault::of(context, [], Arc::new(move || engine::Clock::now(&clock)))
    }

    #[test]
    fn settings_are_taken_over_once() {
        let vault = tempfile::tempdir().unwrap();
        let vault = vault.path().canonicalize().unwrap();
        let live = live(&context(&vault));
        let fine = |_: &Arc<VaultContext>| Ok(());
        assert_eq!(live.reload_changed(fine), SettingsChange::Same);
        write(&vault, "mode = \"read-only\"\n");
        assert_eq!(live.reload_changed(fine), SettingsChange::Changed);
        assert_eq!(live.current().unwrap().settings.policy.mode, engine::Mode::ReadOnly);
        assert_eq!(live.reload_changed(fine), SettingsChange::Same);
    }

    #[test]
    fn nothing_is_run_under_settings_that_were_replaced_by_some_that_cannot_be_used() {
        let vault = tempfile::tempdir().unwrap();
        let vault = vault.path().canonicalize().unwrap();
        let live = live(&context(&vault));
        let fine = |_: &Arc<VaultContext>| Ok(());
        for bad in ["mode = \n", "state = \"elsewhere\"\n"] {
            write(&vault, bad);
            assert_eq!(live.reload_changed(fine), SettingsChange::Unusable, "{bad}");
            assert_eq!(live.current().err().unwrap().code, "settings_unusable");
            assert_eq!(live.reload_changed(fine), SettingsChange::Same);
            assert!(live.current().is_err(), "it stays so until they are mended");
        }
        write(&vault, "mode = \"read-only\"\n");
        let untrusted =
            |_: &Arc<VaultContext>| Err(AppError::bad_input("untrusted_settings", "not trusted any more"));
        assert_eq!(live.reload_changed(untrusted), SettingsChange::Unusable);
        assert!(live.current().is_err());
        write(&vault, "mode = \"ask\"\n");
        assert_eq!(live.reload_changed(fine), SettingsChange::Changed);
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
        context(&vault);
        put("[limits]\nmax_attempts = 4\n");
        let live = live(&context(&vault));
        let fine = |_: &Arc<VaultContext>| Ok(());
        assert_eq!(live.reload_changed(fine), SettingsChange::Same);
        for attempts in [3, 2, 1] {
            put(&format!("[limits]\nmax_attempts = {attempts}\n"));
            assert_eq!(live.reload_changed(fine), SettingsChange::Changed, "{attempts}");
            assert_eq!(live.current().unwrap().settings.policy.limits.max_attempts.get(), attempts);
        }
    }

    #[test]
    fn a_change_between_the_reading_of_the_settings_and_the_first_look_is_noticed() {
        let vault = tempfile::tempdir().unwrap();
        let vault = vault.path().canonicalize().unwrap();
        let before = context(&vault);
        write(&vault, "mode = \"read-only\"\n");
        let live = live(&before);
        assert_eq!(live.reload_changed(|_| Ok(())), SettingsChange::Changed);
    }

    #[test]
    fn a_folder_that_becomes_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let (vault, other) = (dir.join("vault"), dir.join("other"));
        let live = live(&context(&vault));
        context(&other);
        write(&other, "mode = \"read-only\"\n");
        std::fs::rename(vault.join(".tollgate"), dir.join("moved")).unwrap();
        std::os::unix::fs::symlink(other.join(".tollgate"), vault.join(".tollgate")).unwrap();
        assert_eq!(live.reload_changed(|_| Ok(())), SettingsChange::Unusable);
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
        context(&vault);
        put("one");
        write(&vault, "[[hooks]]\nname = \"guard\"\ncommand = [\"sh\", \".tollgate/guard.sh\"]\n");
        let live = live(&context(&vault));
        let before = live.current().unwrap().settings.policy.clone();
        assert_eq!(live.reload_changed(|_| Ok(())), SettingsChange::Same);
        put("two");
        assert_eq!(live.reload_changed(|_| Ok(())), SettingsChange::Changed);
        assert_ne!(
            live.current().unwrap().settings.policy,
            before,
            "a yes is bound to the bytes of the hook"
        );
        assert_eq!(live.reload_changed(|_| Ok(())), SettingsChange::Same);
    }
}
