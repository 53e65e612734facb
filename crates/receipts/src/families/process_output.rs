//! Output of a process in a canonical result: one or two streams, each with a preview and, if it was cut or stored,
//! with facts about the complete stream.

use std::borrow::Cow;
use std::fmt::Write as _;

use envelope::Fault;
use serde::{Deserialize, Serialize};

use super::Projection;
use super::streams::{
    ArtifactRef, BoundedStream, PreviewForm, ProcessStream, REFERENCE, bound_stream, bound_streams,
    describe_artifact, is_binary_text, render_preview,
};
use crate::preview::tokenizer::estimate;

/// Output of a process.
#[derive(Debug, Clone, Copy)]
pub enum ProcessOutput<'a> {
    Separate {
        stdout: ProcessStream<'a>,
        stderr: ProcessStream<'a>,
    },
    /// A terminal combines both streams.
    Combined(ProcessStream<'a>),
}

/// Previews of the two streams, or of the combined one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum OutputPreviews {
    // First, and only if its field is present: otherwise any object would match the other variant.
    Combined {
        #[serde(deserialize_with = "Option::deserialize")]
        combined_output_preview: Option<String>,
    },
    Separate {
        stdout_preview: Option<String>,
        stderr_preview: Option<String>,
    },
}

/// Facts about streams that were cut or stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct StreamFacts {
    #[serde(skip_serializing_if = "is_false")]
    stdout_truncated: bool,
    #[serde(skip_serializing_if = "is_false")]
    stderr_truncated: bool,
    #[serde(skip_serializing_if = "is_false")]
    combined_output_truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_artifact: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_artifact: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    combined_output_artifact: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    combined_output_lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    combined_output_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    combined_output_digest: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<ArtifactRef>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Bounds the output to a number of tokens.
pub(super) fn bound_output(
    output: &ProcessOutput<'_>,
    bound: (usize, PreviewForm),
    with: &mut Projection<'_>,
) -> Result<(OutputPreviews, StreamFacts), Fault> {
    let mut artifacts = Vec::new();
    match output {
        ProcessOutput::Separate { stdout, stderr } => {
            let (out, err) = bound_streams(stdout, stderr, bound, &mut artifacts, with)?;
            let shape = OutputPreviews::Separate {
                stdout_preview: out.preview.clone(),
                stderr_preview: err.preview.clone(),
            };
            Ok((shape, StreamFacts::separate(out, err, artifacts)))
        }
        ProcessOutput::Combined(stream) => {
            let shown = bound_stream("output", stream, bound, &mut artifacts, with)?;
            let shape = OutputPreviews::Combined { combined_output_preview: shown.preview.clone() };
            Ok((shape, StreamFacts::combined(shown, artifacts)))
        }
    }
}

impl OutputPreviews {
    /// Returns both streams as one text, for the first look at a task.
    pub(super) fn joined(&self) -> Option<String> {
        match self {
            OutputPreviews::Separate { stdout_preview: Some(out), stderr_preview: Some(err) } => {
                Some(format!("{out}\nstderr:\n{err}"))
            }
            OutputPreviews::Separate { stdout_preview: Some(one), stderr_preview: None }
            | OutputPreviews::Separate { stdout_preview: None, stderr_preview: Some(one) }
            | OutputPreviews::Combined { combined_output_preview: Some(one) } => Some(one.clone()),
            OutputPreviews::Separate { stdout_preview: None, stderr_preview: None }
            | OutputPreviews::Combined { combined_output_preview: None } => None,
        }
    }

    /// Renders the sections of a receipt within about `tokens`; returns false without output.
    pub(super) fn render(&self, text: &mut String, kept: &StreamFacts, tokens: usize) -> bool {
        match self {
            OutputPreviews::Separate { stdout_preview: None, stderr_preview: None }
            | OutputPreviews::Combined { combined_output_preview: None } => return false,
            OutputPreviews::Separate { stdout_preview, stderr_preview } => {
                let out =
                    StreamSection::of(stdout_preview.as_deref(), kept.stdout_truncated, kept.stdout_artifact);
                let err =
                    StreamSection::of(stderr_preview.as_deref(), kept.stderr_truncated, kept.stderr_artifact);
                // The same shares as in the projection: one stream can use what the other does not need.
                let (_, first) = err.within(tokens / 2);
                let (out, taken) = out.within(tokens.saturating_sub(first));
                let (err, _) = err.within(tokens.saturating_sub(taken));
                section(text, "stdout", out.as_deref());
                section(text, "stderr", err.as_deref());
            }
            OutputPreviews::Combined { combined_output_preview } => {
                let (cut, artifact) = (kept.combined_output_truncated, kept.combined_output_artifact);
                let (shown, _) =
                    StreamSection::of(combined_output_preview.as_deref(), cut, artifact).within(tokens);
                section(text, "output", shown.as_deref());
            }
        }
        true
    }
}

