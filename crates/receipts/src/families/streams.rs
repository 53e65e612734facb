//! Bounds the output streams of processes, for the families of commands and tasks.
//!
//! A stream is either small and complete in the output, or stored in an artifact, of which only the beginning and
//! the end are read, whatever its size.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use envelope::Fault;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{LEAST_JSON, Projection};
use crate::preview::clean::clean;
use crate::preview::tokenizer::estimate;
use crate::preview::{
    GapFailures, InputGap, PreviewInput, PreviewStyle, SMALLEST_BUDGET, announces_failure, preview,
    preview_around,
};

/// A part of an artifact up to this size is read completely.
const WHOLE: u64 = 4 << 20;
/// Bytes read from the beginning and from the end of a larger one.
const WINDOW: u64 = 1 << 20;
/// Failures of the part between both that are kept.
const MOST_FAILURES: usize = 12;
/// Longest beginning of a line of that part.
const LONGEST_LINE: usize = 4 << 10;
/// Upper bound for bytes per token, except for rows of equal signs.
const BYTES_PER_TOKEN: usize = 16;
/// Tokens of a reference to the artifact of a stream.
pub(super) const REFERENCE: usize = 32;
/// Tokens that a canonical result needs more than a receipt: its envelope and the names of its fields.
const JSON_FIELDS: usize = 180;
/// The same for the facts about a stream with an artifact.
const JSON_FACTS: usize = 110;

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
    /// Tokens that it takes from the other stream.
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
    let cost = json_text_cost(&text) + if artifact.is_some() { JSON_FACTS } else { 0 };
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

/// Returns the output without terminal control sequences, if all of it is within the budget.
fn full_text(stream: &ProcessStream<'_>, tokens: usize) -> Option<String> {
    let at_hand = stream.complete && stream.text.len() <= tokens.saturating_mul(BYTES_PER_TOKEN);
    let text = at_hand.then(|| clean(stream.text.as_bytes()).text)?;
    let text = text.trim_end_matches('\n');
    fits_as_json(text, tokens, JSON_FIELDS).then(|| text.to_owned())
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
        // The other stream gets what is left as JSON, which is the longer form.
        json_text_cost(&self.text) + if self.referred { JSON_FACTS } else { 0 }
    }
}

/// Returns true if the text, as JSON with `more` tokens beside it, is within the budget, however small that is.
fn fits_as_json(text: &str, tokens: usize, more: usize) -> bool {
    estimate(text) <= tokens && json_text_cost(text) + more <= tokens.max(LEAST_JSON)
}

fn json_text_cost(text: &str) -> usize {
    estimate(&Value::from(text).to_string())
}

fn preview_stream(stream: &ProcessStream<'_>, tokens: usize, with: &Projection<'_>) -> StreamPreview {
    let with_reference = tokens.saturating_sub(REFERENCE);
    let preview_of = |head: &[u8], gap, missing: &GapFailures, tail: &[u8]| {
        let input = PreviewInput { head, gap, tail };
        let most = tokens.max(LEAST_JSON);
        let mut room = with_reference;
        loop {
            let shown = preview_around(&input, missing, room, PreviewStyle::Log);
            let cost = json_text_cost(&shown.text) + JSON_FIELDS + JSON_FACTS;
            if cost <= most || room <= SMALLEST_BUDGET {
                return StreamPreview { truncated: shown.truncated, referred: true, text: shown.text };
            }
            room = (room.saturating_mul(most) / cost).min(room - 1).max(SMALLEST_BUDGET);
        }
    };
    let nothing = GapFailures::default();
    if stream.complete {
        let text = stream.text.as_bytes();
        let whole = (stream.artifact.is_none() && text.len() <= tokens.saturating_mul(BYTES_PER_TOKEN))
            .then(|| preview(&PreviewInput::whole(text), tokens, PreviewStyle::Log))
            .filter(|shown| !shown.truncated && shown.left_out_lines == 0)
            .filter(|shown| fits_as_json(&shown.text, tokens, JSON_FIELDS));
        return match whole {
            Some(shown) => StreamPreview { truncated: false, referred: false, text: shown.text },
            None => preview_of(text, None, &nothing, &[]),
        };
    }
    let windows = stream.artifact.and_then(|path| with.open(path).ok()).map(|file| windows(file, stream));
    match windows {
        Some(Ok(StreamWindows { head, gap, missing, tail })) => preview_of(&head, gap, &missing, &tail),
        // The artifact cannot be read, but the beginning is available.
        Some(Err(_)) | None => {
            let shown = stream.text.len() as u64;
            let rest = InputGap { bytes: stream.bytes.saturating_sub(shown), lines: None };
            StreamPreview { truncated: true, ..preview_of(stream.text.as_bytes(), Some(rest), &nothing, &[]) }
        }
    }
}

/// The parts of a stream for its preview.
struct StreamWindows {
    head: Vec<u8>,
    gap: Option<InputGap>,
    missing: GapFailures,
    tail: Vec<u8>,
}

