//! What a process printed, shared by the families of commands and of tasks.
//!
//! A stream is small and whole in the output, or lies in an artifact; then only its beginning and its end are
//! looked at, whatever its size.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use envelope::Fault;
use serde::{Deserialize, Serialize};

use super::Projection;
use crate::preview::clean::clean;
use crate::preview::tokens::estimate;
use crate::preview::{Gap, Input, Style, preview};

/// A part of an artifact up to this size is looked at as a whole.
const WHOLE: u64 = 4 << 20;
/// Of a larger one, so much of its beginning and of its end.
const WINDOW: u64 = 1 << 20;
/// How many times longer than a receipt the text may be that stands in the canonical result unfolded.
const UNFOLDED: usize = 4;
/// More bytes than these no token has, but for rows of equal signs.
const BYTES_PER_TOKEN: usize = 16;
/// Tokens of the words that say where the whole of a stream is.
pub(super) const REFERENCE: usize = 32;

/// One stream, complete.
#[derive(Debug, Clone, Copy)]
pub struct Stream<'a> {
    /// What was printed: everything, or the beginning when `artifact` has it all.
    pub text: &'a str,
    /// Whether `text` is everything.
    pub complete: bool,
    /// Where this part begins in the artifact.
    pub from: u64,
    pub bytes: u64,
    /// None when nobody counted.
    pub lines: Option<u64>,
    pub digest: Option<&'a str>,
    pub artifact: Option<&'a str>,
}

/// A path relative to the run, and nothing else: what it holds is said by the field that points here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ArtifactRef {
    pub(super) path: String,
}

/// One stream, bounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    /// None when nothing was printed.
    pub(super) preview: Option<String>,
    pub(super) truncated: bool,
    pub(super) artifact: Option<usize>,
    pub(super) bytes: Option<u64>,
    pub(super) lines: Option<u64>,
    pub(super) digest: Option<String>,
    /// Tokens that a receipt needs for it.
    cost: usize,
}

/// How a text that a receipt can tell whole stands in a canonical result.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// Line by line, as it was printed.
    Truth,
    /// As a receipt tells it.
    Told,
}

/// Bounds the stream called `role` and notes its artifact.
pub(super) fn show(
    role: &str,
    stream: &Stream<'_>,
    (tokens, form): (usize, Form),
    artifacts: &mut Vec<ArtifactRef>,
    with: &mut Projection<'_>,
) -> Result<Shown, Fault> {
    let shortened = shortened(stream, tokens, with);
    let cost = shortened.cost();
    let Shortened { text: shown, truncated, referred } = shortened;
    let text = match form {
        Form::Truth if !truncated => unfolded(stream, tokens).unwrap_or(shown),
        Form::Truth | Form::Told => shown,
    };
    let (mut path, mut digest) = (stream.artifact.map(str::to_owned), stream.digest.map(str::to_owned));
    if referred && stream.complete && path.is_none() {
        // Small enough for the record, but not all of it is in the receipt: the rest must be there to be asked for.
        let kept = with.keep(role, "log", stream.text.as_bytes())?;
        digest = kept.as_ref().map(|kept| kept.hash.to_string());
        path = kept.map(|kept| kept.path);
    }
    let artifact = path.map(|path| {
        artifacts.push(ArtifactRef { path });
        artifacts.len() - 1
    });
    // What was shown whole needs no size: it can be counted. What was not, or is kept, is described.
    let described = truncated || artifact.is_some();
    Ok(Shown {
        preview: (!text.is_empty()).then_some(text),
        truncated,
        artifact,
        // Of a part nobody knows how large the whole is.
        bytes: (described && stream.lines.is_some()).then_some(stream.bytes),
        lines: stream.lines.filter(|_| described),
        digest: digest.filter(|_| artifact.is_some()),
        cost,
    })
}

/// Two streams that share a budget: the smaller one leaves the other what it does not need.
pub(super) fn show_both(
    out: &Stream<'_>,
    err: &Stream<'_>,
    (tokens, form): (usize, Form),
    artifacts: &mut Vec<ArtifactRef>,
    with: &mut Projection<'_>,
) -> Result<(Shown, Shown), Fault> {
    let first = shortened(err, tokens / 2, with).cost();
    let shown_out = show("stdout", out, (tokens.saturating_sub(first), form), artifacts, with)?;
    let left = tokens.saturating_sub(shown_out.cost);
    let shown_err = show("stderr", err, (left, form), artifacts, with)?;
    Ok((shown_out, shown_err))
}

/// What was printed, as it is but for what would act on a screen: the canonical result holds it so where a receipt
/// can tell all of it in fewer lines. None where it is far longer than the receipt, or not at hand.
fn unfolded(stream: &Stream<'_>, tokens: usize) -> Option<String> {
    let most = tokens.saturating_mul(UNFOLDED);
    let at_hand = stream.complete && stream.text.len() <= most.saturating_mul(BYTES_PER_TOKEN);
    let text = at_hand.then(|| clean(stream.text.as_bytes()).text)?;
    (estimate(&text) <= most).then(|| text.trim_end_matches('\n').to_owned())
}

