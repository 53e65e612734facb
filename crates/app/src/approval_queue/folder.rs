//! The folder with questions and answers, outside of every vault.
//!
//! It belongs to one user: the folder and each file in it must be owned by them and closed to others, or it is ignored.
//! The asking process holds a lock on its question, so an unlocked one was left by a process that has ended. Files
//! appear whole. Nothing is synced to disk: a question does not outlive its process.

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

use super::question::{ApprovalQuestion, QuestionReply};
use crate::display_text::display_path;

const QUESTION_SUFFIX: &str = ".question.json";
const ANSWER_SUFFIX: &str = ".answer.json";
const TEMPORARY_PREFIX: &str = ".new-";

/// Age after which a file without its final name was left by a crash.
const ABANDONED_AFTER_SECONDS: i64 = 3600;

/// Limit of a question file. Longer than any question that a user could read.
const MAX_QUESTION_BYTES: u64 = 32 << 20;

/// Characters of an id: digits and letters without those that look alike.
const ID_ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const ID_LETTERS: usize = 8;

/// The folder of questions.
#[derive(Debug, Clone)]
pub struct QuestionFolder(PathBuf);

impl QuestionFolder {
    pub fn new(path: PathBuf) -> QuestionFolder {
        QuestionFolder(path)
    }

    /// Creates the folder if it is missing. Fails if others can write to it.
    pub fn prepare(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let about = fs::symlink_metadata(&self.0)?;
        if about.is_dir() && is_owner_only(&about) {
            return Ok(());
        }
        let why = format!(
            "{} must be a folder of yours with mode 700, and has mode {:o}",
            display_path(&self.0),
            about.mode() & 0o7777
        );
        Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
    }

    /// Adds a question. It stays as long as the returned file is open.
    pub fn add_question(&self, question: &ApprovalQuestion) -> io::Result<File> {
        let new = self.write_temporary(question)?;
        // Locked before it is visible: a question without a lock is removed.
        new.as_file().lock()?;
        Ok(new.persist_noclobber(self.question(&question.id))?)
    }

    /// Writes an answer beside its question. Fails if there is one already.
    pub fn add_answer(&self, id: &str, reply: &QuestionReply) -> io::Result<()> {
        self.write_temporary(reply)?.persist_noclobber(self.reply(id))?;
        Ok(())
    }

    /// Removes the answer from the queue and returns it, valid or not.
    pub fn take_reply(&self, id: &str) -> Option<io::Result<QuestionReply>> {
        let path = self.reply(id);
        let read = match read_own_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            read => read,
        };
        let _gone = fs::remove_file(&path);
        Some(read)
    }

    /// Returns true if there is an answer that the asker has not read yet.
    pub fn is_answered(&self, id: &str) -> bool {
        fs::symlink_metadata(self.reply(id)).is_ok()
    }

    /// Removes a question and its answer from the queue.
    pub fn remove_question(&self, id: &str) {
        let _gone = fs::remove_file(self.question(id));
        let _gone = fs::remove_file(self.reply(id));
    }

    /// Returns the questions that wait for an answer, the newest last. Removes expired and abandoned ones.
    pub fn waiting(&self, now: Timestamp) -> io::Result<Vec<ApprovalQuestion>> {
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        self.prepare()?;
        let mut waiting = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.starts_with(TEMPORARY_PREFIX) {
                // Left by a crash before it had its final name.
                if entry
                    .metadata()
                    .is_ok_and(|about| about.mtime() + ABANDONED_AFTER_SECONDS < now.as_second())
                {
                    let _gone = fs::remove_file(entry.path());
                }
            } else if let Some(id) = name.strip_suffix(QUESTION_SUFFIX) {
                waiting.extend(self.find_open(id, now).filter(|question| !self.is_answered(&question.id)));
            } else if let Some(id) = name.strip_suffix(ANSWER_SUFFIX) {
                // The answer to a question that was withdrawn.
                if is_id(id) && !self.question(id).exists() {
                    let _gone = fs::remove_file(entry.path());
                }
            }
        }
        waiting.sort_by(|a, b| (a.asked_at, &a.id).cmp(&(b.asked_at, &b.id)));
        Ok(waiting)
    }

    /// Returns the question with this id if a process still waits for its answer.
    pub fn find_open(&self, id: &str, now: Timestamp) -> Option<ApprovalQuestion> {
        if !is_id(id) {
            return None;
        }
        let question = read_own_file::<ApprovalQuestion>(&self.question(id))
            .ok()
            .filter(|question| question.id == id)?;
        if question.expires_at > now && self.is_held(id) {
            return Some(question);
        }
        self.remove_question(id);
        None
    }

    fn is_held(&self, id: &str) -> bool {
        let Ok(file) = File::open(self.question(id)) else { return false };
        match file.try_lock_shared() {
            Ok(()) => false,
            Err(TryLockError::WouldBlock) => true,
            // A file system without locks: the question stays until it expires.
            Err(TryLockError::Error(_)) => true,
        }
    }

    fn question(&self, id: &str) -> PathBuf {
        self.0.join(format!("{id}{QUESTION_SUFFIX}"))
    }

    fn reply(&self, id: &str) -> PathBuf {
        self.0.join(format!("{id}{ANSWER_SUFFIX}"))
    }

    /// Writes a temporary file, readable by the owner only.
    fn write_temporary(&self, value: &impl Serialize) -> io::Result<tempfile::NamedTempFile> {
        self.prepare()?;
        let mut new = tempfile::Builder::new()
            .prefix(TEMPORARY_PREFIX)
            .permissions(Permissions::from_mode(0o600))
            .tempfile_in(&self.0)?;
        serde_json::to_writer_pretty(&mut new, value)?;
        new.write_all(b"\n")?;
        Ok(new)
    }
}

/// Reads a file. Fails if another user could have written it.
fn read_own_file<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::options()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
        .open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || !is_owner_only(&about) {
        let why = format!("{} is not a file of yours with mode 600", display_path(path));
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let mut text = Vec::new();
    file.take(MAX_QUESTION_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_QUESTION_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is too long"));
    }
    Ok(serde_json::from_slice(&text)?)
}

fn is_owner_only(about: &fs::Metadata) -> bool {
    about.uid() == geteuid().as_raw() && about.mode() & 0o077 == 0
}

/// Returns true for an id. An id becomes part of a path, so other characters are refused.
fn is_id(text: &str) -> bool {
    text.len() == ID_LETTERS && text.bytes().all(|byte| ID_ALPHABET.contains(&byte))
}

/// Returns a random id.
pub fn new_id() -> io::Result<String> {
    let random: [u8; ID_LETTERS] = random_bytes()?;
    Ok(random.iter().map(|byte| char::from(ID_ALPHABET[usize::from(byte & 31)])).collect())
}

/// Returns a nonce, which only a reader of the question can send back.
pub fn new_nonce() -> io::Result<String> {
    let random: [u8; 16] = random_bytes()?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
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
