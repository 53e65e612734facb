//! Diagnoses a break of the chain: its cause and its position.
//!
//! Only damaged runs get here, so searching a whole log is affordable; `verify` limits the number of breaks.

use std::io;

use super::{LogScanner, ScanItem};
use crate::disk::FolderHandle;
use crate::line::ChainLink;
use crate::log_kind::{LogKind, Seq};
use crate::log_reader::{LogLine, LogReader};
use crate::problem::{JournalProblem, ProblemKind};
use crate::run_header::RUN_FILE;

/// The continuation after a break.
pub(super) enum ScanStep {
    Found(ScanItem),
    Again,
    End,
}

impl LogScanner<'_> {
    /// Finds the reason why no log continues the chain.
    pub(super) fn diagnose(&mut self) -> io::Result<ScanStep> {
        let expected = self.expected();
        if let Some(index) = self.changed_line() {
            return self.report_changed(index);
        }
        if self.take_from_wal(expected)? {
            return Ok(ScanStep::Found(ScanItem::Record));
        }
        if let Some(index) = self.any_changed_line() {
            return self.report_changed(index);
        }
        if let Some(index) = self.intact_line(|link| link.seq == expected) {
            return self.report_unchained(index);
        }
        if let Some(index) = self.intact_line(|link| link.seq < expected) {
            return self.report_duplicate(index);
        }
        let Some(next) = self.lowest_line() else { return Ok(ScanStep::End) };
        if self.swallowed.contains(&expected) {
            self.skip_to(expected);
            return Ok(ScanStep::Again);
        }
        if let Some((index, ahead)) = self.look_ahead(expected)? {
            return self.report_displaced(index, ahead);
        }
        if let Some(torn) =
            self.sources.iter().position(|source| source.current.is_some() && !source.is_complete())
        {
            let at = self.place(torn);
            self.sources[torn].advance()?;
            self.skip_to(expected);
            let message = "the log ends in the middle of this line, but the run continues".to_owned();
            return Ok(at.step(Some(expected), ProblemKind::Truncated, message));
        }
        let (at, link) = (self.place(next), self.link(next));
        let until = link.map_or(expected, |link| link.seq.saturating_sub(1));
        self.skip_to(until);
        let gone = if until > expected {
            format!("records {expected} to {until} are missing; this line is record {}", until + 1)
        } else {
            format!("record {expected} is missing; this line is record {}", until.saturating_add(1))
        };
        Ok(ScanStep::Found(ScanItem::Problem(at.problem(Some(expected), ProblemKind::Missing, gone))))
    }

    /// Returns a complete line that was changed and is, by its number or predecessor, the next record.
    fn changed_line(&mut self) -> Option<usize> {
        let expected = self.expected();
        let (anchored, hash) = (self.anchored, self.head.hash);
        let claims = |head: &LogLine| {
            head.link.is_some_and(|link| link.seq == expected || (anchored && link.prev == hash))
        };
        (0..3).find(|index| {
            self.is_changed(*index) && self.sources[*index].current.as_ref().is_some_and(claims)
        })
    }

    fn any_changed_line(&mut self) -> Option<usize> {
        (0..3).find(|index| self.is_changed(*index))
    }

    fn is_changed(&mut self, index: usize) -> bool {
        let LogReader { kind, current: head, .. } = &mut self.sources[index];
        head.as_mut().is_some_and(|head| head.complete && !head.is_intact(*kind))
    }

    /// Returns an intact record that matches.
    fn intact_line(&self, wanted: impl Fn(&ChainLink) -> bool) -> Option<usize> {
        self.sources.iter().position(|source| {
            source.is_complete()
                && source.current.as_ref().is_some_and(|head| head.link.as_ref().is_some_and(&wanted))
        })
    }

    /// Returns the log whose current line has the lowest number.
    fn lowest_line(&self) -> Option<usize> {
        (0..3)
            .filter(|index| self.sources[*index].is_complete())
            .min_by_key(|index| self.link(*index).map_or(Seq::MAX, |link| link.seq))
    }

    fn link(&self, index: usize) -> Option<ChainLink> {
        self.sources[index].current.as_ref().and_then(|head| head.link)
    }

    fn place(&self, index: usize) -> LinePosition {
        let source = &self.sources[index];
        let (line, offset) = source.current.as_ref().map_or((0, 0), |head| (head.line, head.offset));
        LinePosition { file: source.kind.file(), line, offset }
    }

    /// Continues after record `seq` without knowing its hash.
    fn skip_to(&mut self, seq: Seq) {
        self.head.seq = seq;
        self.anchored = false;
    }

    fn report_changed(&mut self, index: usize) -> io::Result<ScanStep> {
        let expected = self.expected();
        let at = self.place(index);
        let kind = self.sources[index].kind;
        let moved_from = self.sources[index].current.as_ref().and_then(|head| {
            let link = head.link?;
            let others = LogKind::ALL.into_iter().filter(|other| *other != kind);
            others.into_iter().find(|other| link.is_valid(*other, &head.text)).map(|other| (link, other))
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
        let message = "this line was changed after it was written".to_owned();
        // The rest of a line that was broken in two; its number was already passed.
        if let Some(link) =
            link.filter(|link| link.seq < expected && !(self.anchored && link.prev == self.head.hash))
        {
            return Ok(at.step(Some(link.seq), ProblemKind::Changed, message));
        }
        self.swallowed.extend(link.map(|link| link.seq).filter(|seq| *seq > expected));
        self.skip_to(expected);
        Ok(at.step(Some(expected), ProblemKind::Changed, message))
    }

    /// Reports an intact record with the expected number that does not follow the record before it.
    fn report_unchained(&mut self, index: usize) -> io::Result<ScanStep> {
        let expected = self.expected();
        let (at, link) = (self.place(index), self.link(index));
        if expected == 1 {
            self.anchored = false;
            let message = "it is not the run.json that this record was started with".to_owned();
            let problem = JournalProblem {
                file: RUN_FILE.to_owned(),
                line: None,
                offset: None,
                seq: None,
                what: ProblemKind::HeaderChanged,
                message,
            };
            return Ok(ScanStep::Found(ScanItem::Problem(problem)));
        }
        self.sources[index].advance()?;
        // If the rest of the run continues this line, it is genuine and the record before it is not.
        let rest_continues = link.is_some_and(|link| (0..3).any(|i| self.sources[i].continues(&link.head())));
        if let Some(link) = link.filter(|_| rest_continues) {
            self.head = link.head();
        }
        let message = format!("this line does not continue record {}", expected - 1);
        Ok(at.step(Some(expected), ProblemKind::Foreign, message))
    }

    /// Reports a number that occurred before.
    fn report_duplicate(&mut self, index: usize) -> io::Result<ScanStep> {
        let (at, link) = (self.place(index), self.link(index));
        let kind = self.sources[index].kind;
        self.sources[index].advance()?;
        let Some(link) = link else { return Ok(ScanStep::Again) };
        let earlier = find_line(self.dir, kind, |seen| seen.seq == link.seq)?;
        let (what, message) = match earlier {
            Some(first) if first.link.hash == link.hash && first.line < at.line => {
                (ProblemKind::Duplicated, format!("line {} is the same record", first.line))
            }
            Some(_) | None => (ProblemKind::Foreign, "this line is not a record of this run".to_owned()),
        };
        Ok(at.step(Some(link.seq), what, message))
    }

    /// Searches the expected record further down in the logs.
    fn look_ahead(&self, expected: Seq) -> io::Result<Option<(usize, SeenLine)>> {
        for (index, source) in self.sources.iter().enumerate() {
            let after = source.current.as_ref().map_or(u64::MAX, |head| head.line);
            let wanted =
                |link: &ChainLink| link.seq == expected && (!self.anchored || link.prev == self.head.hash);
            if let Some(found) = find_line(self.dir, source.kind, wanted)?
                && found.line > after
            {
                return Ok(Some((index, found)));
            }
        }
        Ok(None)
    }

    /// Reports that the expected record comes after the current line, which is therefore misplaced.
    fn report_displaced(&mut self, index: usize, ahead: SeenLine) -> io::Result<ScanStep> {
        let (at, link) = (self.place(index), self.link(index));
        let Some(link) = link else { return Ok(ScanStep::End) };
        let mut ours = false;
        for kind in LogKind::ALL {
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
            format!("record {} comes before record {} (line {})", link.seq, ahead.link.seq, ahead.line);
        self.ahead = Some(ahead);
        Ok(at.step(Some(link.seq), ProblemKind::Reordered, message))
    }
}

struct LinePosition {
    file: &'static str,
    line: u64,
    offset: u64,
}

impl LinePosition {
    fn problem(&self, seq: Option<Seq>, what: ProblemKind, message: String) -> JournalProblem {
        JournalProblem {
            file: self.file.to_owned(),
            line: Some(self.line),
            offset: Some(self.offset),
            seq,
            what,
            message,
        }
    }

    fn step(&self, seq: Option<Seq>, what: ProblemKind, message: String) -> ScanStep {
        ScanStep::Found(ScanItem::Problem(self.problem(seq, what, message)))
    }
}

/// An intact record somewhere in a log.
pub(super) struct SeenLine {
    pub(super) kind: LogKind,
    pub(super) line: u64,
    pub(super) offset: u64,
    pub(super) link: ChainLink,
    pub(super) text: Vec<u8>,
}

/// Searches one log from its beginning; used only for damaged runs.
fn find_line(
    dir: &FolderHandle,
    kind: LogKind,
    wanted: impl Fn(&ChainLink) -> bool,
) -> io::Result<Option<SeenLine>> {
    let mut source = LogReader::open(dir, kind)?;
    while let Some(head) = &mut source.current {
        if let Some(link) = head.link.filter(&wanted)
            && head.is_intact(kind)
        {
            let text = std::mem::take(&mut head.text);
            return Ok(Some(SeenLine { kind, line: head.line, offset: head.offset, link, text }));
        }
        source.advance()?;
    }
    Ok(None)
}
