//! What `artifact.read` is asked.

use envelope::{Failure, Fault};
use schemars::JsonSchema;
use serde::Deserialize;
use toolkit::families::artifact::{Bytes, Grep, Lines};

/// The folder of a run in which artifacts are.
pub(super) const FOLDER: &str = "artifacts/";

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The artifact as a receipt names it, such as `artifacts/build-stdout.log`.
    pub(super) path: String,
    /// The run that left it: its id, the beginning of its id, or `last` for the newest run that left any. Left
    /// out: this run.
    #[serde(default)]
    pub(super) run: Option<String>,
    /// These lines. Give one of `lines`, `bytes`, `grep`, `head` and `tail`; without any of them the beginning and
    /// the end are shown.
    #[serde(default)]
    lines: Option<Lines>,
    /// These bytes.
    #[serde(default)]
    bytes: Option<Bytes>,
    /// The lines that match.
    #[serde(default)]
    grep: Option<Grep>,
    /// The first lines.
    #[serde(default)]
    head: Option<Count>,
    /// The last lines.
    #[serde(default)]
    tail: Option<Count>,
    /// How long the receipt may be, 50 at the least; what does not fit can be asked for again.
    #[serde(default)]
    #[schemars(range(min = 50))]
    pub(super) max_output_tokens: Option<u32>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct Count {
    /// How many lines.
    #[schemars(range(min = 1))]
    pub(super) lines: u64,
}

/// The one view that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ask {
    Lines(Lines),
    Bytes(Bytes),
    Grep(Grep),
    Head(u64),
    Tail(u64),
    HeadAndTail,
}

impl Args {
    pub(super) fn ask(&self) -> Result<Ask, Fault> {
        let asks: Vec<Ask> = [
            self.lines.map(Ask::Lines),
            self.bytes.map(Ask::Bytes),
            self.grep.clone().map(Ask::Grep),
            self.head.map(|count| Ask::Head(count.lines)),
            self.tail.map(|count| Ask::Tail(count.lines)),
        ]
        .into_iter()
        .flatten()
        .collect();
        match asks.as_slice() {
            [] => Ok(Ask::HeadAndTail),
            [one] => Ok(one.clone()),
            _ => Err(Fault::new(Failure::InvalidArguments, "only one view can be had at a time")
                .hint("give one of `lines`, `bytes`, `grep`, `head` and `tail`")),
        }
    }

    /// That the path can be one of an artifact, before anyone looks for it.
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