/// A stream of a canonical result while it is rendered.
struct StreamSection<'a> {
    shown: Option<&'a str>,
    truncated: bool,
    /// Tokens of the reference to the artifact.
    reference: usize,
}

impl<'a> StreamSection<'a> {
    fn of(shown: Option<&'a str>, truncated: bool, artifact: Option<usize>) -> StreamSection<'a> {
        StreamSection { shown, truncated, reference: artifact.map_or(0, |_| REFERENCE) }
    }

    /// Returns the text, and its cost together with the reference.
    fn within(&self, tokens: usize) -> (Option<Cow<'a, str>>, usize) {
        let room = tokens.saturating_sub(self.reference);
        let rendered = self.shown.map(|shown| match self.reference {
            // Unreadable bytes cost many tokens; the reference says where they are.
            1.. if is_binary_text(shown) => Cow::Borrowed("[bytes that are no text]"),
            _ => render_preview(shown, self.truncated, room),
        });
        let cost = rendered.as_deref().map_or(0, estimate) + self.reference;
        (rendered, cost)
    }
}

impl StreamFacts {
    /// Returns the facts about two streams.
    fn separate(out: BoundedStream, err: BoundedStream, artifacts: Vec<ArtifactRef>) -> StreamFacts {
        StreamFacts {
            stdout_truncated: out.truncated,
            stdout_artifact: out.artifact,
            stdout_lines: out.lines,
            stdout_bytes: out.bytes,
            stdout_digest: out.digest,
            stderr_truncated: err.truncated,
            stderr_artifact: err.artifact,
            stderr_lines: err.lines,
            stderr_bytes: err.bytes,
            stderr_digest: err.digest,
            artifacts,
            ..StreamFacts::default()
        }
    }

    /// Returns the facts about a combined stream.
    fn combined(shown: BoundedStream, artifacts: Vec<ArtifactRef>) -> StreamFacts {
        StreamFacts {
            combined_output_truncated: shown.truncated,
            combined_output_artifact: shown.artifact,
            combined_output_lines: shown.lines,
            combined_output_bytes: shown.bytes,
            combined_output_digest: shown.digest,
            artifacts,
            ..StreamFacts::default()
        }
    }

    pub(super) fn truncated(&self) -> bool {
        self.stdout_truncated || self.stderr_truncated || self.combined_output_truncated
    }

    /// Returns the number of streams that are stored as artifacts.
    pub(super) fn references(&self) -> usize {
        self.artifacts.len()
    }

    /// Returns true if a field is one of these facts.
    pub(super) fn has_field(name: &str) -> bool {
        let parts = ["_truncated", "_artifact", "_lines", "_bytes", "_digest"];
        let streams = ["stdout", "stderr", "combined_output"];
        name == "artifacts"
            || streams
                .iter()
                .any(|stream| name.strip_prefix(stream).is_some_and(|part| parts.contains(&part)))
    }

    /// Renders the references to the complete streams.
    pub(super) fn render(&self, text: &mut String) {
        let streams = [
            ("stdout", self.stdout_artifact, self.stdout_lines, self.stdout_bytes),
            ("stderr", self.stderr_artifact, self.stderr_lines, self.stderr_bytes),
            ("output", self.combined_output_artifact, self.combined_output_lines, self.combined_output_bytes),
        ];
        for (name, artifact, lines, bytes) in streams {
            if let Some(kept) = artifact.and_then(|index| self.artifacts.get(index)) {
                let kept = describe_artifact(&kept.path, lines, bytes);
                let _infallible = write!(text, "\nFull {name}: {kept}; page it with artifact_read");
            }
        }
    }
}

pub(super) fn section(text: &mut String, name: &str, preview: Option<&str>) {
    if let Some(preview) = preview {
        let _infallible = write!(text, "\n{name}:\n{}", preview.trim_end_matches('\n'));
    }
}
