//! One log, read line by line in bounded memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use crate::disk::FolderHandle;
use crate::line::{ChainLink, MAX_LINE};
use crate::log_kind::{ChainHead, LogKind};

const BUFFER: usize = 128 << 10;

/// A log and its current line.
pub(crate) struct LogReader {
    pub kind: LogKind,
    reader: Option<BufReader<File>>,
    /// `None` at the end of the log.
    pub current: Option<LogLine>,
    next_line: u64,
    next_offset: u64,
}

/// One line of a log.
#[derive(Debug, Default)]
pub(crate) struct LogLine {
    /// Line number, counted from 1.
    pub line: u64,
    pub offset: u64,
    /// Without the newline.
    pub text: Vec<u8>,
    /// False for a last line without its newline. A line longer than any record is invalid instead of torn,
    /// so it counts as complete and is cut there.
    pub complete: bool,
    pub link: Option<ChainLink>,
    /// Whether the line matches its hash; computed on demand, because hashing is most of the work.
    holds: Option<bool>,
}

impl LogReader {
    pub(crate) fn open(dir: &FolderHandle, kind: LogKind) -> io::Result<LogReader> {
        let reader = dir.open_file(kind.file())?.map(|file| BufReader::with_capacity(BUFFER, file));
        let mut source = LogReader { kind, reader, current: None, next_line: 1, next_offset: 0 };
        source.advance()?;
        Ok(source)
    }

    /// Opens all three logs, each at its first line.
    pub(crate) fn open_all(dir: &FolderHandle) -> io::Result<[LogReader; 3]> {
        let [calls, results, events] = LogKind::ALL.map(|kind| LogReader::open(dir, kind));
        Ok([calls?, results?, events?])
    }

    /// Reads the next line. Reuses the buffer of the line before.
    pub(crate) fn advance(&mut self) -> io::Result<()> {
        let mut head = self.current.take().unwrap_or_default();
        head.text.clear();
        let Some(reader) = &mut self.reader else { return Ok(()) };
        let read = reader.by_ref().take(MAX_LINE as u64).read_until(b'\n', &mut head.text)?;
        if read == 0 {
            self.reader = None;
            return Ok(());
        }
        let ended = head.text.last() == Some(&b'\n');
        if ended {
            head.text.pop();
        }
        head.complete = ended || read == MAX_LINE;
        head.line = self.next_line;
        head.offset = self.next_offset;
        head.link = ChainLink::read(&head.text);
        head.holds = None;
        self.next_line += 1;
        self.next_offset += read as u64;
        self.current = Some(head);
        Ok(())
    }

    /// Whether the current line is an intact record that directly continues `current`.
    pub(crate) fn continues(&mut self, head: &ChainHead) -> bool {
        let kind = self.kind;
        self.current.as_mut().is_some_and(|line| {
            let next = line
                .link
                .is_some_and(|link| Some(link.seq) == head.seq.checked_add(1) && link.prev == head.hash);
            next && line.is_intact(kind)
        })
    }

    /// Whether the current line ends with its newline.
    pub(crate) fn is_complete(&self) -> bool {
        self.current.as_ref().is_some_and(|head| head.complete)
    }

    /// Returns the offset of the next line.
    pub(crate) fn end(&self) -> u64 {
        self.next_offset
    }
}

impl LogLine {
    /// Whether the line is an intact record, without regard to its neighbours.
    pub(crate) fn is_intact(&mut self, kind: LogKind) -> bool {
        if !self.complete {
            return false;
        }
        let (link, text) = (&self.link, &self.text);
        *self.holds.get_or_insert_with(|| link.is_some_and(|link| link.is_valid(kind, text)))
    }
}
