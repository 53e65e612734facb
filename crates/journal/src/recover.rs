//! Repairs a run folder after a crash, before anything is appended to it.
//!
//! The three logs are synced only at checkpoints. After a power cut the content of the logs after the last
//! checkpoint can be there in full, in part or not at all, in any order; the write-ahead log has every
//! acknowledged record of that range. So recovery reads the chain as far as the logs have it, continues from
//! the write-ahead log, and then takes further records from the logs. Records that cannot be chained were
//! never acknowledged; they are dropped and reported. A problem before the checkpoint is damage.
//!
//! Recovery can itself be interrupted. It changes only the logs after the checkpoint until they are synced;
//! then it starts a new generation of the write-ahead log. Until then, repeating it gives the same result.

use std::io;

use serde::{Deserialize, Serialize};

use crate::commit::{LogAppender, RunLogFiles, WalState};
use crate::disk::{FolderHandle, RunDisk};
use crate::error::JournalError;
use crate::log_kind::{ChainHead, LogKind};
use crate::log_reader::LogReader;
use crate::log_scanner::{LogScanner, ScanItem};
use crate::problem::{JournalProblem, ProblemKind};
use crate::run_header::{RUN_FILE, RunFile};
use crate::run_list::has_records;
use crate::run_log::io_error;
use crate::wal::{WAL_FILE, WalCheckpoint, WalContents, WalFile, WalWriter};

/// The findings and actions of a recovery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryReport {
    /// The newest record.
    pub head: ChainHead,
    /// Number of records that were restored from the write-ahead log.
    pub restored: u64,
    /// Parts removed from the ends of the logs; none of them was ever acknowledged.
    pub dropped: Vec<DroppedTail>,
}

/// The end of a log that could not be kept: a line cut in the middle, or records after a gap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedTail {
    pub file: String,
    pub line: u64,
    pub offset: u64,
    pub bytes: u64,
}

pub(crate) struct RecoveredRun {
    pub run: RunFile,
    pub files: RunLogFiles,
    pub recovery: RecoveryReport,
}

pub(crate) fn recover(folder: &FolderHandle, disk: &mut dyn RunDisk) -> Result<RecoveredRun, JournalError> {
    let failed = |source| io_error("recover", folder.path(), source);
    let run = read_run(folder)?;
    let left = WalFile::read(folder).map_err(failed)?;
    if let Some(problem) = left.problem() {
        return Err(JournalError::Damaged(Box::new(problem)));
    }
    let wal = left.log();
    let tail = LogTails::find(folder, run.start(), wal).map_err(failed)?;
    if tail.damaged {
        return Err(JournalError::Damaged(Box::new(locate_damage(folder, &run, wal).map_err(failed)?)));
    }
    let recovery = RecoveryReport { head: tail.head, restored: tail.restored, dropped: tail.dropped.clone() };
    let files = repair(folder, disk, &tail, wal).map_err(failed)?;
    Ok(RecoveredRun { run, files, recovery })
}

pub(crate) fn read_run(folder: &FolderHandle) -> Result<RunFile, JournalError> {
    match folder.read_file(RUN_FILE) {
        Ok(Some(text)) => {
            let run = RunFile::parse(folder.path(), &text)?;
            let named = folder.path().file_name().and_then(|name| name.to_str());
            if named.is_some_and(|named| named != run.header.run_id.as_str()) {
                let why = format!("it belongs to run {}, not to this folder", run.header.run_id);
                return Err(JournalError::BadHeader { path: folder.path().join(RUN_FILE), why });
            }
            Ok(run)
        }
        Ok(None) if has_records(folder).unwrap_or(false) => Err(JournalError::BadHeader {
            path: folder.path().join(RUN_FILE),
            why: "it is gone, and the logs are not empty".to_owned(),
        }),
        Ok(None) => Err(JournalError::NotARun { path: folder.path().to_owned() }),
        Err(source) => Err(io_error("read", &folder.path().join(RUN_FILE), source)),
    }
}

/// The ends of the three logs, as they are and as they should be.
struct LogTails {
    head: ChainHead,
    /// Length of each log that stays unchanged.
    kept: [u64; 3],
    /// Bytes to append after that.
    append: [Vec<u8>; 3],
    restored: u64,
    /// Number of lines of each log that are rewritten from the write-ahead log.
    replaced: [usize; 3],
    dropped: Vec<DroppedTail>,
    damaged: bool,
}

impl LogTails {
    fn find(folder: &FolderHandle, start: ChainHead, wal: Option<&WalContents>) -> io::Result<LogTails> {
        let mut sources = LogReader::open_all(folder)?;
        let mut tail = LogTails {
            head: start,
            kept: [0; 3],
            append: [Vec::new(), Vec::new(), Vec::new()],
            restored: 0,
            replaced: [0; 3],
            dropped: Vec::new(),
            damaged: false,
        };
        tail.follow(&mut sources, false)?;
        // Everything before the checkpoint was synced, so it must have been read by now.
        let synced = wal.map_or((0, [0; 3]), |wal| (wal.start.head.seq, wal.start.lens));
        let unread = |source: &LogReader| {
            source.current.as_ref().is_some_and(|head| head.offset < synced.1[source.kind.index()])
        };
        tail.damaged = tail.head.seq < synced.0 || sources.iter().any(unread);
        if let Some(wal) = wal {
            tail.restore(wal, &mut sources)?;
        } else {
            // Without a write-ahead log everything was synced: only a torn last line can be explained.
            tail.damaged |= sources.iter().any(LogReader::is_complete);
        }
        for source in &mut sources {
            tail.drop_remaining(source)?;
        }
        Ok(tail)
    }

