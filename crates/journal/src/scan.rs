//! Reads the three logs as one chain and says exactly where it breaks.
//!
//! As long as the chain holds, the log whose next line continues it is the one to read on; nothing is searched
//! and one line per log is in memory. When no log continues it, the three lines at hand tell what
//! happened. After a break reading goes on behind it, so that a second break is found too.

use std::collections::HashMap;
use std::io;

use envelope::Hash;

use crate::disk::Dir;
use crate::kind::{ChainHead, Kind, Seq};
use crate::line::Link;
use crate::problem::{Problem, ProblemKind, TornTail};
use crate::source::{Head, Source};
use crate::wal::Seen;

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

    /// No log continues the chain: finds out why.
    fn explain(&mut self) -> io::Result<Step> {
        let expected = self.expected();
        if let Some(index) = self.changed_line() {
            return self.report_changed(index);
        }
        if self.take_from_wal(expected)? {
            return Ok(Step::Found(Found::Record));
        }
        if let Some(index) = self.any_changed_line() {
            return self.report_changed(index);
        }
        if let Some(index) = self.whole_line(|link| link.seq == expected) {
            return self.report_unchained(index);
        }
        if let Some(index) = self.whole_line(|link| link.seq < expected) {
            return self.report_again(index);
        }
        let Some(next) = self.lowest_line() else { return Ok(Step::End) };
        if self.swallowed.contains(&expected) {
            self.skip_to(expected);
            return Ok(Step::Again);
        }
        if let Some((index, ahead)) = self.look_ahead(expected)? {
            return self.report_displaced(index, ahead);
        }
        if let Some(torn) =
            self.sources.iter().position(|source| source.head.is_some() && !source.is_complete())
        {
            let at = self.place(torn);
            self.sources[torn].advance()?;
            self.skip_to(expected);
            let message = "the log ends in the middle of this line, but the run goes on".to_owned();
            return Ok(at.step(Some(expected), ProblemKind::Truncated, message));
        }
        let (at, link) = (self.place(next), self.link(next));
        let until = link.map_or(expected, |link| link.seq.saturating_sub(1));
        self.skip_to(until);
        let gone = if until > expected {
            format!("records {expected} to {until} are gone; this line is record {}", until + 1)
        } else {
            format!("record {expected} is gone; this line is record {}", until.saturating_add(1))
        };
        Ok(Step::Found(Found::Problem(at.problem(Some(expected), ProblemKind::Missing, gone))))
    }

    /// A complete line that is not as it was written and, by number or predecessor, is the next record.
    fn changed_line(&mut self) -> Option<usize> {
        let expected = self.expected();
        let (anchored, hash) = (self.anchored, self.head.hash);
        let claims = |head: &Head| {
            head.link.is_some_and(|link| link.seq == expected || (anchored && link.prev == hash))
        };
        (0..3).find(|index| self.is_changed(*index) && self.sources[*index].head.as_ref().is_some_and(claims))
    }

    fn any_changed_line(&mut self) -> Option<usize> {
        (0..3).find(|index| self.is_changed(*index))
    }

    fn is_changed(&mut self, index: usize) -> bool {
        let Source { kind, head, .. } = &mut self.sources[index];
        head.as_mut().is_some_and(|head| head.complete && !head.is_whole(*kind))
    }

    /// A whole record whose number is as asked.
    fn whole_line(&self, wanted: impl Fn(&Link) -> bool) -> Option<usize> {
        self.sources.iter().position(|source| {
            source.is_complete()
                && source.head.as_ref().is_some_and(|head| head.link.as_ref().is_some_and(&wanted))
        })
    }

    /// The log that stands at the lowest number.
    fn lowest_line(&self) -> Option<usize> {
        (0..3)
            .filter(|index| self.sources[*index].is_complete())
            .min_by_key(|index| self.link(*index).map_or(Seq::MAX, |link| link.seq))
    }

    fn link(&self, index: usize) -> Option<Link> {
        self.sources[index].head.as_ref().and_then(|head| head.link)
    }

    fn place(&self, index: usize) -> Place {
        let source = &self.sources[index];
        let (line, offset) = source.head.as_ref().map_or((0, 0), |head| (head.line, head.offset));
        Place { file: source.kind.file(), line, offset }
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

    /// Goes on behind record `seq` without knowing its hash.
    fn skip_to(&mut self, seq: Seq) {
        self.head.seq = seq;
        self.anchored = false;
    }

    fn report_changed(&mut self, index: usize) -> io::Result<Step> {
        let expected = self.expected();
        let at = self.place(index);
        let kind = self.sources[index].kind;
        let moved_from = self.sources[index].head.as_ref().and_then(|head| {
            let link = head.link?;
            let others = Kind::ALL.into_iter().filter(|other| *other != kind);
            others.into_iter().find(|other| link.holds(*other, &head.text)).map(|other| (link, other))
        });
        let link = self.link(index);
        self.sources[index].advance()?;
        if let Some((link, other)) = moved_from {
            if link.seq == expected {
                self.head = link.head();
                self.anchored = true;
            }
            let message = format!("this line belongs in {}", other.file());
            return Ok(at.step(Some(link.seq), ProblemKind::Reordered, message));
        }
        let message = "this line is not what was written".to_owned();
        // The rest of a line that was broken in two: its number is behind us already.
        if let Some(link) =
            link.filter(|link| link.seq < expected && !(self.anchored && link.prev == self.head.hash))
        {
            return Ok(at.step(Some(link.seq), ProblemKind::Changed, message));
        }
        self.swallowed.extend(link.map(|link| link.seq).filter(|seq| *seq > expected));
        self.skip_to(expected);
        Ok(at.step(Some(expected), ProblemKind::Changed, message))
    }

    /// The right number, a whole record, but not the successor of the record before it.
    fn report_unchained(&mut self, index: usize) -> io::Result<Step> {
        let expected = self.expected();
        let (at, link) = (self.place(index), self.link(index));
        if expected == 1 {
            self.anchored = false;
            let message = "it is not the run.json that this record was started with".to_owned();
            let problem = Problem {
                file: crate::header::RUN_FILE.to_owned(),
                line: None,
                offset: None,
                seq: None,
                what: ProblemKind::HeaderChanged,
                message,
            };
            return Ok(Step::Found(Found::Problem(problem)));
        }
        self.sources[index].advance()?;
        // If the rest of the run continues this line, it belongs here and the record before it does not.
        let rest_continues = link.is_some_and(|link| (0..3).any(|i| self.sources[i].continues(&link.head())));
        if let Some(link) = link.filter(|_| rest_continues) {
            self.head = link.head();
        }
        let message = format!("this line does not continue record {}", expected - 1);
        Ok(at.step(Some(expected), ProblemKind::Foreign, message))
    }

    /// A number that was there before.
    fn report_again(&mut self, index: usize) -> io::Result<Step> {
        let (at, link) = (self.place(index), self.link(index));
        let kind = self.sources[index].kind;
        self.sources[index].advance()?;
        let Some(link) = link else { return Ok(Step::Again) };
        let earlier = find_line(self.dir, kind, |seen| seen.seq == link.seq)?;
        let (what, message) = match earlier {
            Some(first) if first.link.hash == link.hash && first.line < at.line => {
                (ProblemKind::Duplicated, format!("line {} is the same record", first.line))
            }
            Some(_) | None => (ProblemKind::Foreign, "this line is not a record of this run".to_owned()),
        };
        Ok(at.step(Some(link.seq), what, message))
    }

    /// The expected record, if it stands further down in one of the logs.
    fn look_ahead(&self, expected: Seq) -> io::Result<Option<(usize, SeenLine)>> {
        for (index, source) in self.sources.iter().enumerate() {
            let after = source.head.as_ref().map_or(u64::MAX, |head| head.line);
            let wanted =
                |link: &Link| link.seq == expected && (!self.anchored || link.prev == self.head.hash);
            if let Some(found) = find_line(self.dir, source.kind, wanted)?
                && found.line > after
            {
                return Ok(Some((index, found)));
            }
        }
        Ok(None)
    }

    /// The expected record stands behind the line at hand, which so is at the wrong place.
    fn report_displaced(&mut self, index: usize, ahead: SeenLine) -> io::Result<Step> {
        let (at, link) = (self.place(index), self.link(index));
        let Some(link) = link else { return Ok(Step::End) };
        let mut ours = false;
        for kind in Kind::ALL {
            let before =
                find_line(self.dir, kind, |seen| seen.seq == link.seq - 1 && seen.hash == link.prev)?;
            ours |= before.is_some();
        }
        if !ours {
            self.sources[index].advance()?;
            let message = "this line is not a record of this run".to_owned();
            return Ok(at.step(Some(link.seq), ProblemKind::Foreign, message));
        }
        let message =
            format!("record {} stands before record {} (line {})", link.seq, ahead.link.seq, ahead.line);
        self.ahead = Some(ahead);
        Ok(at.step(Some(link.seq), ProblemKind::Reordered, message))
    }
}

