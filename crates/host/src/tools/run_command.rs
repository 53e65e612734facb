//! `commands.run`: one command of the host, by its id.

use std::collections::BTreeSet;

use envelope::{Fault, ReceiptFamily, Risk, SideEffect, VaultChange, VaultPath};
use receipts::families::host_command::{self, HostCommandOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{BoxFuture, PathKeys, PathScope, ProjectedResult, Projection, ToolCx};
use vault::{IoContext, Vault};

use super::host_action::{HostAction, all_paths};
use crate::prepared::{PreparedFiles, PreparedHostCommand};
use crate::slot::HostSlot;

pub(crate) struct RunHostCommand;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// The id of the command, as `commands.list` gives it.
    id: String,
    /// Report what would happen without running it.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    id: String,
    /// False when the command cannot be run now; `errorMessage` says why.
    executed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    error_message: Option<String>,
    /// On a dry run: the files that it would open or change, as far as the host can tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

impl Output {
    fn ran(args: &Args, executed: bool, error_message: Option<String>) -> Output {
        Output { id: args.id.clone(), executed, error_message, paths: Vec::new(), dry_run: false }
    }
}

impl HostAction for RunHostCommand {
    const NAME: &'static str = "commands.run";
    const SUMMARY: &'static str = "Run a command of the host.";
    const CATEGORY: &'static str = "commands";
    const FAMILY: ReceiptFamily = ReceiptFamily::HostCommand;
    const RISK: Risk = Risk::Commands;
    const SIDE_EFFECTS: &'static [SideEffect] = &[
        SideEffect::RunCommand,
        SideEffect::CreateFile,
        SideEffect::CreateFolder,
        SideEffect::ModifyFile,
        SideEffect::EditBuffer,
        SideEffect::ChangeWorkspace,
    ];

    type Args = Args;
    type Output = Output;
    type Prepared = PreparedHostCommand;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn prepare<'a>(
        host: &'a HostSlot,
        cx: &'a ToolCx,
        args: &'a Args,
    ) -> BoxFuture<'a, Result<PreparedHostCommand, Fault>> {
        Box::pin(host.prepare_command(cx, &args.id))
    }

    fn files(prepared: &PreparedHostCommand) -> &PreparedFiles {
        &prepared.files
    }

    fn touched_paths(prepared: &PreparedHostCommand) -> PathKeys {
        let edited = prepared.edit.iter().map(|edit| PathScope::File(edit.outcome.path.clone()));
        let unknown = (!prepared.is_complete).then_some(PathScope::Vault);
        PathKeys {
            reads: prepared.opens.clone().map(PathScope::File).into_iter().collect(),
            writes: edited.chain(unknown).collect(),
        }
    }

    fn preview(args: &Args, prepared: Option<&PreparedHostCommand>) -> String {
        let id = args.id.escape_debug();
        match prepared.and_then(|prepared| prepared.opens.as_ref()) {
            Some(opens) => format!("Run the command {id}, which opens {opens}"),
            None => format!("Run the command {id}"),
        }
    }

    fn apply<'a>(
        host: &'a HostSlot,
        cx: &'a ToolCx,
        args: &'a Args,
        prepared: &'a PreparedHostCommand,
    ) -> BoxFuture<'a, Result<Output, Fault>> {
        Box::pin(async move {
            let ran = host.run_command(cx, prepared).await?;
            ran.effects.iter().for_each(|effect| cx.observed(*effect));
            Ok(Output::ran(args, ran.executed, ran.error_message))
        })
    }

    fn dry_run_output(args: &Args, foreseen: &PreparedHostCommand) -> Output {
        let paths: BTreeSet<String> =
            all_paths::<RunHostCommand>(foreseen).into_iter().map(VaultPath::into_string).collect();
        Output {
            paths: paths.into_iter().collect(),
            dry_run: true,
            ..Output::ran(args, false, foreseen.unavailable.clone())
        }
    }

    fn reconciled_output(
        args: &Args,
        _intent: &[VaultChange],
        _vault: &Vault,
        _io: &dyn IoContext,
    ) -> Result<Output, Fault> {
        Ok(Output::ran(args, true, None))
    }

    fn summary(output: &Output) -> String {
        if output.dry_run && output.error_message.is_none() {
            return match output.paths.as_slice() {
                [] => format!("Would run {}", output.id),
                paths => format!("Would run {}, which opens or changes {}", output.id, paths.join(", ")),
            };
        }
        match (&output.error_message, output.executed) {
            (Some(why), false) if output.dry_run => format!("Would not run {}: {why}", output.id),
            (_, true) => format!("Ran {}", output.id),
            (Some(why), false) => format!("Did not run {}: {why}", output.id),
            (None, false) => format!("Did not run {}", output.id),
        }
    }

    fn project(output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let Output { id, executed, error_message, .. } = output;
        let ran =
            host_command::HostCommandRun { id, executed: *executed, error_message: error_message.as_deref() };
        host_command::project(&HostCommandOutput::Ran(ran), with)
    }
}