    /// Reads on while one of the logs continues the chain.
    fn follow(&mut self, sources: &mut [LogReader; 3], rewriting: bool) -> io::Result<()> {
        while let Some(source) = next_of(sources, &self.head) {
            let at = source.kind.index();
            let Some(head) = &source.current else { return Ok(()) };
            if let Some(link) = head.link {
                self.head = link.head();
            }
            if rewriting {
                self.append[at].extend_from_slice(&head.text);
                self.append[at].push(b'\n');
            } else {
                self.kept[at] = source.end();
            }
            source.advance()?;
        }
        Ok(())
    }

    /// Continues with the records of the write-ahead log, then with further records of the logs.
    fn restore(&mut self, wal: &WalContents, sources: &mut [LogReader; 3]) -> io::Result<()> {
        while let Some(record) = wal.get(self.head.seq.saturating_add(1)) {
            if record.link.prev != self.head.hash {
                break;
            }
            self.append[record.kind.index()].extend_from_slice(&record.line);
            self.head = record.link.head();
            self.restored += 1;
        }
        if self.restored == 0 {
            return Ok(());
        }
        for source in sources.iter_mut() {
            let kind = source.kind;
            while let Some(head) = &mut source.current {
                let ahead = head.link.is_some_and(|link| link.seq > self.head.seq);
                if !head.complete || (ahead && head.is_intact(kind)) {
                    break;
                }
                source.advance()?;
                self.replaced[kind.index()] += 1;
            }
        }
        self.follow(sources, true)
    }

    fn drop_remaining(&mut self, source: &mut LogReader) -> io::Result<()> {
        let Some(head) = &source.current else { return Ok(()) };
        let (line, offset) = (head.line, head.offset);
        // A torn line that the write-ahead log has complete is not lost.
        let at = source.kind.index();
        let mut anew = self.append[at].split(|byte| *byte == b'\n');
        let given_back =
            !head.complete && anew.nth(self.replaced[at]).is_some_and(|line| line.starts_with(&head.text));
        while source.current.is_some() {
            source.advance()?;
        }
        if !given_back {
            let file = source.kind.file().to_owned();
            self.dropped.push(DroppedTail { file, line, offset, bytes: source.end() - offset });
        }
        Ok(())
    }
}

/// Returns the log whose current record follows `current`.
fn next_of<'a>(sources: &'a mut [LogReader; 3], head: &ChainHead) -> Option<&'a mut LogReader> {
    sources.iter_mut().find_map(|source| source.continues(head).then_some(source))
}

/// Writes the repairs that [`LogTails`] describes and starts a new generation. Synced in that order.
fn repair(
    folder: &FolderHandle,
    disk: &mut dyn RunDisk,
    tail: &LogTails,
    wal: Option<&WalContents>,
) -> io::Result<RunLogFiles> {
    let mut log = |kind| repair_log(folder, disk, tail, kind);
    let logs = [log(LogKind::Call)?, log(LogKind::Result)?, log(LogKind::Event)?];
    let start = WalCheckpoint { head: tail.head, lens: [logs[0].len, logs[1].len, logs[2].len] };
    let ahead = match (folder.open_file(WAL_FILE)?, wal) {
        (Some(_), Some(seen)) => WalState::Log(WalWriter::resume(disk.open(WAL_FILE)?, seen, &start)?),
        // A crash happened during its creation.
        (Some(_), None) => WalState::Log(WalWriter::format(disk.open(WAL_FILE)?, &start)?),
        (None, _) => WalState::NotYet(start),
    };
    disk.sync_names()?;
    Ok(RunLogFiles { disk: disk.share()?, logs, wal_state: ahead })
}

fn repair_log(
    folder: &FolderHandle,
    disk: &mut dyn RunDisk,
    tail: &LogTails,
    kind: LogKind,
) -> io::Result<LogAppender> {
    let (kept, append) = (tail.kept[kind.index()], &tail.append[kind.index()]);
    let (mut file, len) = match folder.open_file(kind.file())? {
        Some(file) => (disk.open(kind.file())?, file.metadata()?.len()),
        None => (disk.create(kind.file())?, 0),
    };
    if len > kept {
        file.truncate(kept)?;
    }
    if !append.is_empty() {
        file.write_at(kept, append)?;
    }
    // Needed even if nothing changed: the writes of the killed process may still be in memory only, and the
    // new generation does not contain them.
    file.sync()?;
    Ok(LogAppender::new(file, kept + append.len() as u64))
}

/// Returns the exact position of the damage, found by the same reader that `verify` uses.
fn locate_damage(
    folder: &FolderHandle,
    run: &RunFile,
    wal: Option<&WalContents>,
) -> io::Result<JournalProblem> {
    let synced = wal.map_or(0, |wal| wal.start.head.seq);
    let mut scan = LogScanner::open(folder, run.start())?;
    loop {
        match scan.next()? {
            Some(ScanItem::Problem(problem)) => return Ok(problem),
            Some(ScanItem::Record) => {}
            None => {
                let last = scan.head().seq;
                return Ok(JournalProblem {
                    file: WAL_FILE.to_owned(),
                    line: None,
                    offset: None,
                    seq: Some(last.saturating_add(1)),
                    what: ProblemKind::Truncated,
                    message: format!("the logs end at record {last}, but {synced} records had been synced"),
                });
            }
        }
    }
}
