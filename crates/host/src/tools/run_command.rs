//! `commands.run`: one command of the host, by its id.

use envelope::{Change, Family, Fault, Risk, SideEffect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::families::host_command::{self, HostCommands};
use toolkit::families::{Projected, Projection};
use toolkit::{BoxFuture, PathKeys, Reach, ToolCx};
use vault::{Vault, Witness};

use super::acting::Act;
use crate::host::{FileWork, ForeseenCommand, Host};

pub(crate) struct RunCommand;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The id of the command, as `commands.list` gives it.
    id: String,
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
}

impl Act for RunCommand {
    const NAME: &'static str = "commands.run";
    const SUMMARY: &'static str = "Run a command of the host.";
    const CATEGORY: &'static str = "commands";
    const FAMILY: Family = Family::HostCommand;
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
    type Foreseen = ForeseenCommand;

    fn dry_run(_args: &Args) -> bool {
        false
    }

    fn foresee<'a>(
        host: &'a dyn Host,
        cx: &'a ToolCx,
        args: &'a Args,
    ) -> BoxFuture<'a, Result<ForeseenCommand, Fault>> {
        host.foresee_command(cx, &args.id)
    }

    fn files(foreseen: &ForeseenCommand) -> &FileWork {
        &foreseen.files
    }

    fn touches(foreseen: &ForeseenCommand) -> PathKeys {
        let edited = foreseen.edit.iter().map(|edit| Reach::File(edit.edited.path.clone()));
        let unknown = (!foreseen.is_complete).then_some(Reach::Vault);
        PathKeys {
            reads: foreseen.opens.clone().map(Reach::File).into_iter().collect(),
            writes: edited.chain(unknown).collect(),
        }
    }

    fn preview(args: &Args, foreseen: Option<&ForeseenCommand>) -> String {
        let id = args.id.escape_debug();
        match foreseen.and_then(|foreseen| foreseen.opens.as_ref()) {
            Some(opens) => format!("Run the command {id}, which opens {opens}"),
            None => format!("Run the command {id}"),
        }
    }

    fn perform<'a>(
        host: &'a dyn Host,
        cx: &'a ToolCx,
        args: &'a Args,
        foreseen: &'a ForeseenCommand,
    ) -> BoxFuture<'a, Result<Output, Fault>> {
        Box::pin(async move {
            let ran = host.run_command(cx, foreseen).await?;
            ran.effects.iter().for_each(|effect| cx.observed(*effect));
            Ok(Output { id: args.id.clone(), executed: ran.executed, error_message: ran.error_message })
        })
    }

    fn foretold(args: &Args, _foreseen: &ForeseenCommand) -> Output {
        Output { id: args.id.clone(), executed: false, error_message: None }
    }

    fn found(
        args: &Args,
        _intent: &[Change],
        _vault: &Vault,
        _witness: &dyn Witness,
    ) -> Result<Output, Fault> {
        Ok(Output { id: args.id.clone(), executed: true, error_message: None })
    }

    fn summary(output: &Output) -> String {
        match (&output.error_message, output.executed) {
            (_, true) => format!("Ran {}", output.id),
            (Some(why), false) => format!("Did not run {}: {why}", output.id),
            (None, false) => format!("Did not run {}", output.id),
        }
    }

    fn project(output: &Output, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        let Output { id, executed, error_message } = output;
        let ran = host_command::Ran { id, executed: *executed, error_message: error_message.as_deref() };
        host_command::project(&HostCommands::Ran(ran), with)
    }
}