/// Reads the beginning and the end of a part of an artifact, and searches the rest for failures.
fn windows(mut file: File, stream: &ProcessStream<'_>) -> std::io::Result<StreamWindows> {
    let mut part = |from: u64, bytes: u64| -> std::io::Result<Vec<u8>> {
        file.seek(SeekFrom::Start(from))?;
        let mut read = Vec::new();
        file.by_ref().take(bytes).read_to_end(&mut read)?;
        Ok(read)
    };
    if stream.bytes <= WHOLE {
        let head = part(stream.from, stream.bytes)?;
        return Ok(StreamWindows { head, gap: None, missing: GapFailures::default(), tail: Vec::new() });
    }
    let head = part(stream.from, WINDOW)?;
    let tail = part(stream.from + stream.bytes - WINDOW, WINDOW)?;
    let bytes = stream.bytes - 2 * WINDOW;
    file.seek(SeekFrom::Start(stream.from + WINDOW))?;
    // The line that the head ends in is part of the gap.
    let begun = head.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (missing, lines) = search_gap(&head[begun..], file.take(bytes))?;
    Ok(StreamWindows { head, gap: Some(InputGap { bytes, lines: Some(lines) }), missing, tail })
}

/// Reads a gap of any size line by line, and returns its failures and its number of line ends.
fn search_gap(begun: &[u8], gap: impl Read) -> std::io::Result<(GapFailures, u64)> {
    let mut reader = BufReader::with_capacity(256 << 10, gap);
    let mut found = GapFailures::default();
    let mut number = 0;
    let mut line = begun.get(..LONGEST_LINE.min(begun.len())).unwrap_or_default().to_vec();
    let mut note = |line: &[u8], number: u64| {
        let text = String::from_utf8_lossy(line);
        if !announces_failure(&text) {
            return;
        }
        found.count += 1;
        if found.lines.len() < MOST_FAILURES {
            found.lines.push((number, clean(line).text.replace('\n', " ")));
        }
    };
    loop {
        let block = reader.fill_buf()?;
        if block.is_empty() {
            break;
        }
        let read = block.len();
        let mut rest = block;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (part, after) = rest.split_at(end);
            if line.is_empty() {
                note(&part[..part.len().min(LONGEST_LINE)], number);
            } else {
                line.extend_from_slice(&part[..part.len().min(LONGEST_LINE.saturating_sub(line.len()))]);
                note(&line, number);
                line.clear();
            }
            number += 1;
            rest = &after[1..];
        }
        line.extend_from_slice(&rest[..rest.len().min(LONGEST_LINE.saturating_sub(line.len()))]);
        reader.consume(read);
    }
    Ok((found, number))
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use envelope::{Artifact, Fault, Hash};
    use toolkit::{ArtifactSink, OpenArtifact};

    use super::{PreviewForm, ProcessStream, Projection, WHOLE, bound_stream};

    /// Artifacts in one file, which is opened again for every reader.
    struct OneFile(tempfile::NamedTempFile);

    impl ArtifactSink for OneFile {
        fn create(&self, _role: &str, _extension: &str) -> Result<Option<OpenArtifact>, Fault> {
            Ok(None)
        }

        fn seal(&self, artifact: OpenArtifact, bytes: u64, hash: Hash) -> Result<Artifact, Fault> {
            Ok(Artifact { path: artifact.path, bytes, hash })
        }

        fn discard(&self, _artifact: &Artifact) {}

        fn open(&self, _path: &str) -> Result<File, Fault> {
            Ok(self.0.reopen().unwrap())
        }
    }

    #[test]
    fn a_failure_in_the_middle_of_output_of_any_size_is_shown_with_its_line() {
        let names = ["river", "stone", "cloud", "amber", "quiet"];
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let (mut lines, mut bytes) = (0_u64, 0_u64);
        while bytes < 3 * WHOLE {
            lines += 1;
            let line = match lines {
                130_000 => "error: disk 7 is gone\n".to_owned(),
                n => format!(
                    "{} {} step {n} of the long run\n",
                    names[n as usize % 5],
                    names[n as usize / 5 % 5]
                ),
            };
            file.write_all(line.as_bytes()).unwrap();
            bytes += line.len() as u64;
        }
        let sink = OneFile(file);
        for counted in [Some(lines), None] {
            let stream = ProcessStream {
                text: "",
                complete: false,
                from: 0,
                bytes,
                lines: counted,
                digest: None,
                artifact: Some("artifacts/stdout.log"),
            };
            let mut with = Projection::new(2_000, Some(&sink));
            let form = (1_900, PreviewForm::AsPrinted);
            let shown = bound_stream("stdout", &stream, form, &mut Vec::new(), &mut with).unwrap();
            let preview = shown.preview.unwrap();
            assert!(preview.contains("\n130000: error: disk 7 is gone\n"), "{preview}");
            assert!(preview.contains("1 of 1 failures between them"), "{preview}");
            assert!(shown.truncated);
        }
    }
}
