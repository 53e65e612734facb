//! Builds the MCP server on a vault.

use std::sync::Arc;

use app::call_sessions::CallSessions;
use app::live_settings::HostRegistry;
use app::plan_service::PlanService;
use app::vault_context::VaultContext;
use call_session::{ApproverFactory, FrontEnd};
use envelope::ClientId;
use mcp_server::{McpParts, McpServer, McpSettings, PLAN_BUDGET, RunStorage};

use crate::cli_error::CliError;
use crate::progress::Progress;
use crate::terminal_observer::TerminalObserver;

/// Returns the MCP server on a vault. It follows later changes of the settings. `approvers` ask if the client cannot be
/// trusted to. Hosts attach at `hosts`.
pub(crate) fn open_server(
    context: &Arc<VaultContext>,
    approvers: &ApproverFactory,
    settings: McpSettings,
    hosts: &HostRegistry,
) -> Result<Arc<McpServer>, CliError> {
    let approver = approvers(&ClientId::local(), FrontEnd::Cli);
    let CallSessions { engine_factory: make, reload_check: look, live } =
        CallSessions::open(context, &approver, settings.ask_approval, hosts)?;
    let observer = TerminalObserver::of_run(Arc::new(Progress::new(true)));
    let choice = settings.tools.clone();
    let plans = Arc::new(PlanService::new(live, approver, observer, choice, PLAN_BUDGET));
    let parts = McpParts {
        make,
        recorded: RunStorage::Disk(context.prepare_runs()?),
        plans,
        approvers: approvers.clone(),
        unique: Arc::new(|| uuid::Uuid::now_v7().simple().to_string()),
        key: key()?,
        version: env!("CARGO_PKG_VERSION"),
        settings,
    };
    let server = McpServer::new(parts).map_err(|error| CliError::bad_input("tools", error))?;
    Ok(Arc::new(server.with_reload_check(look)))
}

fn key() -> Result<[u8; 32], CliError> {
    let mut key = [0; 32];
    let filled = rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty());
    match filled {
        Ok(32) => Ok(key),
        Ok(_) | Err(_) => Err(CliError::io("draw a key", "the system has no random numbers")),
    }
}
