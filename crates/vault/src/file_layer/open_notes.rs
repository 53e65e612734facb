//! Notes that are open in a host, whose text can be ahead of the disk.
//!
//! An open note is read as the host shows it and edited through the host, so that unsaved text and the cursor
//! survive. A host that runs in this process lets the vault write the file. A host that runs elsewhere applies
//! the text and saves it itself; the vault then reads the file back and compares its hash.
//!
//! The file layer is synchronous and a host may be a socket away, so a host answers with futures and the vault
//! waits for them on its blocking thread, for at most [`OpenNotes::deadline`].

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use envelope::{Failure, Fault, FileState, Hash, VaultPath};
use rustix::io::Errno;
use toolkit::BoxFuture;

use super::io_context::{ContextAdapter, IoContext};
use super::locate::{FinalLink, Location};
use super::path_state::state_of;
use super::read::{OpenedFile, open_place};
use super::replace::{content_changed, no_longer_exists};
use super::vault::Vault;
use super::write::WrittenFile;
use super::{fault, folder};
use crate::platform::{self, FileStat};

/// Default of [`OpenNotes::deadline`].
pub const HOST_DEADLINE: Duration = Duration::from_secs(5);

/// Future of one answer of a host. It must not need the thread that waits for it.
pub type NoteFuture<'a, T> = BoxFuture<'a, Result<T, Fault>>;

/// New text for a note that may be open.
#[derive(Debug, Clone, Copy)]
pub struct NoteUpdate<'a> {
    pub path: &'a VaultPath,
    /// State that the caller has seen: the unsaved text if there was one, else the file.
    pub before: &'a FileState,
    /// Hash of the file right now, for a host that saves it.
    pub on_disk: Option<Hash>,
    pub text: &'a str,
}

/// Whether a note is open, and who saves it then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteStatus {
    NotOpen,
    /// Open in a host of this process: the vault writes the file.
    VaultSaves,
    /// Open in a host that saves the file itself.
    HostSaves,
}

/// How a host took new text for a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteWrite {
    /// The note is not open: the vault writes the file.
    NotOpen,
    /// The note has the new text and the vault writes the file, which must still be `on_disk`. The vault
    /// reports the outcome with [`OpenNotes::saved`] or [`OpenNotes::not_saved`].
    VaultWrites { on_disk: FileState },
    /// The host has saved the file. The vault verifies its bytes.
    HostSaved,
}

/// A host that has notes open, as the file layer uses it.
pub trait OpenNotes: Send + Sync {
    /// Returns the longest time that the vault waits for one answer.
    fn deadline(&self) -> Duration {
        HOST_DEADLINE
    }

    /// Returns whether the note is open. Answered at once, from what the host has announced.
    fn status(&self, path: &VaultPath) -> NoteStatus;

    /// Returns the text of a note that is open and not saved as it is shown, or `None`.
    fn unsaved_text<'a>(&'a self, path: &'a VaultPath) -> NoteFuture<'a, Option<String>>;

    /// Takes new text for a note. Fails with a conflict, and changes nothing, if the open note is not
    /// `update.before`.
    fn write_text<'a>(&'a self, update: NoteUpdate<'a>) -> NoteFuture<'a, NoteWrite>;

    /// Reports that the vault has written the text that the note took.
    fn saved(&self, path: &VaultPath, text: &str);

    /// Reports that the text could not be written: a note that still has it gets its earlier text back.
    fn not_saved(&self, path: &VaultPath, text: &str);

    /// Reports that a file or folder has another path.
    fn moved(&self, from: &VaultPath, to: &VaultPath);

    /// Reports that a file was removed.
    fn removed(&self, path: &VaultPath);
}

impl Vault {
    /// Returns the unsaved text of a note that is open in a host. Fails if the host does not answer in time:
    /// the file alone would be the wrong answer.
    pub(super) fn unsaved_text(&self, path: &VaultPath) -> Result<Option<String>, Fault> {
        match self.host.get() {
            Some(notes) => wait_for(notes.unsaved_text(path), notes.deadline()),
            None => Ok(None),
        }
    }

