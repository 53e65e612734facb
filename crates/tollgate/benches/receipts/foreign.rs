//! A tool that hands on what another server answered, as tools do that were not written here.

use envelope::{Fault, Idempotency, Risk, SideEffect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolkit::families::external::{self, Block, External};
use toolkit::families::{Projected, Projection};
use toolkit::{Tool, ToolCx};

pub(crate) struct AskServer;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// What the server is asked.
    question: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    /// What the server answered, in its order.
    pub(crate) blocks: Vec<OwnedBlock>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum OwnedBlock {
    Text {
        text: String,
    },
    Json {
        value: Value,
    },
    #[serde(rename_all = "camelCase")]
    Binary {
        media_type: String,
        bytes: Vec<u8>,
    },
}

impl Tool for AskServer {
    const NAME: &'static str = "server.ask";
    const SUMMARY: &'static str = "Ask another server.";
    const CATEGORY: &'static str = "server";
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;

    type Args = Args;
    type Output = Answer;

    fn preview(&self, args: &Args) -> String {
        format!("Ask {}", args.question)
    }

    async fn run(&self, _cx: &ToolCx, _args: Args) -> Result<Answer, Fault> {
        Ok(Answer { blocks: Vec::new() })
    }

    fn summary(&self, _output: &Answer) -> String {
        "server.ask answered".to_owned()
    }

    fn project(&self, output: &Answer, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        let blocks = output.blocks.iter().map(|block| match block {
            OwnedBlock::Text { text } => Block::Text(text),
            OwnedBlock::Json { value } => Block::Json(value),
            OwnedBlock::Binary { media_type, bytes } => Block::Binary { media_type, bytes },
        });
        external::project_blocks(&External { blocks: blocks.collect() }, with)
    }
}
