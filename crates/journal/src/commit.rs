//! Writes batches of records to the disk, in an order that lets recovery find every acknowledged record.
//!
//! A batch is written to the write-ahead log first. Then one sync follows, if a caller waits for it, and only
//! then the three logs are written, without a sync. An acknowledged record is never lost, whatever a power
//! cut keeps of the unsynced writes:
//!
//! - Acknowledged through the write-ahead log: the sync covered every frame since the checkpoint, so the
//!   record and all before it are there, under a header that was synced with them or before them. The three
//!   logs are synced up to the checkpoint. Recovery takes the rest from the frames.
//! - Acknowledged through a checkpoint (the batch did not fit): the three logs were synced with the record in
//!   them. The new header is written after that. Whether it reaches the disk or the old one stays, the logs
//!   are complete, and frames of the other generation do not count.
//! - A new generation overwrites old frames only after such a checkpoint, when they are not needed any more.
//!
//! A record that was not acknowledged can be lost or kept; recovery keeps the part without a gap.

use std::io;

use crate::disk::{LogFile, RunDisk};
use crate::line::write_line;
use crate::log_kind::{ChainHead, LogKind, Seq};
use crate::wal::{WAL_FILE, WalCheckpoint, WalFrame, WalWriter};

/// Records that wait for the committer: their JSON, one after the other.
#[derive(Debug, Default)]
pub(crate) struct RawRecords {
    pub bytes: Vec<u8>,
    records: Vec<RecordSpan>,
}

impl RawRecords {
    pub(crate) fn push(&mut self, kind: LogKind, body: &[u8]) {
        self.bytes.extend_from_slice(body);
        self.records.push(RecordSpan { kind, len: body.len() });
    }

    /// Removes all records; frees a buffer larger than `keep`.
    pub(crate) fn clear(&mut self, keep: usize) {
        if self.bytes.capacity() > keep {
            *self = RawRecords::default();
        }
        self.bytes.clear();
        self.records.clear();
    }

    /// Passes each record to `line`, which chains it.
    pub(crate) fn chain_each(
        &self,
        head: &mut ChainHead,
        mut line: impl FnMut(&mut ChainHead, LogKind, &[u8]),
    ) {
        for (kind, body) in split_records(&self.bytes, &self.records) {
            line(head, kind, body);
        }
    }
}

/// A batch of records as chained log lines.
#[derive(Debug, Default)]
pub(crate) struct LineBatch {
    /// Lines with their newlines, one after the other.
    bytes: Vec<u8>,
    records: Vec<RecordSpan>,
    /// The newest record in this batch.
    head: Option<ChainHead>,
}

#[derive(Debug, Clone, Copy)]
struct RecordSpan {
    kind: LogKind,
    len: usize,
}

fn split_records<'a>(
    bytes: &'a [u8],
    records: &'a [RecordSpan],
) -> impl Iterator<Item = (LogKind, &'a [u8])> {
    let mut rest = bytes;
    records.iter().map(move |record| {
        let (piece, after) = rest.split_at_checked(record.len).unwrap_or((rest, &[]));
        rest = after;
        (record.kind, piece)
    })
}

impl LineBatch {
    /// Replaces the content by the lines of `raw`, chained to `head`, and advances `head`.
    pub(crate) fn chain(&mut self, head: &mut ChainHead, raw: &RawRecords) {
        if self.bytes.capacity() > 4 * raw.bytes.len().max(1 << 18) {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
        self.records.clear();
        raw.chain_each(head, |head, kind, body| {
            let before = self.bytes.len();
            *head = write_line(head, kind, body, &mut self.bytes);
            self.records.push(RecordSpan { kind, len: self.bytes.len() - before });
        });
        self.head = (!self.records.is_empty()).then_some(*head);
    }

    fn lines(&self) -> impl Iterator<Item = (LogKind, &[u8])> {
        split_records(&self.bytes, &self.records)
    }

    fn frames(&self, first: Seq) -> impl Iterator<Item = WalFrame<'_>> {
        (first..).zip(self.lines()).map(|(seq, (kind, line))| WalFrame { seq, kind, line })
    }
}

