//! Brings a run folder back into order after a crash, before anything is appended to it.
//!
//! The three logs are synced only at checkpoints. What stands in them behind the last checkpoint may be there
//! in full, in part or not at all, in any order, if the power went; the write-ahead log has every record
//! of that stretch that was acknowledged. So: read the chain as far as the logs carry it, go on from the
//! write-ahead log, and then take what the logs still have behind that. What cannot be chained was never
//! acknowledged; it is dropped and reported. Before the checkpoint nothing may be wrong: that is damage.
//!
//! Recovery may itself be interrupted. It changes only the logs behind the checkpoint until they are synced;
//! then it starts a new generation of the write-ahead log. Until that moment doing it again gives the same.

use std::io;

use serde::{Deserialize, Serialize};

use crate::commit::{Ahead, Files, Log};
use crate::disk::{Dir, Disk};
use crate::error::JournalError;
use crate::find::has_records;
use crate::header::{RUN_FILE, RunFile};
use crate::kind::{ChainHead, Kind};
use crate::problem::{Problem, ProblemKind};
use crate::run_log::io_error;
use crate::scan::{Found, Scan};
use crate::source::Source;
use crate::wal::{Checkpoint, Left, Seen, WAL_FILE, Wal};

/// What recovery found and did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    /// The newest record that is there.
    pub head: ChainHead,
    /// How many records the logs lacked and the write-ahead log had.
    pub restored: u64,
    /// What was taken off the end of the logs; none of it was ever acknowledged.
    pub dropped: Vec<Dropped>,
}

/// The end of a log that could not be kept: a line cut in the middle, or records behind a gap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    pub file: String,
    pub line: u64,
    pub offset: u64,
    pub bytes: u64,
}

pub(crate) struct Recovered {
    pub run: RunFile,
    pub files: Files,
    pub recovery: Recovery,
}

pub(crate) fn recover(folder: &Dir, disk: &mut dyn Disk) -> Result<Recovered, JournalError> {
    let failed = |source| io_error("recover", folder.path(), source);
    let run = read_run(folder)?;
    let left = Left::read(folder).map_err(failed)?;
    if let Some(problem) = left.problem() {
        return Err(JournalError::Damaged(Box::new(problem)));
    }
    let wal = left.log();
    let tail = Tail::find(folder, run.start(), wal).map_err(failed)?;
    if tail.damaged {
        return Err(JournalError::Damaged(Box::new(pinpoint(folder, &run, wal).map_err(failed)?)));
    }
    let recovery = Recovery { head: tail.head, restored: tail.restored, dropped: tail.dropped.clone() };
    let files = repair(folder, disk, &tail, wal).map_err(failed)?;
    Ok(Recovered { run, files, recovery })
}

