//! Cached summaries of finished runs, so that a list of many runs does not read each of them.
//!
//! The file is derived from the runs and can be removed at any time. An entry counts only while `run.json` and
//! `events.jsonl` of its run are the same files with the same size and times as when it was read, and while its own
//! hash fits; otherwise the run is read again. It is used for lists and for finding a run, never for what is verified
//! or undone: those read the record.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use envelope::{Hash, RunId};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::disk::FolderHandle;
use crate::log_kind::LogKind;
use crate::run_header::RUN_FILE;
use crate::run_list::RunSummary;

/// The file beside the runs that has the summaries.
pub const SUMMARIES_FILE: &str = ".summaries.jsonl";

/// Fewer new summaries are not written: reading these runs again is quick, and a small vault needs no cache.
const MIN_NEW: usize = 32;
/// A larger file is ignored and written anew.
const MAX_BYTES: u64 = 256 << 20;
/// Format of the entries. Raise it when the content or the meaning of [`RunSummary`] changes: entries of another
/// format are ignored.
const SUMMARY_FORMAT: u32 = 2;

/// Identity of the two files that a summary was read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SummaryStamp([FileStamp; 2]);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FileStamp {
    inode: u64,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

#[derive(Serialize, Deserialize)]
struct CachedSummary {
    format: u32,
    stamp: SummaryStamp,
    run: RunSummary,
}

/// The summaries of one folder of runs.
pub(crate) struct SummaryCache {
    runs: FolderHandle,
    known: HashMap<RunId, CachedSummary>,
    /// Lines of the file, including outdated ones.
    lines: usize,
    /// Whether there is something with the name of the file that was not read, because of its size or kind.
    is_ignored: bool,
    new: Vec<CachedSummary>,
}

impl SummaryCache {
    /// Reads the cache of a folder; `None` if the folder cannot be opened. Damaged lines are left out, and lines of
    /// another format.
    pub(crate) fn open(runs_dir: &Path) -> Option<SummaryCache> {
        let runs = FolderHandle::open(runs_dir).ok()?;
        let mut cache =
            SummaryCache { known: HashMap::new(), lines: 0, is_ignored: false, new: Vec::new(), runs };
        let file = cache.runs.open_file(SUMMARIES_FILE).ok().flatten();
        let is_small = |file: &std::fs::File| {
            file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_BYTES)
        };
        cache.is_ignored = file.as_ref().is_some_and(|file| !is_small(file));
        if file.is_some() && !cache.is_ignored {
            let bytes = cache.runs.read_file(SUMMARIES_FILE).ok().flatten().unwrap_or_default();
            for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                cache.lines += 1;
                if let Some(entry) = parse(line) {
                    cache.known.insert(entry.run.run_id.clone(), entry);
                }
            }
        }
        Some(cache)
    }

    /// Returns the summary of a run if its files are unchanged since.
    pub(crate) fn get(&self, run: &RunId, run_dir: &Path) -> Option<RunSummary> {
        let known = self.known.get(run)?;
        let is_same = stamp(&self.runs, run).is_some_and(|now| now == known.stamp);
        is_same.then(|| RunSummary { dir: run_dir.to_owned(), ..known.run.clone() })
    }

    /// Takes the identity of the files of a run before they are read, for [`SummaryCache::add`].
    pub(crate) fn stamp(&self, run: &RunId) -> Option<SummaryStamp> {
        stamp(&self.runs, run)
    }

    /// Adds a summary that was read after its stamp was taken.
    pub(crate) fn add(&mut self, stamp: SummaryStamp, run: RunSummary) {
        self.new.push(CachedSummary { format: SUMMARY_FORMAT, stamp, run });
    }

    /// Writes the new summaries. Failures are ignored: the runs are read again then.
    pub(crate) fn save(self) {
        if self.new.len() < MIN_NEW {
            return;
        }
        let SummaryCache { runs, mut known, lines, is_ignored, mut new } = self;
        // A prune may have removed a run since it was read; nothing of it is to be written again.
        let is_there = |entry: &CachedSummary| stamp(&runs, &entry.run.run_id).is_some();
        new.retain(is_there);
        let is_full_of_old = lines + new.len() > 2 * (known.len() + new.len());
        if is_full_of_old || is_ignored {
            known.retain(|_run, entry| is_there(entry));
            known.extend(new.into_iter().map(|entry| (entry.run.run_id.clone(), entry)));
            write_anew(&runs, known.values());
        } else {
            append(&runs, &render(new.iter()));
        }
    }
}

fn stamp(runs: &FolderHandle, run: &RunId) -> Option<SummaryStamp> {
    let stamp = |name: &str| {
        let stat = runs.stat(&format!("{run}/{name}")).ok()?;
        Some(FileStamp {
            inode: stat.st_ino,
            size: stat.st_size,
            modified: (stat.st_mtime, whole(stat.st_mtime_nsec)?),
            changed: (stat.st_ctime, whole(stat.st_ctime_nsec)?),
        })
    };
    Some(SummaryStamp([stamp(RUN_FILE)?, stamp(LogKind::Event.file())?]))
}

/// Returns a number of which systems have different types.
fn whole(number: impl TryInto<i64>) -> Option<i64> {
    number.try_into().ok()
}

/// A line is the hash of the rest, a space, and the entry.
fn render<'a>(entries: impl Iterator<Item = &'a CachedSummary>) -> Vec<u8> {
    let mut text = Vec::new();
    for entry in entries {
        if let Ok(json) = serde_json::to_vec(entry) {
            text.extend_from_slice(Hash::of(&json).to_string().as_bytes());
            text.push(b' ');
            text.extend_from_slice(&json);
            text.push(b'\n');
        }
    }
    text
}

fn parse(line: &[u8]) -> Option<CachedSummary> {
    let space = line.iter().position(|byte| *byte == b' ')?;
    let (hash, json) = (line.get(..space)?, line.get(space + 1..)?);
    if hash != Hash::of(json).to_string().as_bytes() {
        return None;
    }
    serde_json::from_slice(json).ok().filter(|entry: &CachedSummary| entry.format == SUMMARY_FORMAT)
}

/// Appends in one write, so that two processes do not mix their lines. A line that a crash has torn ends with the next
/// one, and neither fits its hash.
fn append(runs: &FolderHandle, text: &[u8]) {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Ok(mut file) = runs.open_with(SUMMARIES_FILE, flags, Mode::RUSR | Mode::WUSR) {
        file.write_all(text).ok();
    }
}

fn write_anew<'a>(runs: &FolderHandle, entries: impl Iterator<Item = &'a CachedSummary>) {
    if runs.remove_quietly(SUMMARIES_FILE) {
        append(runs, &render(entries));
    }
}
