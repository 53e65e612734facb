//! Bounds the output streams of processes, for the families of commands and tasks.
//!
//! A stream is either small and complete in the output, or stored in an artifact, of which only the beginning and
//! the end are read, whatever its size.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use envelope::Fault;
use serde::{Deserialize, Serialize};

use super::Projection;
use crate::preview::clean::clean;
use crate::preview::tokenizer::estimate;
use crate::preview::{InputGap, PreviewInput, PreviewStyle, preview};

/// A part of an artifact up to this size is read completely.
const WHOLE: u64 = 4 << 20;
/// Bytes read from the beginning and from the end of a larger one.
const WINDOW: u64 = 1 << 20;
/// Maximum ratio between the full text in the canonical result and the receipt.
const UNFOLDED: usize = 4;
/// Upper bound for bytes per token, except for rows of equal signs.
const BYTES_PER_TOKEN: usize = 16;
/// Tokens of a reference to the artifact of a stream.
pub(super) const REFERENCE: usize = 32;

/// One complete stream.
#[derive(Debug, Clone, Copy)]
pub struct ProcessStream<'a> {
    /// The output: all of it, or its beginning if `artifact` has the complete stream.
    pub text: &'a str,
    /// True if `text` is all of the output.
    pub complete: bool,
    /// Offset of this part in the artifact.
    pub from: u64,
    pub bytes: u64,
    /// `None` if not counted.
    pub lines: Option<u64>,
    pub digest: Option<&'a str>,
    pub artifact: Option<&'a str>,
}

/// Path relative to the run. The field that refers to it describes the content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ArtifactRef {
    pub(super) path: String,
}

/// One bounded stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BoundedStream {
    /// `None` if the stream is empty.
    pub(super) preview: Option<String>,
    pub(super) truncated: bool,
    pub(super) artifact: Option<usize>,
    pub(super) bytes: Option<u64>,
    pub(super) lines: Option<u64>,
    pub(super) digest: Option<String>,
    /// Tokens that a receipt needs for it.
    cost: usize,
}

/// Form of a text in the canonical result, if a receipt can show all of it.
#[derive(Clone, Copy)]
pub(super) enum PreviewForm {
    /// Line by line, as printed.
    AsPrinted,
    /// As the receipt shows it.
    AsRendered,
}

/// Bounds the stream called `role` and adds its artifact.
pub(super) fn bound_stream(
    role: &str,
    stream: &ProcessStream<'_>,
    (tokens, form): (usize, PreviewForm),
    artifacts: &mut Vec<ArtifactRef>,
    with: &mut Projection<'_>,
) -> Result<BoundedStream, Fault> {
    let shortened = preview_stream(stream, tokens, with);
    let cost = shortened.cost();
    let StreamPreview { text: shown, truncated, referred } = shortened;
    let text = match form {
        PreviewForm::AsPrinted if !truncated => full_text(stream, tokens).unwrap_or(shown),
        PreviewForm::AsPrinted | PreviewForm::AsRendered => shown,
    };
    let (mut path, mut digest) = (stream.artifact.map(str::to_owned), stream.digest.map(str::to_owned));
    if referred && stream.complete && path.is_none() {
        // Small enough for the journal, but the receipt does not show all of it, so the rest is stored for later
        // requests.
        let kept = with.keep(role, "log", stream.text.as_bytes())?;
        digest = kept.as_ref().map(|kept| kept.hash.to_string());
        path = kept.map(|kept| kept.path);
    }
    let artifact = path.map(|path| {
        artifacts.push(ArtifactRef { path });
        artifacts.len() - 1
    });
    // A complete stream can be measured by the reader. A cut or stored one is described.
    let described = truncated || artifact.is_some();
    Ok(BoundedStream {
        preview: (!text.is_empty()).then_some(text),
        truncated,
        artifact,
        // The total size of a part is unknown.
        bytes: (described && stream.lines.is_some()).then_some(stream.bytes),
        lines: stream.lines.filter(|_| described),
        digest: digest.filter(|_| artifact.is_some()),
        cost,
    })
}

/// Bounds two streams that share a budget: one can use what the other does not need.
pub(super) fn bound_streams(
    out: &ProcessStream<'_>,
    err: &ProcessStream<'_>,
    (tokens, form): (usize, PreviewForm),
    artifacts: &mut Vec<ArtifactRef>,
    with: &mut Projection<'_>,
) -> Result<(BoundedStream, BoundedStream), Fault> {
    let first = preview_stream(err, tokens / 2, with).cost();
    let shown_out = bound_stream("stdout", out, (tokens.saturating_sub(first), form), artifacts, with)?;
    let left = tokens.saturating_sub(shown_out.cost);
    let shown_err = bound_stream("stderr", err, (left, form), artifacts, with)?;
    Ok((shown_out, shown_err))
}

