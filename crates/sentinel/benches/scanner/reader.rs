//! The times of all readers for one text.

use std::hint::black_box;
use std::sync::Arc;

use sentinel::{AnswerParser, ParserVerdict, Scanner, TextSegment, ToolNames};
use serde_json::Value;

use super::corpora::tools;
use super::floor::{self, Body};
use super::timing::Steps;

/// Deltas that are timed together: a fraction of a millisecond.
const STEP: usize = 4_000;

pub(crate) struct Reader<'a> {
    text: &'a str,
    deltas: Vec<&'a str>,
    scanned: Steps,
    judged: Steps,
    whole: Steps,
    skipped: Steps,
    parsed: Steps,
}

/// A measurement.
pub(crate) struct Figures {
    /// Nanoseconds for a delta of four characters, for the scanner and for the judge on top of it.
    pub(crate) delta: f64,
    pub(crate) judged: f64,
    /// Megabytes a second: in deltas, as a whole, and both floors.
    pub(crate) streaming: f64,
    pub(crate) whole: f64,
    pub(crate) skipped: f64,
    pub(crate) parsed: f64,
}

impl<'a> Reader<'a> {
    /// For a text with so many calls.
    pub(crate) fn new(text: &'a str, calls: usize) -> Reader<'a> {
        let deltas = fours(text);
        check(&deltas, text.len(), calls);
        check(&[text], text.len(), calls);
        let [scanned, judged, whole, skipped, parsed] = [const { Steps::new() }; 5];
        Reader { text, deltas, scanned, judged, whole, skipped, parsed }
    }

    /// Every reader reads the text once.
    pub(crate) fn round(&mut self) {
        let mut scanner = Scanner::new(names());
        self.scanned.begin_round();
        for deltas in self.deltas.chunks(STEP) {
            self.scanned.step(|| scan(&mut scanner, deltas));
        }
        let mut judge = AnswerParser::new(names(), |_: &str, _: &Value| Ok(()));
        self.judged.begin_round();
        for deltas in self.deltas.chunks(STEP) {
            self.judged.step(|| {
                for delta in deltas {
                    judge.feed(delta, &mut |verdict: ParserVerdict<'_>| {
                        black_box(&verdict);
                    });
                }
            });
        }
        let mut scanner = Scanner::new(names());
        self.whole.begin_round();
        self.whole.step(|| scan(&mut scanner, &[black_box(self.text)]));
        self.skipped.begin_round();
        self.skipped.step(|| {
            floor::skipped(black_box(self.text), &mut |body: Body<'_, _>| {
                black_box((&body.name, &body.arguments));
            });
        });
        self.parsed.begin_round();
        self.parsed.step(|| {
            floor::parsed(black_box(self.text), &mut |body: Body<'_, _>| {
                black_box((&body.name, &body.arguments));
            });
        });
    }

    pub(crate) fn figures(&self) -> Figures {
        let megabytes = |steps: &Steps| self.text.len() as f64 / 1e6 / steps.total().as_secs_f64();
        let nanoseconds = |steps: &Steps| steps.total().as_secs_f64() * 1e9 / self.deltas.len() as f64;
        Figures {
            delta: nanoseconds(&self.scanned),
            judged: nanoseconds(&self.judged),
            streaming: megabytes(&self.scanned),
            whole: megabytes(&self.whole),
            skipped: megabytes(&self.skipped),
            parsed: megabytes(&self.parsed),
        }
    }
}

fn names() -> Arc<ToolNames> {
    Arc::new(tools().map(|name| (name, false)).collect())
}

fn scan(scanner: &mut Scanner, chunks: &[&str]) {
    for chunk in chunks {
        scanner.feed(chunk, &mut |piece| {
            black_box(&piece);
        });
    }
}

/// Speed says nothing about a scanner that finds something else.
fn check(chunks: &[&str], bytes: usize, calls: usize) {
    let mut scanner = Scanner::new(names());
    let (mut found, mut length) = (0, 0);
    let mut count = |piece: TextSegment<'_>| {
        found += usize::from(matches!(piece, TextSegment::Call { .. }));
        length += piece.raw_text().len();
    };
    for chunk in chunks {
        scanner.feed(chunk, &mut count);
    }
    scanner.finish(&mut count);
    assert_eq!((found, length), (calls, bytes), "calls found, bytes handed on");
}

/// Pieces of four characters.
fn fours(text: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = text.char_indices().map(|(at, _)| at).step_by(4).collect();
    starts.push(text.len());
    starts.windows(2).map(|ends| &text[ends[0]..ends[1]]).collect()
}