    /// Hands new text for an open note to its host. A host that saves it itself has done so when this returns
    /// `HostSaved` with what was written; the file then has the mode that is given.
    ///
    /// A refusal of the host is returned as it is. If the answer is lost, the file shows whether it was saved.
    pub(super) fn write_open_note(
        &self,
        notes: &Arc<dyn OpenNotes>,
        (path, before, text, mode): (&VaultPath, &FileState, &str, Option<u32>),
        io: &dyn IoContext,
    ) -> Result<OpenNoteWrite, Fault> {
        let on_disk = match notes.status(path) {
            NoteStatus::NotOpen => return Ok(OpenNoteWrite::NotOpen),
            NoteStatus::VaultSaves => None,
            NoteStatus::HostSaves => Some(self.state_before_host_save(path, before, text, io)?),
        };
        let update = NoteUpdate { path, before, on_disk: on_disk.map(|state| state.hash), text };
        let error = match wait_for(notes.write_text(update), notes.deadline()) {
            Ok(NoteWrite::NotOpen) => return Ok(OpenNoteWrite::NotOpen),
            Ok(NoteWrite::VaultWrites { on_disk }) => return Ok(OpenNoteWrite::VaultWrites { on_disk }),
            Ok(NoteWrite::HostSaved) => None,
            // The host may have saved before it failed or its answer was lost: the file decides.
            Err(fault) if can_have_saved(&fault, on_disk.is_some()) => {
                // The wait itself may have ended, which does not know what the host does.
                let is_late = fault.failure == Failure::Timeout;
                Some(if is_late { with_unknown_outcome(fault) } else { fault })
            }
            Err(fault) => return Err(fault),
        };
        // A host that attached meanwhile was given no hash: the caller has seen the file then.
        let on_disk = on_disk.unwrap_or(*before);
        self.verify_host_save((&update, mode), &on_disk, error, io).map(OpenNoteWrite::HostSaved)
    }

    /// Compares the file with the text that a host was to save, makes it durable and reports it as a change.
    ///
    /// If the host says that it saved, whatever it has written is reported; if it is not the text, the call
    /// fails and the file stays as the host left it. With an `error` only a file with the text is taken as
    /// saved by the host: other content can be that of any program.
    fn verify_host_save(
        &self,
        (update, mode): (&NoteUpdate<'_>, Option<u32>),
        on_disk: &FileState,
        error: Option<Fault>,
        io: &dyn IoContext,
    ) -> Result<WrittenFile, Fault> {
        // The host has been asked already, so what it did has to be found out.
        let io = &ContextAdapter::new(io).uncancellable();
        let path = update.path;
        let wanted = Hash::of(update.text.as_bytes());
        let Some((open, dir)) = self.open_saved(path).map_err(with_unknown_outcome)? else {
            return Err(error.unwrap_or_else(|| no_longer_exists(path)));
        };
        let mut now = state_of(&open, io).map_err(with_unknown_outcome)?;
        let is_wanted = now.hash == wanted;
        match error {
            Some(fault) if now.hash == on_disk.hash => return Err(fault),
            Some(fault) if !is_wanted => return Err(with_unknown_outcome(fault)),
            Some(_) | None => {}
        }
        if !is_wanted && now.hash == on_disk.hash {
            return Err(differs(path, &now, &wanted));
        }
        let finished = if is_wanted { finish_save(&open, mode) } else { platform::sync(&open.file) };
        let stat = FileStat::of(&open.file).unwrap_or(open.stat);
        now.mode = stat.permissions;
        io.record_change(envelope::VaultChange::FileReplaced {
            path: open.path.to_string(),
            before: FileState { mode: on_disk.mode, ..*update.before },
            after: now,
        });
        let durable = finished.and_then(|()| folder::sync(&dir));
        durable.map_err(|error| fault::not_durable(open.path.as_str(), error))?;
        if !is_wanted {
            return Err(differs(path, &now, &wanted));
        }
        let mtime_ms = Some(stat.mtime_ms());
        Ok(WrittenFile { path: open.path, etag: now.etag(), mtime_ms, created: false })
    }

    /// Opens the file of a note with its folder. Returns `None` if it is gone.
    fn open_saved(&self, path: &VaultPath) -> Result<Option<(OpenedFile, Arc<Dir>)>, Fault> {
        match self.locate(path, FinalLink::Follow)? {
            Location::Found(located) => {
                let dir = located.dir.clone();
                let open = open_place(located)?.ok_or_else(|| fault::unstable_path(path.as_str()))?;
                Ok(Some((open, dir)))
            }
            Location::Missing(_) => Ok(None),
        }
    }

    /// Returns the state of the file that a host is about to save. Fails with a conflict if the caller has not
    /// seen what would be replaced. Where the note has unsaved text, only the host knows whether the file is
    /// the one that it last saved, so it gets the hash.
    fn state_before_host_save(
        &self,
        path: &VaultPath,
        before: &FileState,
        text: &str,
        io: &dyn IoContext,
    ) -> Result<FileState, Fault> {
        io.check_cancelled()?;
        let on_disk = match self.locate(path, FinalLink::Follow)? {
            Location::Found(located) => {
                let open = open_place(located)?.ok_or_else(|| fault::unstable_path(path.as_str()))?;
                state_of(&open, io)?
            }
            Location::Missing(_) => return Err(no_longer_exists(path)),
        };
        let shown = match self.unsaved_text(path)? {
            Some(text) => FileState { hash: Hash::of(text.as_bytes()), bytes: text.len() as u64, ..on_disk },
            None => on_disk,
        };
        // Text that the note shows already only has to be saved: the caller has seen the file then.
        let is_save = shown.hash == Hash::of(text.as_bytes())
            && (on_disk.hash == before.hash || on_disk.hash == shown.hash);
        if is_save || shown.hash == before.hash {
            Ok(on_disk)
        } else {
            Err(content_changed(path, before, &shown))
        }
    }
}

/// Outcome of handing text to a host.
pub(super) enum OpenNoteWrite {
    NotOpen,
    VaultWrites { on_disk: FileState },
    HostSaved(WrittenFile),
}

fn differs(path: &VaultPath, now: &FileState, wanted: &Hash) -> Fault {
    let expected = FileState { hash: *wanted, ..*now };
    let fault = content_changed(path, &expected, now);
    let message = format!("the host saved `{path}` with other content than it was given");
    Fault { message, ..fault }
        .hint("read the note again: it is as the host saved it, and its earlier content is kept")
}

/// Sets the mode of a file that a host saved, if one is given, and makes the file durable.
fn finish_save(open: &OpenedFile, mode: Option<u32>) -> Result<(), Errno> {
    if let Some(mode) = mode.filter(|mode| *mode != open.stat.permissions) {
        rustix::fs::fchmod(&open.file, platform::mode(mode))?;
    }
    platform::sync(&open.file)
}

/// Returns true if the host can have saved the note although it failed. Any other failure is a refusal. A host
/// of this process saves nothing, so then only an answer that is lost means that another one has attached.
fn can_have_saved(fault: &Fault, host_saves: bool) -> bool {
    let is_lost = matches!(fault.failure, Failure::Timeout | Failure::DependencyUnavailable);
    is_lost || (host_saves && matches!(fault.failure, Failure::Canceled | Failure::ExecutionFailed))
}

/// Marks a fault as one after which the request may have been done, so that it is not repeated unseen.
pub fn with_unknown_outcome(fault: Fault) -> Fault {
    fault
        .retryable(false)
        .detail("outcome", "unknown")
        .hint("it is unknown whether it was done: read the note first, then decide whether to call again")
}

/// Waits on this thread until the future is ready, for at most `limit`.
pub fn wait_for<T>(mut future: NoteFuture<'_, T>, limit: Duration) -> Result<T, Fault> {
    let wakeup = Arc::new(ThreadWaker::default());
    let waker = Waker::from(wakeup.clone());
    let mut cx = Context::from_waker(&waker);
    let started = now();
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut cx) {
            return result;
        }
        let left = limit.saturating_sub(started.elapsed());
        if left.is_zero() || !wakeup.wait(left) {
            return Err(Fault::new(
                Failure::Timeout,
                format!("the host did not answer within {} ms", limit.as_millis()),
            )
            .hint("check whether the application that has the vault open waits for you, then call again"));
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "the limit of a wait is in no result and no record")]
fn now() -> Instant {
    Instant::now()
}

