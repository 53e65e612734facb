//! Detects changes of a file's content.
//!
//! The content decides, and is read only if it can have changed. The ctime of a file cannot be set by a program, but the
//! clock of a file system ticks slowly: a second change in the same tick looks like the first. So a file that was
//! changed recently is read again at each check, until its ctime is old enough.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use envelope::{Hash, Timestamp};
use journal::{hash_file, open_file_no_links};

/// Longer than a tick of any file system's clock, and than the difference of two clocks of one machine.
const SETTLED_AFTER: Duration = Duration::from_secs(3);

/// Watches one file for changes of its content.
#[derive(Debug)]
pub(super) struct FileWatcher {
    path: PathBuf,
    links: LinkPolicy,
    limit: u64,
    content: WatchedContent,
    /// Stamp from when the content was read, if it would show a later change.
    stamp: Option<FileStamp>,
}

/// Whether links to the file are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkPolicy {
    Refused,
    Followed,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WatchedContent {
    Absent,
    Bytes(Hash),
    /// The file cannot be read, for this reason.
    Unreadable(String),
}

/// Device, inode, size, and the times of the last change of content and of the entry.
type FileStamp = (u64, u64, u64, (i64, i64), (i64, i64));

impl FileWatcher {
    /// Creates a watch for a file that had `content` when it was read.
    pub(super) fn new(path: PathBuf, links: LinkPolicy, limit: u64, content: WatchedContent) -> FileWatcher {
        FileWatcher { path, links, limit, content, stamp: None }
    }

    /// Creates a watch for a file that is read now.
    pub(super) fn read(path: PathBuf, links: LinkPolicy, limit: u64, now: Timestamp) -> FileWatcher {
        let mut file = FileWatcher::new(path, links, limit, WatchedContent::Absent);
        file.changed(now);
        file
    }

    /// Returns true if the content has changed since the last check.
    pub(super) fn changed(&mut self, now: Timestamp) -> bool {
        let opened = match self.links {
            LinkPolicy::Refused => open_file_no_links(&self.path),
            LinkPolicy::Followed => File::open(&self.path),
        };
        let (stamp, content) = match opened.and_then(|file| Ok((stamp(&file)?, file))) {
            Ok((stamp, _)) if self.stamp == Some(stamp) => return false,
            Ok((stamp, file)) => (Some(stamp).filter(|stamp| is_settled(stamp, now)), self.content_of(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (None, WatchedContent::Absent),
            Err(error) => (None, WatchedContent::Unreadable(error.to_string())),
        };
        let changed = content != self.content;
        (self.stamp, self.content) = (stamp, content);
        changed
    }

    fn content_of(&self, file: File) -> WatchedContent {
        match file.metadata() {
            Ok(meta) if !meta.is_file() => WatchedContent::Unreadable("not a plain file".to_owned()),
            Ok(meta) if meta.len() > self.limit => WatchedContent::Unreadable("too large".to_owned()),
            Ok(_) => match hash_file(file) {
                Ok((_, hash)) => WatchedContent::Bytes(hash),
                Err(error) => WatchedContent::Unreadable(error.to_string()),
            },
            Err(error) => WatchedContent::Unreadable(error.to_string()),
        }
    }
}

fn stamp(file: &File) -> io::Result<FileStamp> {
    let meta = file.metadata()?;
    let changed = (meta.ctime(), meta.ctime_nsec());
    Ok((meta.dev(), meta.ino(), meta.size(), (meta.mtime(), meta.mtime_nsec()), changed))
}

fn is_settled((_, _, _, _, (seconds, _)): &FileStamp, now: Timestamp) -> bool {
    now.as_second().saturating_sub(*seconds) > SETTLED_AFTER.as_secs().cast_signed()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::time::SystemTime;

    use envelope::Timestamp;

    use super::{FileWatcher, LinkPolicy};

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
        let mut file = FileWatcher::read(path.clone(), LinkPolicy::Refused, 100, now);
        assert!(!file.changed(now));
        for text in ["mode = 2", "mode = 3", "mode = 2"] {
            put(&path, text);
            assert!(file.changed(now), "{text}");
            assert!(!file.changed(now));
        }
        // Looked at later: the time of the change decides.
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
        let mut file = FileWatcher::read(path.clone(), LinkPolicy::Refused, 100, now);
        std::fs::remove_file(&path).unwrap();
        assert!(file.changed(now) && !file.changed(now));
        symlink("same", &path).unwrap();
        assert!(file.changed(now) && !file.changed(now));
        std::fs::remove_file(&path).unwrap();
        put(&path, "one");
        assert!(file.changed(now));
        put(&path, &"x".repeat(101));
        assert!(file.changed(now) && !file.changed(now));
        let mut followed = FileWatcher::read(dir.join("link"), LinkPolicy::Followed, 100, now);
        symlink("same", dir.join("link")).unwrap();
        assert!(followed.changed(now) && !followed.changed(now));
    }
}