/// A text of the canonical result as a receipt tells it. One that was cut is told as it stands.
pub(super) fn told(text: &str, truncated: bool, tokens: usize) -> Cow<'_, str> {
    match truncated {
        true => Cow::Borrowed(text),
        false => Cow::Owned(preview(&Input::whole(text.as_bytes()), tokens, Style::Log).text),
    }
}

/// Whether a third of the characters, or more, are not to be seen or were not UTF-8. A text with a NUL behind each name,
/// or with some words in an old encoding, has fewer of them.
pub(super) fn is_no_text(shown: &str) -> bool {
    /// What a character takes that is spelled out, such as `\u{1a}`.
    const SPELLED: usize = 6;
    let spelled = shown.matches("\\u{").count();
    let unknown = shown.matches(char::REPLACEMENT_CHARACTER).count();
    let characters = shown.chars().count().saturating_sub(spelled * (SPELLED - 1));
    3 * (spelled + unknown) > characters
}

/// A stream as a receipt tells it.
struct Shortened {
    text: String,
    truncated: bool,
    /// Whether not every line is told as it was printed, so that it must be said where they all are.
    referred: bool,
}

impl Shortened {
    /// What it takes of a receipt.
    fn cost(&self) -> usize {
        estimate(&self.text) + if self.referred { REFERENCE } else { 0 }
    }
}

fn shortened(stream: &Stream<'_>, tokens: usize, with: &Projection<'_>) -> Shortened {
    let with_reference = tokens.saturating_sub(REFERENCE);
    let preview_of = |head: &[u8], gap, tail: &[u8]| {
        let shown = preview(&Input { head, gap, tail }, with_reference, Style::Log);
        Shortened { truncated: shown.truncated, referred: true, text: shown.text }
    };
    if stream.complete {
        let text = stream.text.as_bytes();
        let whole = (stream.artifact.is_none() && text.len() <= tokens.saturating_mul(BYTES_PER_TOKEN))
            .then(|| preview(&Input::whole(text), tokens, Style::Log))
            .filter(|shown| !shown.truncated && shown.left_out_lines == 0);
        return match whole {
            Some(shown) => Shortened { truncated: false, referred: false, text: shown.text },
            None => preview_of(text, None, &[]),
        };
    }
    let windows = stream.artifact.and_then(|path| with.open(path).ok()).map(|file| windows(file, stream));
    match windows {
        Some(Ok((head, gap, tail))) => preview_of(&head, gap, &tail),
        // The artifact is not to be looked at, or cannot be: the beginning is still there.
        Some(Err(_)) | None => {
            let shown = stream.text.len() as u64;
            let rest = Gap { bytes: stream.bytes.saturating_sub(shown), lines: None };
            Shortened { truncated: true, ..preview_of(stream.text.as_bytes(), Some(rest), &[]) }
        }
    }
}

type Windows = (Vec<u8>, Option<Gap>, Vec<u8>);

/// The beginning and the end of a part of an artifact.
fn windows(mut file: File, stream: &Stream<'_>) -> std::io::Result<Windows> {
    let mut part = |from: u64, bytes: u64| -> std::io::Result<Vec<u8>> {
        file.seek(SeekFrom::Start(from))?;
        let mut read = Vec::new();
        file.by_ref().take(bytes).read_to_end(&mut read)?;
        Ok(read)
    };
    if stream.bytes <= WHOLE {
        return Ok((part(stream.from, stream.bytes)?, None, Vec::new()));
    }
    let head = part(stream.from, WINDOW)?;
    let tail = part(stream.from + stream.bytes - WINDOW, WINDOW)?;
    let newlines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    let lines = stream.lines.map(|all| all.saturating_sub(newlines(&head) + newlines(&tail)));
    Ok((head, Some(Gap { bytes: stream.bytes - 2 * WINDOW, lines }), tail))
}

/// "artifacts/build-stdout.log (1,234 lines, 56,789 bytes)".
pub(super) fn described(path: &str, lines: Option<u64>, bytes: Option<u64>) -> String {
    match (lines, bytes) {
        (Some(lines), Some(bytes)) => format!("{path} ({lines} lines, {bytes} bytes)"),
        (None, Some(bytes)) => format!("{path} ({bytes} bytes)"),
        (Some(lines), None) => format!("{path} ({lines} lines)"),
        (None, None) => path.to_owned(),
    }
}

/// Turns a failure to print a family's own types, which none of them has, into what the gate reports.
pub(super) fn unprintable(error: &serde_json::Error) -> Fault {
    Fault::new(envelope::Failure::ResultMappingFailed, format!("the result cannot be printed: {error}"))
}
