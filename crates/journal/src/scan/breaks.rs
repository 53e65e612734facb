//! The chain breaks here: what happened, and where exactly.
//!
//! Only damage comes this way, so a search through a log is affordable; `verify` bounds how many there are.

use std::io;

use super::{Found, Scan};
use crate::disk::Dir;
use crate::header::RUN_FILE;
use crate::kind::{Kind, Seq};
use crate::line::Link;
use crate::problem::{Problem, ProblemKind};
use crate::source::{Head, Source};

/// How reading goes on.
pub(super) enum Step {
    Found(Found),
    Again,
    End,
}

impl Scan<'_> {
    /// No log continues the chain: finds out why.
    pub(super) fn explain(&mut self) -> io::Result<Step> {
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
                file: RUN_FILE.to_owned(),
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
pub(super) struct SeenLine {
    pub(super) kind: Kind,
    pub(super) line: u64,
    pub(super) offset: u64,
    pub(super) link: Link,
    pub(super) text: Vec<u8>,
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
