//! `commands.list`: the commands that the host can run.

use envelope::{Concurrency, Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect};
use receipts::families::host_command::{self, HostCommandEntry, HostCommandOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{ProjectedResult, Projection, Tool, ToolCx};

use super::host_handle::HostHandle;
use crate::protocol::{CommandInfo, OwnerConfidence, OwnerType};

const DEFAULT_LIMIT: u32 = 100;
const MAX_LIMIT: u32 = 1_000;

pub(crate) struct ListCommands {
    pub(crate) host: HostHandle,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Words that the name or the id must all contain, in any case.
    #[serde(default)]
    query: String,
    /// How the id must begin, such as `editor:`.
    #[serde(default)]
    prefix: String,
    /// Longest list to return, 1 to 1000.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 1_000))]
    limit: u32,
}

fn default_limit() -> u32 {
    DEFAULT_LIMIT
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Output {
    /// In the order of their ids.
    commands: Vec<CommandDescriptor>,
    /// True when there are more than were returned.
    truncated: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CommandDescriptor {
    /// What `commands.run` takes.
    id: String,
    name: String,
    /// The part of the id before `:`, which is the plugin as a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    owner_hint: Option<String>,
    owner_type: OwnerType,
    /// How sure the host is about `ownerType`.
    confidence: OwnerConfidence,
}

impl From<CommandInfo> for CommandDescriptor {
    fn from(command: CommandInfo) -> CommandDescriptor {
        CommandDescriptor {
            owner_hint: command.id.split_once(':').map(|(owner, _)| owner.to_owned()),
            id: command.id,
            name: command.name,
            owner_type: command.owner,
            confidence: command.confidence,
        }
    }
}

impl Tool for ListCommands {
    const NAME: &'static str = "commands.list";
    const SUMMARY: &'static str = "List the commands that the host can run.";
    const CATEGORY: &'static str = "commands";
    const FAMILY: ReceiptFamily = ReceiptFamily::HostCommand;
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Host];
    const CONCURRENCY: Concurrency = Concurrency::Parallel;

    type Args = Args;
    type Output = Output;

    fn preview(&self, _args: &Args) -> String {
        "List the commands of the host".to_owned()
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        let mut all = self.host.get()?.list_commands(cx).await?;
        all.sort_by(|a, b| a.id.cmp(&b.id));
        let words: Vec<String> = args.query.split_whitespace().map(str::to_lowercase).collect();
        let matching = all.into_iter().filter(|command| {
            let text = format!("{} {}", command.id, command.name).to_lowercase();
            command.id.starts_with(&args.prefix) && words.iter().all(|word| text.contains(word))
        });
        let limit = usize::try_from(args.limit.clamp(1, MAX_LIMIT)).unwrap_or(usize::MAX);
        let mut commands: Vec<CommandDescriptor> =
            matching.take(limit + 1).map(CommandDescriptor::from).collect();
        let truncated = commands.len() > limit;
        commands.truncate(limit);
        Ok(Output { commands, truncated })
    }

    fn summary(&self, output: &Output) -> String {
        let more = if output.truncated { ", and there are more" } else { "" };
        match output.commands.len() {
            1 => format!("Found 1 command{more}"),
            count => format!("Found {count} commands{more}"),
        }
    }

    fn project(&self, output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let commands = output.commands.iter().map(|command| HostCommandEntry {
            id: command.id.as_str(),
            name: command.name.as_str(),
            owner_type: command.owner_type.name(),
        });
        let listed = HostCommandOutput::Listed { commands: commands.collect(), more: output.truncated };
        host_command::project(&listed, with)
    }
}