enum Wal {
    NotRead,
    None,
    Read(Seen),
}

enum Step {
    Found(Found),
    Again,
    End,
}

struct Place {
    file: &'static str,
    line: u64,
    offset: u64,
}

impl Place {
    fn problem(&self, seq: Option<Seq>, what: ProblemKind, message: String) -> Problem {
        Problem {
            file: self.file.to_owned(),
            line: Some(self.line),
            offset: Some(self.offset),
            seq,
            what,
            message,
        }
    }

    fn step(&self, seq: Option<Seq>, what: ProblemKind, message: String) -> Step {
        Step::Found(Found::Problem(self.problem(seq, what, message)))
    }
}

/// A whole record somewhere in a log.
struct SeenLine {
    kind: Kind,
    line: u64,
    offset: u64,
    link: Link,
    text: Vec<u8>,
}

/// Searches one log from its beginning. Only damage is worth that.
fn find_line(dir: &Dir, kind: Kind, wanted: impl Fn(&Link) -> bool) -> io::Result<Option<SeenLine>> {
    let mut source = Source::open(dir, kind)?;
    while let Some(head) = &mut source.head {
        if let Some(link) = head.link.filter(&wanted)
            && head.is_whole(kind)
        {
            let text = std::mem::take(&mut head.text);
            return Ok(Some(SeenLine { kind, line: head.line, offset: head.offset, link, text }));
        }
        source.advance()?;
    }
    Ok(None)
}
