//! Tools for the tests, each with one relevant behaviour.

use std::io::Write;
use std::sync::{Arc, Mutex};

use envelope::{Failure, Fault, Hash, Idempotency, Risk, SideEffect};
use receipts::families::external;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{ProjectedResult, Projection, Tool, ToolCx};

/// Actions that were really executed, in order.
pub(crate) type Effects = Arc<Mutex<Vec<String>>>;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Said {
    /// What to say.
    pub(crate) text: String,
}

/// Returns its argument.
pub(crate) struct Look;

impl Tool for Look {
    const NAME: &'static str = "test.look";
    const SUMMARY: &'static str = "Say what was said";
    const CATEGORY: &'static str = "test";
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;

    type Args = Said;
    type Output = Said;

    fn preview(&self, args: &Said) -> String {
        format!("Say {}", args.text)
    }

    async fn run(&self, _cx: &ToolCx, args: Said) -> Result<Said, Fault> {
        Ok(args)
    }

    fn summary(&self, output: &Said) -> String {
        format!("Said {} bytes", output.text.len())
    }

    fn project(&self, output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        external::project(output, with)
    }
}

/// Records that it ran. A text with `..` is invalid, so that no user is asked about it.
pub(crate) struct Note(pub(crate) Effects);

impl Tool for Note {
    const NAME: &'static str = "test.note";
    const SUMMARY: &'static str = "Write a note";
    const CATEGORY: &'static str = "test";
    const RISK: Risk = Risk::Writes;
    const SIDE_EFFECTS: &'static [SideEffect] = &[SideEffect::EditBuffer];
    const IDEMPOTENCY: Idempotency = Idempotency::NotIdempotent;

    type Args = Said;
    type Output = Said;

    async fn validate(&self, _cx: &ToolCx, args: &Said) -> Result<(), Fault> {
        match args.text.contains("..") {
            true => Err(Fault::new(Failure::InvalidArguments, "`..` leads out of the vault")),
            false => Ok(()),
        }
    }

    fn preview(&self, args: &Said) -> String {
        format!("Note {}", args.text)
    }

    async fn run(&self, _cx: &ToolCx, args: Said) -> Result<Said, Fault> {
        self.0.lock().unwrap().push(args.text.clone());
        Ok(args)
    }

    fn summary(&self, output: &Said) -> String {
        format!("Noted {}", output.text)
    }

    fn project(&self, output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        external::project(output, with)
    }
}

/// Reports progress three times, then runs until it is cancelled.
pub(crate) struct Wait;

impl Tool for Wait {
    const NAME: &'static str = "test.wait";
    const SUMMARY: &'static str = "Wait to be stopped";
    const CATEGORY: &'static str = "test";
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    const TIMEOUT_MS: u64 = 600_000;

    type Args = Said;
    type Output = Said;

    fn preview(&self, _args: &Said) -> String {
        "Wait".to_owned()
    }

    async fn run(&self, cx: &ToolCx, _args: Said) -> Result<Said, Fault> {
        for done in [1, 1, 3] {
            cx.progress(done, Some(3), format!("at {done}"));
        }
        cx.cancel().cancelled().await;
        Err(Fault::new(Failure::Canceled, "stopped"))
    }

    fn summary(&self, _output: &Said) -> String {
        "Waited".to_owned()
    }

    fn project(&self, output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        external::project(output, with)
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Piece {
    /// What to leave.
    pub(crate) bytes: Vec<u8>,
    /// How often.
    pub(crate) times: u64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Left {
    /// What it is called.
    path: String,
}

/// Creates an artifact.
pub(crate) struct Leave;

impl Tool for Leave {
    const NAME: &'static str = "test.leave";
    const SUMMARY: &'static str = "Leave an artifact";
    const CATEGORY: &'static str = "test";
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::NotIdempotent;

    type Args = Piece;
    type Output = Left;

    fn preview(&self, _args: &Piece) -> String {
        "Leave an artifact".to_owned()
    }

    async fn run(&self, cx: &ToolCx, args: Piece) -> Result<Left, Fault> {
        let sink = cx.artifacts().unwrap();
        let mut open = sink.create("output", "bin")?.unwrap();
        let whole = args.bytes.repeat(usize::try_from(args.times).unwrap());
        open.file.write_all(&whole).unwrap();
        let artifact = sink.seal(open, whole.len() as u64, Hash::of(&whole))?;
        let path = artifact.path.clone();
        cx.report_artifact(artifact);
        Ok(Left { path })
    }

    fn summary(&self, output: &Left) -> String {
        format!("Left {}", output.path)
    }

    fn project(&self, output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        external::project(output, with)
    }
}
