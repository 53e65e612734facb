//! Reads the three logs as one chain, and locates every break in it.
//!
//! While the chain is intact, the next record is in the log whose current line continues it; nothing is
//! searched, and one line per log is in memory. If no log continues the chain, the three current lines show
//! the cause. After a break reading continues behind it, so that later breaks are found too.

mod breaks;

use std::collections::HashMap;
use std::io;

use envelope::Hash;

use crate::disk::FolderHandle;
use crate::log_kind::{ChainHead, LogKind, Seq};
use crate::log_reader::LogReader;
use crate::problem::{JournalProblem, TornTail};
use crate::wal::WalContents;
use breaks::{ScanStep, SeenLine};

/// The next item of a scan.
pub(crate) enum ScanItem {
    /// A record, available as [`LogScanner::current`].
    Record,
    Problem(JournalProblem),
}

/// The record that [`LogScanner::next`] found last.
#[derive(Debug)]
pub(crate) struct CurrentRecord {
    pub kind: LogKind,
    pub seq: Seq,
    pub line: u64,
    pub offset: u64,
    /// The line without its newline.
    pub text: Vec<u8>,
    /// True if only the write-ahead log has the record so far.
    pub from_wal: bool,
}

pub(crate) struct LogScanner<'a> {
    dir: &'a FolderHandle,
    sources: [LogReader; 3],
    /// Read when the logs end, and not earlier: a running process writes each record here first, so
    /// everything in the logs is then in here too.
    wal: WalFallback,
    head: ChainHead,
    /// False after a break, when the hash of the record before is unknown.
    anchored: bool,
    pub current: CurrentRecord,
    /// A record that is further down than it should be; it comes next.
    ahead: Option<SeenLine>,
    /// Records that were read before their position; skipped when the scan reaches them.
    read_ahead: HashMap<Seq, Hash>,
    /// Sequence numbers of changed lines, so that they are not reported as missing too.
    swallowed: Vec<Seq>,
}

impl<'a> LogScanner<'a> {
    pub(crate) fn open(dir: &'a FolderHandle, start: ChainHead) -> io::Result<LogScanner<'a>> {
        let current = CurrentRecord {
            kind: LogKind::Call,
            seq: 0,
            line: 0,
            offset: 0,
            text: Vec::new(),
            from_wal: false,
        };
        Ok(LogScanner {
            dir,
            sources: LogReader::open_all(dir)?,
            wal: WalFallback::NotRead,
            head: start,
            anchored: true,
            current,
            ahead: None,
            read_ahead: HashMap::new(),
            swallowed: Vec::new(),
        })
    }

    /// Returns the newest record read so far.
    pub(crate) fn head(&self) -> ChainHead {
        self.head
    }

    /// Returns the logs that end in the middle of a line. Complete only at the end of the scan.
    pub(crate) fn torn_tails(&self) -> Vec<TornTail> {
        self.sources
            .iter()
            .filter_map(|source| {
                let head = source.current.as_ref()?;
                Some(TornTail {
                    file: source.kind.file().to_owned(),
                    line: head.line,
                    offset: head.offset,
                    bytes: head.text.len() as u64,
                })
            })
            .collect()
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<ScanItem>> {
        if let Some(ahead) = self.ahead.take() {
            self.read_ahead.insert(ahead.link.seq, ahead.link.hash);
            self.head = ahead.link.head();
            self.anchored = true;
            self.current = CurrentRecord {
                kind: ahead.kind,
                seq: ahead.link.seq,
                line: ahead.line,
                offset: ahead.offset,
                text: ahead.text,
                from_wal: false,
            };
            return Ok(Some(ScanItem::Record));
        }
        loop {
            if let Some(index) = (0..3).find(|index| self.is_next(*index)) {
                self.accept(index)?;
                return Ok(Some(ScanItem::Record));
            }
            if self.skip_read_ahead()? {
                continue;
            }
            return match self.diagnose()? {
                ScanStep::Again => continue,
                ScanStep::Found(found) => Ok(Some(found)),
                ScanStep::End => Ok(None),
            };
        }
    }

    fn expected(&self) -> Seq {
        self.head.seq.saturating_add(1)
    }

    /// Whether the log's current line is the next record of the chain.
    fn is_next(&mut self, index: usize) -> bool {
        if self.anchored {
            return self.sources[index].continues(&self.head);
        }
        let expected = self.expected();
        let LogReader { kind, current: head, .. } = &mut self.sources[index];
        head.as_mut()
            .is_some_and(|head| head.link.is_some_and(|link| link.seq == expected) && head.is_intact(*kind))
    }

    fn accept(&mut self, index: usize) -> io::Result<()> {
        let source = &mut self.sources[index];
        if let Some(head) = &mut source.current {
            std::mem::swap(&mut self.current.text, &mut head.text);
            self.current.kind = source.kind;
            self.current.line = head.line;
            self.current.offset = head.offset;
            self.current.from_wal = false;
            if let Some(link) = head.link {
                self.head = link.head();
            }
        }
        self.current.seq = self.head.seq;
        self.anchored = true;
        source.advance()
    }

    fn skip_read_ahead(&mut self) -> io::Result<bool> {
        for source in &mut self.sources {
            let link = source.current.as_ref().and_then(|head| head.link);
            if link.is_some_and(|link| self.read_ahead.get(&link.seq) == Some(&link.hash)) {
                source.advance()?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn take_from_wal(&mut self, expected: Seq) -> io::Result<bool> {
        if matches!(self.wal, WalFallback::NotRead) {
            self.wal = WalContents::read(self.dir)?.map_or(WalFallback::None, WalFallback::Read);
        }
        let WalFallback::Read(wal) = &self.wal else { return Ok(false) };
        let Some(record) = wal.get(expected) else { return Ok(false) };
        if self.anchored && record.link.prev != self.head.hash {
            return Ok(false);
        }
        let text = record.line.strip_suffix(b"\n").unwrap_or(&record.line);
        self.current.text.clear();
        self.current.text.extend_from_slice(text);
        self.current.kind = record.kind;
        self.current.seq = expected;
        self.current.line = 0;
        self.current.offset = 0;
        self.current.from_wal = true;
        self.head = record.link.head();
        self.anchored = true;
        Ok(true)
    }
}

enum WalFallback {
    NotRead,
    None,
    Read(WalContents),
}
