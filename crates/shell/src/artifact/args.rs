//! Arguments of `artifact.read`.

use envelope::{Failure, Fault};
use receipts::families::artifact::{ByteSelection, GrepQuery, LineSelection};
use schemars::JsonSchema;
use serde::Deserialize;

/// The folder of a run with its artifacts.
pub(super) const FOLDER: &str = "artifacts/";

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Path as in a receipt, such as `artifacts/build-stdout.log`.
    pub(super) path: String,
    /// Id of its run, a prefix of it, or `last`. Default: this run.
    #[serde(default)]
    pub(super) run: Option<String>,
    /// These lines. Give at most one of `lines`, `bytes`, `grep`, `head`, `tail`.
    #[serde(default)]
    lines: Option<LineSelection>,
    /// These bytes.
    #[serde(default)]
    bytes: Option<ByteSelection>,
    /// Matching lines.
    #[serde(default)]
    grep: Option<GrepQuery>,
    /// First lines.
    #[serde(default)]
    head: Option<LineCount>,
    /// Last lines.
    #[serde(default)]
    tail: Option<LineCount>,
    /// Longest receipt in tokens, at least 50.
    #[serde(default)]
    #[schemars(range(min = 50))]
    pub(super) max_output_tokens: Option<u32>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct LineCount {
    /// How many.
    #[schemars(range(min = 1))]
    pub(super) lines: u64,
}

/// The requested view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ArtifactQuery {
    Lines(LineSelection),
    Bytes(ByteSelection),
    Grep(GrepQuery),
    Head(u64),
    Tail(u64),
    HeadAndTail,
}

impl Args {
    pub(super) fn query(&self) -> Result<ArtifactQuery, Fault> {
        let asks: Vec<ArtifactQuery> = [
            self.lines.map(ArtifactQuery::Lines),
            self.bytes.map(ArtifactQuery::Bytes),
            self.grep.clone().map(ArtifactQuery::Grep),
            self.head.map(|count| ArtifactQuery::Head(count.lines)),
            self.tail.map(|count| ArtifactQuery::Tail(count.lines)),
        ]
        .into_iter()
        .flatten()
        .collect();
        match asks.as_slice() {
            [] => Ok(ArtifactQuery::HeadAndTail),
            [one] => Ok(one.clone()),
            _ => Err(Fault::new(Failure::InvalidArguments, "only one view can be requested at a time")
                .hint("give one of `lines`, `bytes`, `grep`, `head` and `tail`")),
        }
    }

    /// Checks that the path can be one of an artifact, before it is opened.
    pub(super) fn check_path(&self) -> Result<(), Fault> {
        let name = self.path.strip_prefix(FOLDER).unwrap_or_default();
        if !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']) {
            return Ok(());
        }
        let shown = self.path.escape_debug();
        Err(Fault::new(Failure::NotFound, format!("`{shown}` is not the path of an artifact"))
            .hint("give it as a receipt names it, such as `artifacts/build-stdout.log`"))
    }
}