/// The open files of one run. Owned by the committer.
pub(crate) struct RunLogFiles {
    pub(crate) disk: Box<dyn RunDisk>,
    pub(crate) logs: [LogAppender; 3],
    pub(crate) wal_state: WalState,
}

/// The open write-ahead log, or the checkpoint where it will start.
pub(crate) enum WalState {
    Log(WalWriter),
    /// A closed run that is reopened gets a write-ahead log with its first new record. Opening it without
    /// writing leaves it unchanged.
    NotYet(WalCheckpoint),
}

pub(crate) struct LogAppender {
    pub(crate) file: Box<dyn LogFile>,
    pub(crate) len: u64,
    /// True if written since the last sync.
    pub(crate) dirty: bool,
    pub(crate) scratch: Vec<u8>,
}

impl LogAppender {
    pub(crate) fn new(file: Box<dyn LogFile>, len: u64) -> LogAppender {
        LogAppender { file, len, dirty: false, scratch: Vec::new() }
    }

    fn write_scratch(&mut self) -> io::Result<()> {
        if self.scratch.is_empty() {
            return Ok(());
        }
        self.dirty = true;
        self.file.write_at(self.len, &self.scratch)?;
        self.len += self.scratch.len() as u64;
        self.scratch.clear();
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.dirty {
            self.file.sync()?;
            self.dirty = false;
        }
        Ok(())
    }
}

impl RunLogFiles {
    /// Writes a batch that ends with record `newest`. Calls `acknowledge` as soon as that record is durable;
    /// without `sync` possibly never, because no caller waits for it.
    pub(crate) fn commit(
        &mut self,
        batch: &LineBatch,
        newest: Seq,
        sync: bool,
        acknowledge: &mut dyn FnMut(Seq),
    ) -> io::Result<()> {
        let Some(head) = batch.head else {
            // Everything is written already; only the sync is missing.
            if sync {
                self.sync_wal()?;
                acknowledge(newest);
            }
            return Ok(());
        };
        let wal = self.wal()?;
        if !wal.fits(batch.records.len(), batch.bytes.len()) {
            self.append(batch)?;
            self.checkpoint(head)?;
            acknowledge(newest);
            return self.wal()?.grow();
        }
        let first = head.seq + 1 - batch.records.len() as u64;
        wal.write(batch.frames(first))?;
        if sync {
            wal.sync()?;
            acknowledge(newest);
        }
        self.append(batch)
    }

    /// Returns the write-ahead log, and creates it if necessary. Its name is durable before the first frame
    /// is written.
    fn wal(&mut self) -> io::Result<&mut WalWriter> {
        if let WalState::NotYet(start) = &self.wal_state {
            let wal = WalWriter::format(self.disk.create(WAL_FILE)?, start)?;
            self.disk.sync_names()?;
            self.wal_state = WalState::Log(wal);
        }
        match &mut self.wal_state {
            WalState::Log(wal) => Ok(wal),
            WalState::NotYet(_) => Err(io::Error::other("there is no write-ahead log")),
        }
    }

    fn sync_wal(&mut self) -> io::Result<()> {
        match &mut self.wal_state {
            WalState::Log(wal) => wal.sync(),
            // All writes were followed by a sync of the three logs.
            WalState::NotYet(_) => Ok(()),
        }
    }

    fn append(&mut self, batch: &LineBatch) -> io::Result<()> {
        for (kind, line) in batch.lines() {
            self.logs[kind.index()].scratch.extend_from_slice(line);
        }
        self.logs.iter_mut().try_for_each(LogAppender::write_scratch)
    }

    fn sync_logs(&mut self) -> io::Result<()> {
        self.logs.iter_mut().try_for_each(LogAppender::sync)
    }

    fn checkpoint(&mut self, head: ChainHead) -> io::Result<()> {
        self.sync_logs()?;
        let lens = [self.logs[0].len, self.logs[1].len, self.logs[2].len];
        self.wal()?.restart(&WalCheckpoint { head, lens })
    }

    /// Syncs the three logs, so that they are complete on their own, and removes the write-ahead log.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        if matches!(self.wal_state, WalState::NotYet(_)) {
            return Ok(());
        }
        self.sync_logs()?;
        self.disk.sync_names()?;
        self.disk.remove(WAL_FILE)?;
        self.disk.sync_names()
    }
}