pub(crate) fn read_run(folder: &Dir) -> Result<RunFile, JournalError> {
    match folder.read_all(RUN_FILE) {
        Ok(Some(text)) => {
            let run = RunFile::parse(folder.path(), &text)?;
            let named = folder.path().file_name().and_then(|name| name.to_str());
            if named.is_some_and(|named| named != run.header.run_id.as_str()) {
                let why = format!("it is that of run {}, not of this folder", run.header.run_id);
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

/// How the three logs end, and how they should.
struct Tail {
    head: ChainHead,
    /// How much of each log stays as it is.
    kept: [u64; 3],
    /// What is to be written behind that.
    append: [Vec<u8>; 3],
    restored: u64,
    /// Lines of each log that are written anew, from the write-ahead log.
    replaced: [usize; 3],
    dropped: Vec<Dropped>,
    damaged: bool,
}

impl Tail {
    fn find(folder: &Dir, start: ChainHead, wal: Option<&Seen>) -> io::Result<Tail> {
        let mut sources = Source::open_all(folder)?;
        let mut tail = Tail {
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
        let unread = |source: &Source| {
            source.head.as_ref().is_some_and(|head| head.offset < synced.1[source.kind.index()])
        };
        tail.damaged = tail.head.seq < synced.0 || sources.iter().any(unread);
        if let Some(wal) = wal {
            tail.restore(wal, &mut sources)?;
        } else {
            // Without a write-ahead log everything was synced: only a torn last line can be explained.
            tail.damaged |= sources.iter().any(Source::is_complete);
        }
        for source in &mut sources {
            tail.drop_rest(source)?;
        }
        Ok(tail)
    }

    /// Reads on as long as one of the logs continues the chain.
    fn follow(&mut self, sources: &mut [Source; 3], rewriting: bool) -> io::Result<()> {
        while let Some(source) = next_of(sources, &self.head) {
            let at = source.kind.index();
            let Some(head) = &source.head else { return Ok(()) };
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

    /// Goes on with what the write-ahead log has, then with what the logs have behind that.
    fn restore(&mut self, wal: &Seen, sources: &mut [Source; 3]) -> io::Result<()> {
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
            while let Some(head) = &mut source.head {
                let ahead = head.link.is_some_and(|link| link.seq > self.head.seq);
                if !head.complete || (ahead && head.is_whole(kind)) {
                    break;
                }
                source.advance()?;
                self.replaced[kind.index()] += 1;
            }
        }
        self.follow(sources, true)
    }

    fn drop_rest(&mut self, source: &mut Source) -> io::Result<()> {
        let Some(head) = &source.head else { return Ok(()) };
        let (line, offset) = (head.line, head.offset);
        // A torn line that the write-ahead log gave back whole is not lost.
        let at = source.kind.index();
        let mut anew = self.append[at].split(|byte| *byte == b'\n');
        let given_back =
            !head.complete && anew.nth(self.replaced[at]).is_some_and(|line| line.starts_with(&head.text));
        while source.head.is_some() {
            source.advance()?;
        }
        if !given_back {
            let file = source.kind.file().to_owned();
            self.dropped.push(Dropped { file, line, offset, bytes: source.end() - offset });
        }
        Ok(())
    }
}

/// The log that stands at the record after `head`.
fn next_of<'a>(sources: &'a mut [Source; 3], head: &ChainHead) -> Option<&'a mut Source> {
    sources.iter_mut().find_map(|source| source.continues(head).then_some(source))
}

/// Writes what [`Tail`] found and starts a new generation. Synced in that order.
fn repair(folder: &Dir, disk: &mut dyn Disk, tail: &Tail, wal: Option<&Seen>) -> io::Result<Files> {
    let mut log = |kind| repair_log(folder, disk, tail, kind);
    let logs = [log(Kind::Call)?, log(Kind::Result)?, log(Kind::Event)?];
    let start = Checkpoint { head: tail.head, lens: [logs[0].len, logs[1].len, logs[2].len] };
    let ahead = match (folder.read(WAL_FILE)?, wal) {
        (Some(_), Some(seen)) => Ahead::Log(Wal::resume(disk.open(WAL_FILE)?, seen, &start)?),
        // A crash came while it was made.
        (Some(_), None) => Ahead::Log(Wal::format(disk.open(WAL_FILE)?, &start)?),
        (None, _) => Ahead::NotYet(start),
    };
    disk.sync_names()?;
    Ok(Files { disk: disk.share()?, logs, ahead })
}

fn repair_log(folder: &Dir, disk: &mut dyn Disk, tail: &Tail, kind: Kind) -> io::Result<Log> {
    let (kept, append) = (tail.kept[kind.index()], &tail.append[kind.index()]);
    let (mut file, len) = match folder.read(kind.file())? {
        Some(file) => (disk.open(kind.file())?, file.metadata()?.len()),
        None => (disk.create(kind.file())?, 0),
    };
    if len > kept {
        file.truncate(kept)?;
    }
    if !append.is_empty() {
        file.write_at(kept, append)?;
    }
    // Also when nothing changed: what the killed process wrote may still be in memory only, and the new
    // generation will not hold it.
    file.sync()?;
    Ok(Log::new(file, kept + append.len() as u64))
}

/// The exact place of damage, found by the same reader that `verify` uses.
fn pinpoint(folder: &Dir, run: &RunFile, wal: Option<&Seen>) -> io::Result<Problem> {
    let synced = wal.map_or(0, |wal| wal.start.head.seq);
    let mut scan = Scan::open(folder, run.start())?;
    loop {
        match scan.next()? {
            Some(Found::Problem(problem)) => return Ok(problem),
            Some(Found::Record) => {}
            None => {
                let last = scan.head().seq;
                return Ok(Problem {
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
