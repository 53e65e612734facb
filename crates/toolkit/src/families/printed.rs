//! The output of a process as it stands in a canonical result: one stream or two, each with a preview and, when
//! it was cut or kept, with what is known about the whole.

use std::borrow::Cow;
use std::fmt::Write as _;

use envelope::Fault;
use serde::{Deserialize, Serialize};

use super::Projection;
use super::streams::{
    ArtifactRef, Form, REFERENCE, Shown, Stream, described, is_no_text, show, show_both, told,
};
use crate::preview::tokens::estimate;

/// What it printed.
#[derive(Debug, Clone, Copy)]
pub enum Output<'a> {
    Separate {
        stdout: Stream<'a>,
        stderr: Stream<'a>,
    },
    /// Through a terminal there is only one stream.
    Combined(Stream<'a>),
}

/// The two streams, or the one of a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Printed {
    // First, and only when its field is there: without it any object would pass for the other one.
    Combined {
        #[serde(deserialize_with = "Option::deserialize")]
        combined_output_preview: Option<String>,
    },
    Separate {
        stdout_preview: Option<String>,
        stderr_preview: Option<String>,
    },
}

/// What is known about streams that were cut or kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Kept {
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

/// Bounds what was printed, within so many tokens.
pub(super) fn printed(
    output: &Output<'_>,
    bound: (usize, Form),
    with: &mut Projection<'_>,
) -> Result<(Printed, Kept), Fault> {
    let mut artifacts = Vec::new();
    match output {
        Output::Separate { stdout, stderr } => {
            let (out, err) = show_both(stdout, stderr, bound, &mut artifacts, with)?;
            let shape = Printed::Separate {
                stdout_preview: out.preview.clone(),
                stderr_preview: err.preview.clone(),
            };
            Ok((shape, Kept::separate(out, err, artifacts)))
        }
        Output::Combined(stream) => {
            let shown = show("output", stream, bound, &mut artifacts, with)?;
            let shape = Printed::Combined { combined_output_preview: shown.preview.clone() };
            Ok((shape, Kept::combined(shown, artifacts)))
        }
    }
}

impl Printed {
    /// Both streams as one text, for the first look at a task.
    pub(super) fn together(&self) -> Option<String> {
        match self {
            Printed::Separate { stdout_preview: Some(out), stderr_preview: Some(err) } => {
                Some(format!("{out}\nstderr:\n{err}"))
            }
            Printed::Separate { stdout_preview: Some(one), stderr_preview: None }
            | Printed::Separate { stdout_preview: None, stderr_preview: Some(one) }
            | Printed::Combined { combined_output_preview: Some(one) } => Some(one.clone()),
            Printed::Separate { stdout_preview: None, stderr_preview: None }
            | Printed::Combined { combined_output_preview: None } => None,
        }
    }

    /// The sections of a receipt, within about so many tokens; false when there is nothing.
    pub(super) fn render(&self, text: &mut String, kept: &Kept, tokens: usize) -> bool {
        match self {
            Printed::Separate { stdout_preview: None, stderr_preview: None }
            | Printed::Combined { combined_output_preview: None } => return false,
            Printed::Separate { stdout_preview, stderr_preview } => {
                let out = Told::of(stdout_preview.as_deref(), kept.stdout_truncated, kept.stdout_artifact);
                let err = Told::of(stderr_preview.as_deref(), kept.stderr_truncated, kept.stderr_artifact);
                // The same shares as when the streams were bounded: what one does not need, the other has.
                let (_, first) = err.within(tokens / 2);
                let (out, taken) = out.within(tokens.saturating_sub(first));
                let (err, _) = err.within(tokens.saturating_sub(taken));
                section(text, "stdout", out.as_deref());
                section(text, "stderr", err.as_deref());
            }
            Printed::Combined { combined_output_preview } => {
                let (cut, artifact) = (kept.combined_output_truncated, kept.combined_output_artifact);
                let (shown, _) = Told::of(combined_output_preview.as_deref(), cut, artifact).within(tokens);
                section(text, "output", shown.as_deref());
            }
        }
        true
    }
}

/// A stream of a canonical result on its way into a receipt.
struct Told<'a> {
    shown: Option<&'a str>,
    truncated: bool,
    /// What it takes to say where the whole is.
    reference: usize,
}

impl<'a> Told<'a> {
    fn of(shown: Option<&'a str>, truncated: bool, artifact: Option<usize>) -> Told<'a> {
        Told { shown, truncated, reference: artifact.map_or(0, |_| REFERENCE) }
    }

    /// The words, and what they take of a receipt together with their reference.
    fn within(&self, tokens: usize) -> (Option<Cow<'a, str>>, usize) {
        let room = tokens.saturating_sub(self.reference);
        let told = self.shown.map(|shown| match self.reference {
            // Bytes that nobody can read take many tokens and say nothing; it is said where they are.
            1.. if is_no_text(shown) => Cow::Borrowed("[bytes that are no text]"),
            _ => told(shown, self.truncated, room),
        });
        let cost = told.as_deref().map_or(0, estimate) + self.reference;
        (told, cost)
    }
}

impl Kept {
    /// The facts about two streams.
    fn separate(out: Shown, err: Shown, artifacts: Vec<ArtifactRef>) -> Kept {
        Kept {
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
            ..Kept::default()
        }
    }

    /// The facts about the one stream of a terminal.
    fn combined(shown: Shown, artifacts: Vec<ArtifactRef>) -> Kept {
        Kept {
            combined_output_truncated: shown.truncated,
            combined_output_artifact: shown.artifact,
            combined_output_lines: shown.lines,
            combined_output_bytes: shown.bytes,
            combined_output_digest: shown.digest,
            artifacts,
            ..Kept::default()
        }
    }

    pub(super) fn truncated(&self) -> bool {
        self.stdout_truncated || self.stderr_truncated || self.combined_output_truncated
    }

    /// How many streams lie whole in an artifact.
    pub(super) fn references(&self) -> usize {
        self.artifacts.len()
    }

    /// Whether a field is one of these.
    pub(super) fn has_field(name: &str) -> bool {
        let parts = ["_truncated", "_artifact", "_lines", "_bytes", "_digest"];
        let streams = ["stdout", "stderr", "combined_output"];
        name == "artifacts"
            || streams
                .iter()
                .any(|stream| name.strip_prefix(stream).is_some_and(|part| parts.contains(&part)))
    }

    /// Where the whole of each stream is.
    pub(super) fn render(&self, text: &mut String) {
        let streams = [
            ("stdout", self.stdout_artifact, self.stdout_lines, self.stdout_bytes),
            ("stderr", self.stderr_artifact, self.stderr_lines, self.stderr_bytes),
            ("output", self.combined_output_artifact, self.combined_output_lines, self.combined_output_bytes),
        ];
        for (name, artifact, lines, bytes) in streams {
            if let Some(kept) = artifact.and_then(|index| self.artifacts.get(index)) {
                let kept = described(&kept.path, lines, bytes);
                let _infallible = write!(text, "\nFull {name}: {kept}; page it with artifact.read");
            }
        }
    }
}

pub(super) fn section(text: &mut String, name: &str, preview: Option<&str>) {
    if let Some(preview) = preview {
        let _infallible = write!(text, "\n{name}:\n{}", preview.trim_end_matches('\n'));
    }
}
