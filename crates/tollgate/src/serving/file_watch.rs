//! Notices that a file holds something else than before.
//!
//! The content decides, and is read only if it can have changed. The system says when a file was last changed (its
//! ctime), which no program can set. But a clock of a file system ticks slowly: a second change in the same tick looks
//! like the first. So a file that was changed just now is read again at the next look, until its time lies back far
//! enough.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use envelope::{Hash, Timestamp};
use journal::{digest, open_file_no_links};

/// Longer than a tick of any file system's clock, and than two clocks of one machine differ.
const SETTLED_AFTER: Duration = Duration::from_secs(3);

/// A file that is looked at again and again.
#[derive(Debug)]
pub(super) struct WatchedFile {
    path: PathBuf,
    links: Links,
    limit: u64,
    content: Content,
    /// As the system described it when the content was read, if a change since would show.
    stamp: Option<Stamp>,
}

/// Whether a link may lead to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    Refused,
    Followed,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Absent,
    Bytes(Hash),
    /// It cannot be read, for this reason.
    Unreadable(String),
}

/// Device, inode, size, and the times of the last change of content and of the entry.
type Stamp = (u64, u64, u64, (i64, i64), (i64, i64));

impl WatchedFile {
    /// A file that held `content` when whoever watches it read it.
    pub(super) fn new(path: PathBuf, links: Links, limit: u64, content: Content) -> WatchedFile {
        WatchedFile { path, links, limit, content, stamp: None }
    }

    /// A file that is read for the first time now.
    pub(super) fn read(path: PathBuf, links: Links, limit: u64, now: Timestamp) -> WatchedFile {
        let mut file = WatchedFile::new(path, links, limit, Content::Absent);
        file.changed(now);
        file
    }

    /// Whether the file holds something else than at the last look.
    pub(super) fn changed(&mut self, now: Timestamp) -> bool {
        let opened = match self.links {
            Links::Refused => open_file_no_links(&self.path),
            Links::Followed => File::open(&self.path),
        };
        let (stamp, content) = match opened.and_then(|file| Ok((stamp(&file)?, file))) {
            Ok((stamp, _)) if self.stamp == Some(stamp) => return false,
            Ok((stamp, file)) => (Some(stamp).filter(|stamp| is_settled(stamp, now)), self.content_of(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (None, Content::Absent),
            Err(error) => (None, Content::Unreadable(error.to_string())),
        };
        let changed = content != self.content;
        (self.stamp, self.content) = (stamp, content);
        changed
    }

    fn content_of(&self, file: File) -> Content {
        match file.metadata() {
            Ok(meta) if !meta.is_file() => Content::Unreadable("not a plain file".to_owned()),
            Ok(meta) if meta.len() > self.limit => Content::Unreadable("too large".to_owned()),
            Ok(_) => match digest(file) {
                Ok((_, hash)) => Content::Bytes(hash),
                Err(error) => Content::Unreadable(error.to_string()),
            },
            Err(error) => Content::Unreadable(error.to_string()),
        }
    }
}

fn stamp(file: &File) -> io::Result<Stamp> {
    let meta = file.metadata()?;
    let changed = (meta.ctime(), meta.ctime_nsec());
    Ok((meta.dev(), meta.ino(), meta.size(), (meta.mtime(), meta.mtime_nsec()), changed))
}

fn is_settled((_, _, _, _, (seconds, _)): &Stamp, now: Timestamp) -> bool {
    now.as_second().saturating_sub(*seconds) > SETTLED_AFTER.as_secs().cast_signed()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::time::SystemTime;

    use envelope::Timestamp;

    use super::{Links, WatchedFile};

    /// In place, with a time of long ago, as a program does that hides what it did.
    fn put(path: &Path, text: &str) {
        let mut file = std::fs::File::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }

    /// When a file was last changed, in seconds, and `more`.
    fn after(path: &Path, more: i64) -> Timestamp {
        use std::os::unix::fs::MetadataExt;
        Timestamp::from_second(path.metadata().unwrap().ctime() + more).unwrap()
    }

    #[test]
    fn a_file_of_the_same_size_and_time_is_told_from_the_one_before() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("config.toml");
        put(&path, "mode = 1");
        // Looked at just now: the next change may come in the same tick.
        let now = after(&path, 0);
        let mut file = WatchedFile::read(path.clone(), Links::Refused, 100, now);
        assert!(!file.changed(now));
        for text in ["mode = 2", "mode = 3", "mode = 2"] {
            put(&path, text);
            assert!(file.changed(now), "{text}");
            assert!(!file.changed(now));
        }
        // Looked at later: the time of the change tells.
        assert!(!file.changed(after(&path, 60)));
        assert!(file.stamp.is_some());
        assert!(!file.changed(after(&path, 60)));
    }

    #[test]
    fn a_file_that_goes_comes_becomes_a_link_or_grows_too_large_has_changed() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap();
        let path = dir.join("file");
        put(&dir.join("same"), "one");
        put(&path, "one");
        let now = after(&path, 60);
        let mut file = WatchedFile::read(path.clone(), Links::Refused, 100, now);
        std::fs::remove_file(&path).unwrap();
        assert!(file.changed(now) && !file.changed(now));
        symlink("same", &path).unwrap();
        assert!(file.changed(now) && !file.changed(now));
        std::fs::remove_file(&path).unwrap();
        put(&path, "one");
        assert!(file.changed(now));
        put(&path, &"x".repeat(101));
        assert!(file.changed(now) && !file.changed(now));
        let mut followed = WatchedFile::read(dir.join("link"), Links::Followed, 100, now);
        symlink("same", dir.join("link")).unwrap();
        assert!(followed.changed(now) && !followed.changed(now));
    }
}
