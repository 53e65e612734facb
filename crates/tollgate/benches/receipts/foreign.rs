//! A tool that passes on what another server answered.

use envelope::{Fault, Idempotency, Risk, SideEffect};
use receipts::families::external::{self, ExternalOutput, OutputBlock};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolkit::{ProjectedResult, Projection, Tool, ToolCx};

pub(crate) struct CallServer;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The request to the server.
    question: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerReply {
    /// The parts of the server's answer, in order.
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

impl Tool for CallServer {
    const NAME: &'static str = "server.ask";
    const SUMMARY: &'static str = "Ask another server.";
    const CATEGORY: &'static str = "server";
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;

    type Args = Args;
    type Output = ServerReply;

    fn preview(&self, args: &Args) -> String {
        format!("Ask {}", args.question)
    }

    async fn run(&self, _cx: &ToolCx, _args: Args) -> Result<ServerReply, Fault> {
        Ok(ServerReply { blocks: Vec::new() })
    }

    fn summary(&self, _output: &ServerReply) -> String {
        "server.ask answered".to_owned()
    }

    fn project(&self, output: &ServerReply, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let blocks = output.blocks.iter().map(|block| match block {
            OwnedBlock::Text { text } => OutputBlock::Text(text),
            OwnedBlock::Json { value } => OutputBlock::Json(value),
            OwnedBlock::Binary { media_type, bytes } => OutputBlock::Binary { media_type, bytes },
        });
        external::project_blocks(&ExternalOutput { blocks: blocks.collect() }, with)
    }
}
