//! What a command printed, as it stands in the complete output of a call.

use std::io::{Read, Write};

use envelope::{Failure, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::ToolCx;
use toolkit::families::printed::Output;
use toolkit::families::streams::Stream as Shown;

use crate::process::{Exit, Fresh, HEAD_BYTES, Retrieved, Stream};

/// How much of what is new is looked at; the rest is in the artifact.
pub(super) const WINDOW: usize = HEAD_BYTES;
/// How much of a long stream stands in the record besides the artifact.
const BEGINNING: u64 = 4 * 1024;

/// One stream of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct StreamOutput {
    /// What was printed: everything, or only the beginning when `complete` is false.
    pub(super) text: String,
    /// Whether `text` is everything, byte for byte.
    pub(super) complete: bool,
    /// Where this part begins in the whole stream.
    pub(super) from: u64,
    /// How many bytes were printed.
    pub(super) bytes: u64,
    /// How many lines were printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lines: Option<u64>,
    /// The digest of the artifact, once that is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<String>,
    /// Where everything is, relative to the folder of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) artifact: Option<String>,
}

impl StreamOutput {
    fn shown(&self) -> Shown<'_> {
        Shown {
            text: &self.text,
            complete: self.complete,
            from: self.from,
            bytes: self.bytes,
            lines: self.lines,
            digest: self.digest.as_deref(),
            artifact: self.artifact.as_deref(),
        }
    }
}

/// Both streams for the projector; one of them for a terminal.
pub(super) fn printed<'a>(out: &'a StreamOutput, err: Option<&'a StreamOutput>) -> Output<'a> {
    match err {
        Some(err) => Output::Separate { stdout: out.shown(), stderr: err.shown() },
        None => Output::Combined(out.shown()),
    }
}

/// A stream that has ended. Its artifact is reported as left by the call.
pub(super) fn ended(cx: &ToolCx, role: &str, stream: &Stream) -> Result<StreamOutput, Fault> {
    let artifact = match (&stream.text, &stream.artifact) {
        // No text, so it is kept as the bytes that it is.
        (Some(bytes), None) if std::str::from_utf8(bytes).is_err() => keep(cx, role, bytes, stream)?,
        (_, artifact) => artifact.clone(),
    };
    let text = match (&stream.text, &artifact) {
        (Some(bytes), _) => String::from_utf8_lossy(bytes).into_owned(),
        (None, Some(artifact)) => beginning(cx, &artifact.path)?,
        (None, None) => String::new(),
    };
    let output = StreamOutput {
        complete: text.len() as u64 == stream.bytes && artifact.is_none(),
        text,
        from: 0,
        bytes: stream.bytes,
        lines: Some(stream.lines),
        digest: Some(stream.hash.to_string()),
        artifact: artifact.as_ref().map(|artifact| artifact.path.clone()),
    };
    artifact.into_iter().for_each(|artifact| cx.left(artifact));
    Ok(output)
}

fn keep(cx: &ToolCx, role: &str, bytes: &[u8], stream: &Stream) -> Result<Option<envelope::Artifact>, Fault> {
    let Some(artifacts) = cx.artifacts() else { return Ok(None) };
    let Some(mut open) = artifacts.create(role, "bin")? else { return Ok(None) };
    open.file.write_all(bytes).map_err(|error| unkept(&open.path, &error))?;
    artifacts.seal(open, stream.bytes, stream.hash).map(Some)
}

fn beginning(cx: &ToolCx, path: &str) -> Result<String, Fault> {
    let Some(artifacts) = cx.artifacts() else { return Ok(String::new()) };
    let mut bytes = Vec::new();
    let read = artifacts.open(path)?.take(BEGINNING).read_to_end(&mut bytes);
    read.map_err(|error| unkept(path, &error))?;
    // A character that was cut in two is not part of the beginning.
    let whole = std::str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let cut = if bytes.len() - whole < 4 { whole } else { bytes.len() };
    Ok(String::from_utf8_lossy(bytes.get(..cut).unwrap_or_default()).into_owned())
}

fn unkept(path: &str, error: &std::io::Error) -> Fault {
    Fault::new(Failure::ExecutionFailed, format!("the output in `{path}` could not be kept: {error}"))
        .hint("make room where the runs are kept, then run the command again")
}

/// What is new of a task: both streams, or the one of a terminal.
pub(super) fn fresh(seen: &Retrieved) -> (StreamOutput, Option<StreamOutput>) {
    (part(&seen.output.stdout), seen.output.stderr.as_ref().map(part))
}

fn part(fresh: &Fresh) -> StreamOutput {
    let text = String::from_utf8_lossy(&fresh.head).into_owned();
    let bytes = fresh.to - fresh.from;
    StreamOutput {
        complete: text.len() as u64 == bytes,
        text,
        from: fresh.from,
        bytes,
        lines: None,
        digest: None,
        artifact: fresh.path.clone(),
    }
}

/// How a process ended, as a code or as the name of a signal.
pub(super) fn exit_words(exit: Option<Exit>) -> (Option<i32>, Option<String>) {
    match exit {
        Some(Exit::Code(code)) => (Some(code), None),
        Some(Exit::Signal(number)) => (None, Some(signal_name(number))),
        None => (None, None),
    }
}

fn signal_name(number: i32) -> String {
    const NAMES: [(i32, &str); 15] = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (5, "SIGTRAP"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
        (24, "SIGXCPU"),
        (25, "SIGXFSZ"),
    ];
    let known = NAMES.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| format!("signal {number}"), |(_, name)| (*name).to_owned())
}
