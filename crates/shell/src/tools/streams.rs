//! The output streams of a command in the complete output of a call.

use std::io::{Read, Write};

use envelope::{Failure, Fault};
use receipts::families::process_output::ProcessOutput;
use receipts::families::streams::ProcessStream as Shown;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::ToolCx;

use crate::process::{CapturedStream, ChildExit, HEAD_BYTES, StreamDelta, TaskUpdate};

/// Limit of new output that is returned; the rest is in the artifact.
pub(super) const WINDOW: usize = HEAD_BYTES;
/// Beginning of a long stream in the record, besides the artifact.
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

/// Both streams for the projector, or the one of a terminal.
pub(super) fn process_output<'a>(out: &'a StreamOutput, err: Option<&'a StreamOutput>) -> ProcessOutput<'a> {
    match err {
        Some(err) => ProcessOutput::Separate { stdout: out.shown(), stderr: err.shown() },
        None => ProcessOutput::Combined(out.shown()),
    }
}

/// Converts a stream that has ended. Its artifact is reported.
pub(super) fn ended_stream(cx: &ToolCx, role: &str, stream: &CapturedStream) -> Result<StreamOutput, Fault> {
    let artifact = match (&stream.text, &stream.artifact) {
        // Not UTF-8, so the bytes are stored as they are.
        (Some(bytes), None) if std::str::from_utf8(bytes).is_err() => store_bytes(cx, role, bytes, stream)?,
        (_, artifact) => artifact.clone(),
    };
    let text = match (&stream.text, &artifact) {
        (Some(bytes), _) => String::from_utf8_lossy(bytes).into_owned(),
        (None, Some(artifact)) => read_beginning(cx, &artifact.path)?,
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
    artifact.into_iter().for_each(|artifact| cx.report_artifact(artifact));
    Ok(output)
}

fn store_bytes(
    cx: &ToolCx,
    role: &str,
    bytes: &[u8],
    stream: &CapturedStream,
) -> Result<Option<envelope::Artifact>, Fault> {
    let Some(artifacts) = cx.artifacts() else { return Ok(None) };
    let Some(mut open) = artifacts.create(role, "bin")? else { return Ok(None) };
    open.file.write_all(bytes).map_err(|error| storage_fault(&open.path, &error))?;
    artifacts.seal(open, stream.bytes, stream.hash).map(Some)
}

fn read_beginning(cx: &ToolCx, path: &str) -> Result<String, Fault> {
    let Some(artifacts) = cx.artifacts() else { return Ok(String::new()) };
    let mut bytes = Vec::new();
    let read = artifacts.open(path)?.take(BEGINNING).read_to_end(&mut bytes);
    read.map_err(|error| storage_fault(path, &error))?;
    // An incomplete character at the end is left out.
    let whole = std::str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let cut = if bytes.len() - whole < 4 { whole } else { bytes.len() };
    Ok(String::from_utf8_lossy(bytes.get(..cut).unwrap_or_default()).into_owned())
}

fn storage_fault(path: &str, error: &std::io::Error) -> Fault {
    Fault::new(Failure::ExecutionFailed, format!("the output in `{path}` could not be kept: {error}"))
        .hint("make room where the runs are kept, then run the command again")
}

/// New output of a task: both streams, or the one of a terminal.
pub(super) fn new_output(seen: &TaskUpdate) -> (StreamOutput, Option<StreamOutput>) {
    (stream_delta(&seen.output.stdout), seen.output.stderr.as_ref().map(stream_delta))
}

fn stream_delta(fresh: &StreamDelta) -> StreamOutput {
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

/// Returns how a process ended, as an exit code or the name of a signal.
pub(super) fn describe_exit(exit: Option<ChildExit>) -> (Option<i32>, Option<String>) {
    match exit {
        Some(ChildExit::Code(code)) => (Some(code), None),
        Some(ChildExit::Signal(number)) => (None, Some(signal_name(number))),
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
