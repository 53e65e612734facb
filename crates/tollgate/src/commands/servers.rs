//! `tollgate servers`: the MCP servers that the settings of a vault name, and the approval of their tools.

mod blank_runs;
mod tool_changes;

use std::path::Path;
use std::sync::Arc;

use clap::{Args, Subcommand};
use mcp_client::{ConnectionLifetime, ListedTools, ServerPin, ServerSettings};
use serde_json::json;
use shell::ProcessLifetime;
use toolkit::Registry;

use self::tool_changes::ServerToolChanges;
use crate::cli_error::{CliError, CommandResult};
use crate::exit::Exit;
use crate::prompt;
use crate::runtime::{self, InterruptSignal};
use crate::screen::{self};
use app::display_text::{count, escape_line};
use app::servers::{self, ServerApprovalState};
use app::toolset;
use app::trust;
use app::vault_context::VaultContext;

/// Lists the MCP servers of a vault, and approves their tools
///
/// A server is declared as [servers.NAME] in .tollgate/config.toml. Its tools can be called once the vault is trusted
/// and you have approved what the server offers. Approvals are kept outside of the vault. A tool that its server
/// declares differently later is blocked until you approve it again.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example:\n  tollgate servers\n  tollgate servers approve files\n  tollgate servers forget files"
)]
pub(crate) struct ServersCommand {
    #[command(subcommand)]
    what: Option<ServersAction>,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ServersAction {
    /// Starts a server, shows which tools are new or changed, and approves them
    #[command(after_help = "Example:\n  tollgate servers approve files --vault ~/Notes")]
    Approve {
        /// The server, as the settings name it
        name: String,
        /// Approve without being asked
        #[arg(long)]
        yes: bool,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Withdraws the approval of a server
    #[command(after_help = "Example:\n  tollgate servers forget files")]
    Forget {
        /// The server
        name: String,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
}

impl ServersCommand {
    pub(crate) fn json(&self) -> bool {
        match &self.what {
            None => self.json,
            Some(ServersAction::Approve { json, .. } | ServersAction::Forget { json, .. }) => *json,
        }
    }

    pub(crate) fn run(self, vault: Option<&Path>) -> CommandResult {
        let context = VaultContext::find(vault)?;
        match &self.what {
            None => list(&context, self.json),
            Some(ServersAction::Approve { name, yes, json }) => approve(&context, name, *yes, *json),
            Some(ServersAction::Forget { name, json }) => forget(&context, name, *json),
        }
    }
}

/// Describes a server: whether it is approved, its state, and the command to run next.
pub(crate) fn describe_server(
    context: &VaultContext,
    name: &str,
    settings: &ServerSettings,
) -> Result<(bool, String, String), app::AppError> {
    if let Some(obstacle) = trust::server_obstacle(context, name, settings) {
        return Ok((false, format!("not used: {}", obstacle.message), obstacle.hint.unwrap_or_default()));
    }
    let approve = format!("tollgate servers approve {name} {}", context.vault_arguments());
    Ok(match servers::server_approval_state(context, name, settings)? {
        ServerApprovalState::New => (false, "not approved".to_owned(), approve),
        ServerApprovalState::Moved => {
            (false, "its settings have changed since it was approved".to_owned(), approve)
        }
        ServerApprovalState::Approved(pin) => {
            let tools = count(pin.tools.len() as u64, "tool");
            match unusable_tools(context, name, settings, &pin).as_slice() {
                [] => (true, format!("approved, {tools}"), String::new()),
                left_out => (true, format!("approved, {tools}; left out: {}", left_out.join("; ")), approve),
            }
        }
    })
}

fn list(context: &VaultContext, json: bool) -> CommandResult {
    let mut answer = Vec::new();
    for (name, settings) in &context.settings.servers {
        let (approved, state, fix) = describe_server(context, name, settings)?;
        if json {
            answer.push(json!({ "name": name, "approved": approved, "state": state, "settings": settings }));
            continue;
        }
        let paint = screen::stdout_paint();
        let shown = if approved { paint.good(&state) } else { paint.odd(&state) };
        screen::print(format_args!("{}  {shown}", paint.bold(name)));
        screen::print(format_args!("  {}", escape_line(&settings.describe(name))));
        if !fix.is_empty() {
            screen::print(format_args!("  {} {fix}", paint.dim("next:")));
        }
    }
    let trusted = trust::trust_state(context)?.is_usable();
    if json {
        screen::json(&json!({ "trusted": trusted, "servers": answer }));
    } else if context.settings.servers.is_empty() {
        screen::print(
            "The settings of this vault name no servers; [servers.NAME] in .tollgate/config.toml does.",
        );
    } else if !trusted {
        screen::print(format_args!(
            "Nothing of it runs before `tollgate trust {}`.",
            context.vault_arguments()
        ));
    }
    Ok(Exit::Done)
}

fn approve(context: &VaultContext, name: &str, yes: bool, json: bool) -> CommandResult {
    let settings = find_server(context, name)?;
    if let Some(obstacle) = trust::server_obstacle(context, name, settings) {
        return Err(obstacle.into());
    }
    // The program of a server is started only if the vault that names it is trusted.
    drop(trust::hooks(context)?);
    let offer = list_offered_tools(context, name, settings, json)?;
    let before = servers::approved_pin(context, name)?;
    let whole = ServerPin { identity: settings.identity(), tools: offer.tools.clone() };
    let left_out = unusable_tools(context, name, settings, &whole);
    let changes = ServerToolChanges::compare(before.as_ref(), settings, &offer, left_out);
    if !json {
        changes.show(name);
    }
    let nothing_new = changes.is_none();
    if !yes && !nothing_new {
        confirm_approval(name, &changes)?;
    }
    let usable = |tool: &&mcp_client::ToolDeclaration| !changes.is_left_out(&tool.name);
    let tools = offer.tools.iter().filter(usable).cloned().collect();
    let pin = ServerPin { identity: settings.identity(), tools };
    let approved = pin.tools.len() as u64;
    servers::record_approval(context, name, pin)?;
    if json {
        screen::json(&changes.as_json(name, approved));
    } else if nothing_new {
        screen::print("Nothing has changed since it was approved.");
    } else {
        screen::print(format_args!("Approved: {} of {name} can be called.", count(approved, "tool")));
    }
    Ok(Exit::Done)
}

/// Starts the server, lists its tools and stops it.
fn list_offered_tools(
    context: &VaultContext,
    name: &str,
    settings: &ServerSettings,
    json: bool,
) -> Result<ListedTools, CliError> {
    let session = toolset::command_session(context, ProcessLifetime::Run)?;
    let server = servers::server(context, name, settings, Some(&session));
    let interrupts = InterruptSignal::new(json);
    let cancel = interrupts.cancel();
    let asked = runtime::block_on(&interrupts, async {
        let offer = tokio::select! {
            offer = server.list_tools() => Some(offer),
            () = cancel.cancelled() => None,
        };
        server.close().await;
        offer
    })?;
    match asked {
        Some(Ok(offer)) => Ok(offer),
        Some(Err(fault)) => {
            let hint = fault.recovery_hint().to_owned();
            Err(CliError::new(Exit::Failures, "server", fault.message).hint(hint))
        }
        None => Err(CliError::new(Exit::Cancelled, "cancelled", "nothing was approved")),
    }
}

fn forget(context: &VaultContext, name: &str, json: bool) -> CommandResult {
    let was = servers::revoke_approval(context, name)?;
    if json {
        screen::json(&json!({ "server": name, "forgotten": was }));
    } else if was {
        screen::print(format_args!("Forgotten: no tool of {} can be called.", escape_line(name)));
    } else {
        screen::print(format_args!("Nothing of {} was approved.", escape_line(name)));
    }
    Ok(Exit::Done)
}

fn find_server<'p>(context: &'p VaultContext, name: &str) -> Result<&'p ServerSettings, CliError> {
    context.settings.servers.get(name).ok_or_else(|| {
        let known: Vec<&str> = context.settings.servers.keys().map(String::as_str).collect();
        let hint = match envelope::nearest(name, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`? `tollgate servers` lists them all"),
            None => format!("declare it as [servers.{}] in .tollgate/config.toml", escape_line(name)),
        };
        let message = format!("the settings of this vault name no server `{}`", escape_line(name));
        CliError::bad_input("no_such_server", message).hint(hint)
    })
}

/// Returns the tools that cannot be registered even if approved, with the reasons.
fn unusable_tools(
    context: &VaultContext,
    name: &str,
    settings: &ServerSettings,
    pin: &ServerPin,
) -> Vec<String> {
    let server = servers::server(context, name, settings, None);
    let servers =
        mcp_client::UpstreamServers::new(vec![(Arc::clone(&server), pin.clone())], ConnectionLifetime::Run);
    servers.register(&mut Registry::new())
}

fn confirm_approval(name: &str, changes: &ServerToolChanges) -> Result<(), CliError> {
    let asked = screen::stderr_paint().bold(format!("May models call these tools of {name}? [y/N]"));
    match prompt::ask_at_terminal(&format!("{}\n{asked}", changes.summary())).as_deref() {
        Some("y" | "yes") => Ok(()),
        Some(_) => Err(CliError::new(Exit::Denied, "declined", "nothing was approved")),
        None => Err(CliError::new(
            Exit::Denied,
            "declined",
            "not running in a terminal, so you cannot be asked; nothing was approved",
        )
        .hint("look at what it offers above, then run it again with --yes")),
    }
}
