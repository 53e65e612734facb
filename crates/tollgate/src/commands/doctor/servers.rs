//! Reports the approval state of the MCP servers of a vault. Starts none of them.

use super::{HealthFinding, HealthLevel};
use crate::commands::servers::describe_server;
use app::vault_context::VaultContext;

pub(super) fn check_servers(context: &VaultContext) -> Vec<HealthFinding> {
    let known = context.settings.servers.iter();
    let found = known.map(|(name, settings)| match describe_server(context, name, settings) {
        Ok((true, state, _)) => HealthFinding::ok("servers", format!("{name}: {state}")),
        Ok((false, state, fix)) => {
            HealthFinding::new(HealthLevel::Warn, "servers", format!("{name}: {state}")).fix(fix)
        }
        Err(error) => HealthFinding::failed("servers", error),
    });
    found.collect()
}
