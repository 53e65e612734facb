//! The folder that questions and answers lie in, outside of every vault.
//!
//! It belongs to one person: the folder and each file in it have to be theirs, and closed to others, or they count for
//! nothing. Whoever asks holds a lock on their question, so one that nobody holds was left by a process that has
//! ended. Files appear whole. Nothing here is synced: a question does not outlive its process, let alone the machine.

use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use envelope::Timestamp;
use rustix::fs::OFlags;
use rustix::process::geteuid;
use rustix::rand::{GetRandomFlags, getrandom};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::question::{Question, Reply};
use crate::visible::path_words;

const QUESTION: &str = ".question.json";
const ANSWER: &str = ".answer.json";
const NEW: &str = ".new-";

/// After how long a file that has not got its name never will.
const LEFT_SECONDS: i64 = 3600;

/// Longer than any question that a person could read.
const MOST_BYTES: u64 = 32 << 20;

/// What an id is made of: digits and letters without those that look alike.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const ID_LETTERS: usize = 8;

/// The folder of questions.
#[derive(Debug, Clone)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(path: PathBuf) -> Folder {
        Folder(path)
    }

    /// Makes it if it is not there, and refuses one that others could write to.
    pub(crate) fn prepare(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let about = fs::symlink_metadata(&self.0)?;
        if about.is_dir() && is_ours_alone(&about) {
            return Ok(());
        }
        let why = format!(
            "{} must be a folder of yours with mode 700, and has mode {:o}",
            path_words(&self.0),
            about.mode() & 0o7777
        );
        Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
    }

    /// Lays a question down. It stays as long as the file that is returned is open.
    pub(crate) fn put(&self, question: &Question) -> io::Result<File> {
        let new = self.written(question)?;
        // Before it can be seen: a question without a lock is swept away.
        new.as_file().lock()?;
        Ok(new.persist_noclobber(self.question(&question.id))?)
    }

    /// Lays an answer beside its question. The first one counts.
    pub(crate) fn answer(&self, id: &str, reply: &Reply) -> io::Result<()> {
        self.written(reply)?.persist_noclobber(self.reply(id))?;
        Ok(())
    }

    /// Takes the answer away from the desk, whatever it is worth.
    pub(crate) fn take_reply(&self, id: &str) -> Option<io::Result<Reply>> {
        let path = self.reply(id);
        let read = match read_ours(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            read => read,
        };
        let _gone = fs::remove_file(&path);
        Some(read)
    }

    /// Whether somebody has answered and the asker has not looked yet.
    pub(crate) fn is_answered(&self, id: &str) -> bool {
        fs::symlink_metadata(self.reply(id)).is_ok()
    }

    /// Takes a question and its answer off the desk.
    pub(crate) fn clear(&self, id: &str) {
        let _gone = fs::remove_file(self.question(id));
        let _gone = fs::remove_file(self.reply(id));
    }

    /// What waits for an answer, the newest last. What expired or was left behind is cleared away.
    pub(crate) fn waiting(&self, now: Timestamp) -> io::Result<Vec<Question>> {
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        self.prepare()?;
        let mut waiting = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.starts_with(NEW) {
                // What a crash left before it had a name.
                if entry.metadata().is_ok_and(|about| about.mtime() + LEFT_SECONDS < now.as_second()) {
                    let _gone = fs::remove_file(entry.path());
                }
            } else if let Some(id) = name.strip_suffix(QUESTION) {
                waiting.extend(self.live(id, now).filter(|question| !self.is_answered(&question.id)));
            } else if let Some(id) = name.strip_suffix(ANSWER) {
                // The answer to a question that was withdrawn.
                if is_id(id) && !self.question(id).exists() {
                    let _gone = fs::remove_file(entry.path());
                }
            }
        }
        waiting.sort_by(|a, b| (a.asked_at, &a.id).cmp(&(b.asked_at, &b.id)));
        Ok(waiting)
    }

    /// The question of this id, if somebody still wants its answer.
    pub(crate) fn live(&self, id: &str, now: Timestamp) -> Option<Question> {
        if !is_id(id) {
            return None;
        }
        let question = read_ours::<Question>(&self.question(id)).ok().filter(|question| question.id == id)?;
        if question.expires_at > now && self.is_held(id) {
            return Some(question);
        }
        self.clear(id);
        None
    }

    fn is_held(&self, id: &str) -> bool {
        let Ok(file) = File::open(self.question(id)) else { return false };
        match file.try_lock_shared() {
            Ok(()) => false,
            Err(TryLockError::WouldBlock) => true,
            // A disk without locks: it then lies there until it expires.
            Err(TryLockError::Error(_)) => true,
        }
    }

    fn question(&self, id: &str) -> PathBuf {
        self.0.join(format!("{id}{QUESTION}"))
    }

    fn reply(&self, id: &str) -> PathBuf {
        self.0.join(format!("{id}{ANSWER}"))
    }

    /// A file without its name yet, for the owner only.
    fn written(&self, value: &impl Serialize) -> io::Result<tempfile::NamedTempFile> {
        self.prepare()?;
        let mut new = tempfile::Builder::new()
            .prefix(NEW)
            .permissions(Permissions::from_mode(0o600))
            .tempfile_in(&self.0)?;
        serde_json::to_writer_pretty(&mut new, value)?;
        new.write_all(b"\n")?;
        Ok(new)
    }
}

/// A file that only we could have written.
fn read_ours<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::options()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
        .open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || !is_ours_alone(&about) {
        let why = format!("{} is not a file of yours with mode 600", path_words(path));
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let mut text = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is too long"));
    }
    Ok(serde_json::from_slice(&text)?)
}

fn is_ours_alone(about: &fs::Metadata) -> bool {
    about.uid() == geteuid().as_raw() && about.mode() & 0o077 == 0
}

/// An id becomes part of a path, so it is nothing but its letters.
fn is_id(text: &str) -> bool {
    text.len() == ID_LETTERS && text.bytes().all(|byte| LETTERS.contains(&byte))
}

/// An id that nobody has guessed.
pub(crate) fn new_id() -> io::Result<String> {
    let random: [u8; ID_LETTERS] = random()?;
    Ok(random.iter().map(|byte| char::from(LETTERS[usize::from(byte & 31)])).collect())
}

/// What only a reader of the question can send back.
pub(crate) fn new_nonce() -> io::Result<String> {
    let random: [u8; 16] = random()?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(more) => filled += more,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes)
}