/// Wakes the thread that waits for a host.
#[derive(Default)]
struct ThreadWaker {
    woken: Mutex<bool>,
    signal: Condvar,
}

impl ThreadWaker {
    /// Returns false if the time passes first.
    fn wait(&self, limit: Duration) -> bool {
        let woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.signal.wait_timeout_while(woken, limit, |woken| !*woken);
        let (mut woken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *woken)
    }
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<ThreadWaker>) {
        *self.woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.signal.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use envelope::{Failure, Fault};
    use tokio::sync::oneshot;

    use super::wait_for;

    #[test]
    fn an_answer_from_another_thread_ends_the_wait() {
        let (answer, wait) = oneshot::channel();
        let other = std::thread::spawn(move || answer.send(7).unwrap());
        let future = async move { wait.await.map_err(|_| Fault::new(Failure::ExecutionFailed, "gone")) };
        assert_eq!(wait_for(Box::pin(future), Duration::from_secs(60)), Ok(7));
        other.join().unwrap();
    }

    #[test]
    fn a_host_that_does_not_answer_is_waited_for_until_the_deadline() {
        let waited = wait_for::<()>(Box::pin(std::future::pending()), Duration::from_millis(20));
        assert_eq!(waited.unwrap_err().failure, Failure::Timeout);
    }
    #[test]
    fn a_future_that_wakes_the_thread_again_and_again_ends_at_the_deadline() {
        let restless = std::future::poll_fn(|cx| {
            cx.waker().wake_by_ref();
            std::task::Poll::<Result<(), Fault>>::Pending
        });
        let waited = wait_for(Box::pin(restless), Duration::from_millis(20));
        assert_eq!(waited.unwrap_err().failure, Failure::Timeout);
    }
}
