//! Reads the three logs as one chain and says exactly where it breaks.
//!
//! As long as the chain holds, the log whose next line continues it is the one to read on; nothing is searched
//! and one line per log is in memory. When no log continues it, the three lines at hand tell what
//! happened. After a break reading goes on behind it, so that a second break is found too.

mod breaks;

use std::collections::HashMap;
use std::io;

use envelope::Hash;

use crate::disk::Dir;
use crate::kind::{ChainHead, Kind, Seq};
use crate::problem::{Problem, TornTail};
use crate::source::Source;
use crate::wal::Seen;
use breaks::{SeenLine, Step};

/// What comes next in a run.
pub(crate) enum Found {
    /// A record; [`Scan::current`] has it.
    Record,
    Problem(Problem),
}

/// The record that [`Scan::next`] found last.
#[derive(Debug)]
pub(crate) struct Current {
    pub kind: Kind,
    pub seq: Seq,
    pub line: u64,
    pub offset: u64,
    /// The line without its newline.
    pub text: Vec<u8>,
    /// The logs do not have it (yet); the write-ahead log does.
    pub from_wal: bool,
}

pub(crate) struct Scan<'a> {
    dir: &'a Dir,
    sources: [Source; 3],
    /// Read when the logs end. Not before: a run that is still going writes each record here first, so
    /// what the logs show is then in here too.
    wal: Wal,
    head: ChainHead,
    /// False behind a break, when the hash of the record before is not known.
    anchored: bool,
    pub current: Current,
    /// A record that stands further down than it should; comes next.
    ahead: Option<SeenLine>,
    /// Records that were read ahead of their place; skipped when reading gets there.
    read_ahead: HashMap<Seq, Hash>,
    /// Numbers that a changed line bears, so that it is not reported a second time as missing.
    swallowed: Vec<Seq>,
}

impl<'a> Scan<'a> {
    pub(crate) fn open(dir: &'a Dir, start: ChainHead) -> io::Result<Scan<'a>> {
        let current =
            Current { kind: Kind::Call, seq: 0, line: 0, offset: 0, text: Vec::new(), from_wal: false };
        Ok(Scan {
            dir,
            sources: Source::open_all(dir)?,
            wal: Wal::NotRead,
            head: start,
            anchored: true,
            current,
            ahead: None,
            read_ahead: HashMap::new(),
            swallowed: Vec::new(),
        })
    }

    /// The newest record read so far.
    pub(crate) fn head(&self) -> ChainHead {
        self.head
    }

    /// Logs that end in the middle of a line; complete only when the scan is at its end.
    pub(crate) fn torn(&self) -> Vec<TornTail> {
        self.sources
            .iter()
            .filter_map(|source| {
                let head = source.head.as_ref()?;
                Some(TornTail {
                    file: source.kind.file().to_owned(),
                    line: head.line,
                    offset: head.offset,
                    bytes: head.text.len() as u64,
                })
            })
            .collect()
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<Found>> {
        if let Some(ahead) = self.ahead.take() {
            self.read_ahead.insert(ahead.link.seq, ahead.link.hash);
            self.head = ahead.link.head();
            self.anchored = true;
            self.current = Current {
                kind: ahead.kind,
                seq: ahead.link.seq,
                line: ahead.line,
                offset: ahead.offset,
                text: ahead.text,
                from_wal: false,
            };
            return Ok(Some(Found::Record));
        }
        loop {
            if let Some(index) = (0..3).find(|index| self.fits(*index)) {
                self.accept(index)?;
                return Ok(Some(Found::Record));
            }
            if self.skip_read_ahead()? {
                continue;
            }
            return match self.explain()? {
                Step::Again => continue,
                Step::Found(found) => Ok(Some(found)),
                Step::End => Ok(None),
            };
        }
    }

    fn expected(&self) -> Seq {
        self.head.seq.saturating_add(1)
    }

    /// Whether the log stands at the next record of the chain.
    fn fits(&mut self, index: usize) -> bool {
        if self.anchored {
            return self.sources[index].continues(&self.head);
        }
        let expected = self.expected();
        let Source { kind, head, .. } = &mut self.sources[index];
        head.as_mut()
            .is_some_and(|head| head.link.is_some_and(|link| link.seq == expected) && head.is_whole(*kind))
    }

    fn accept(&mut self, index: usize) -> io::Result<()> {
        let source = &mut self.sources[index];
        if let Some(head) = &mut source.head {
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
            let link = source.head.as_ref().and_then(|head| head.link);
            if link.is_some_and(|link| self.read_ahead.get(&link.seq) == Some(&link.hash)) {
                source.advance()?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn take_from_wal(&mut self, expected: Seq) -> io::Result<bool> {
        if matches!(self.wal, Wal::NotRead) {
            self.wal = Seen::read(self.dir)?.map_or(Wal::None, Wal::Read);
        }
        let Wal::Read(wal) = &self.wal else { return Ok(false) };
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

enum Wal {
    NotRead,
    None,
    Read(Seen),
}
