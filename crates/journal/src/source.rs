//! One log, read line by line in bounded memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use crate::disk::Dir;
use crate::kind::{ChainHead, Kind};
use crate::line::{Link, MAX_LINE};

const BUFFER: usize = 128 << 10;

/// A log and the line that it stands at.
pub(crate) struct Source {
    pub kind: Kind,
    reader: Option<BufReader<File>>,
    /// `None` at the end of the log.
    pub head: Option<Head>,
    next_line: u64,
    next_offset: u64,
}

/// The line a log stands at.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// Counts from 1.
    pub line: u64,
    pub offset: u64,
    /// Without the newline.
    pub text: Vec<u8>,
    /// False for a last line without its newline. A line that is longer than any record is not torn but
    /// wrong, so it counts as complete and is cut there.
    pub complete: bool,
    pub link: Option<Link>,
    /// Whether the link holds; computed when somebody asks, since hashing is most of the work.
    holds: Option<bool>,
}

impl Source {
    pub(crate) fn open(dir: &Dir, kind: Kind) -> io::Result<Source> {
        let reader = dir.read(kind.file())?.map(|file| BufReader::with_capacity(BUFFER, file));
        let mut source = Source { kind, reader, head: None, next_line: 1, next_offset: 0 };
        source.advance()?;
        Ok(source)
    }

    /// All three logs, each at its first line.
    pub(crate) fn open_all(dir: &Dir) -> io::Result<[Source; 3]> {
        let [calls, results, events] = Kind::ALL.map(|kind| Source::open(dir, kind));
        Ok([calls?, results?, events?])
    }

    /// Goes to the next line. The buffer of the line before is used again.
    pub(crate) fn advance(&mut self) -> io::Result<()> {
        let mut head = self.head.take().unwrap_or_default();
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
        head.link = Link::read(&head.text);
        head.holds = None;
        self.next_line += 1;
        self.next_offset += read as u64;
        self.head = Some(head);
        Ok(())
    }

    /// Whether the log stands at a whole record that directly continues `head`.
    pub(crate) fn continues(&mut self, head: &ChainHead) -> bool {
        let kind = self.kind;
        self.head.as_mut().is_some_and(|line| {
            let next = line
                .link
                .is_some_and(|link| Some(link.seq) == head.seq.checked_add(1) && link.prev == head.hash);
            next && line.is_whole(kind)
        })
    }

    /// Whether the log stands at a line that ends with its newline.
    pub(crate) fn is_complete(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.complete)
    }

    /// Where the line after this one starts.
    pub(crate) fn end(&self) -> u64 {
        self.next_offset
    }
}

impl Head {
    /// Whether the line is a whole record, exactly as it was written. Says nothing about its neighbours.
    pub(crate) fn is_whole(&mut self, kind: Kind) -> bool {
        if !self.complete {
            return false;
        }
        let (link, text) = (&self.link, &self.text);
        *self.holds.get_or_insert_with(|| link.is_some_and(|link| link.holds(kind, text)))
    }
}