/// Returns the output without terminal control sequences. The canonical result has this form if a receipt can show
/// all of it in fewer lines. Returns `None` if it is much longer than the receipt, or not available.
fn full_text(stream: &ProcessStream<'_>, tokens: usize) -> Option<String> {
    let most = tokens.saturating_mul(UNFOLDED);
    let at_hand = stream.complete && stream.text.len() <= most.saturating_mul(BYTES_PER_TOKEN);
    let text = at_hand.then(|| clean(stream.text.as_bytes()).text)?;
    (estimate(&text) <= most).then(|| text.trim_end_matches('\n').to_owned())
}

/// Renders a text of the canonical result for a receipt. A text that was cut is shown unchanged.
pub(super) fn render_preview(text: &str, truncated: bool, tokens: usize) -> Cow<'_, str> {
    match truncated {
        true => Cow::Borrowed(text),
        false => Cow::Owned(preview(&PreviewInput::whole(text.as_bytes()), tokens, PreviewStyle::Log).text),
    }
}

/// Returns true if at least a third of the characters are invisible or were not UTF-8. A text with NUL-terminated
/// names, or with some words in an old encoding, has fewer of them.
pub(super) fn is_binary_text(shown: &str) -> bool {
    /// Length of an escaped character, such as `\u{1a}`.
    const SPELLED: usize = 6;
    let spelled = shown.matches("\\u{").count();
    let unknown = shown.matches(char::REPLACEMENT_CHARACTER).count();
    let characters = shown.chars().count().saturating_sub(spelled * (SPELLED - 1));
    3 * (spelled + unknown) > characters
}

/// A stream as a receipt shows it.
struct StreamPreview {
    text: String,
    truncated: bool,
    /// True if some lines are not shown as printed, so that the receipt needs a reference.
    referred: bool,
}

impl StreamPreview {
    /// Returns its cost in a receipt.
    fn cost(&self) -> usize {
        estimate(&self.text) + if self.referred { REFERENCE } else { 0 }
    }
}

fn preview_stream(stream: &ProcessStream<'_>, tokens: usize, with: &Projection<'_>) -> StreamPreview {
    let with_reference = tokens.saturating_sub(REFERENCE);
    let preview_of = |head: &[u8], gap, tail: &[u8]| {
        let shown = preview(&PreviewInput { head, gap, tail }, with_reference, PreviewStyle::Log);
        StreamPreview { truncated: shown.truncated, referred: true, text: shown.text }
    };
    if stream.complete {
        let text = stream.text.as_bytes();
        let whole = (stream.artifact.is_none() && text.len() <= tokens.saturating_mul(BYTES_PER_TOKEN))
            .then(|| preview(&PreviewInput::whole(text), tokens, PreviewStyle::Log))
            .filter(|shown| !shown.truncated && shown.left_out_lines == 0);
        return match whole {
            Some(shown) => StreamPreview { truncated: false, referred: false, text: shown.text },
            None => preview_of(text, None, &[]),
        };
    }
    let windows = stream.artifact.and_then(|path| with.open(path).ok()).map(|file| windows(file, stream));
    match windows {
        Some(Ok((head, gap, tail))) => preview_of(&head, gap, &tail),
        // The artifact cannot be read, but the beginning is available.
        Some(Err(_)) | None => {
            let shown = stream.text.len() as u64;
            let rest = InputGap { bytes: stream.bytes.saturating_sub(shown), lines: None };
            StreamPreview { truncated: true, ..preview_of(stream.text.as_bytes(), Some(rest), &[]) }
        }
    }
}

type StreamWindows = (Vec<u8>, Option<InputGap>, Vec<u8>);

/// Reads the beginning and the end of a part of an artifact.
fn windows(mut file: File, stream: &ProcessStream<'_>) -> std::io::Result<StreamWindows> {
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
    Ok((head, Some(InputGap { bytes: stream.bytes - 2 * WINDOW, lines }), tail))
}

/// Formats "artifacts/build-stdout.log (1,234 lines, 56,789 bytes)".
pub(super) fn describe_artifact(path: &str, lines: Option<u64>, bytes: Option<u64>) -> String {
    match (lines, bytes) {
        (Some(lines), Some(bytes)) => format!("{path} ({lines} lines, {bytes} bytes)"),
        (None, Some(bytes)) => format!("{path} ({bytes} bytes)"),
        (Some(lines), None) => format!("{path} ({lines} lines)"),
        (None, None) => path.to_owned(),
    }
}
