//! The servers of a vault, and the user's approval of each.
//!
//! Approvals are stored outside of the vault, as for hooks: `$XDG_STATE_HOME/tollgate/servers/`, one file a vault, for
//! the owner only. They contain the declarations themselves, so that a change can be shown.

mod server_approval_file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use envelope::Hash;
use mcp_client::{
    ApprovalLookup, ConnectionLifetime, ServerParts, ServerPin, ServerResources, ServerSettings,
    UpstreamServer, UpstreamServers,
};
use serde::{Deserialize, Serialize};
use shell::{CommandSettings, ShellSession};

use self::server_approval_file::ApprovalFile;
use crate::bounded_file;
use crate::display_text::display_path;
use crate::error::AppError;
use crate::trust;
use crate::vault_context::VaultContext;

/// Largest file that is read. It holds the declarations of every approved tool of a vault's servers.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Approval state of one server of the settings.
pub enum ServerApprovalState {
    /// Never approved.
    New,
    /// Its settings name another program or address than the approved one.
    Moved,
    Approved(ServerPin),
}

/// The approval file of one vault.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApprovedServers {
    vault: String,
    servers: BTreeMap<String, ServerPin>,
}

/// Returns the approval state of a server of the settings.
pub fn server_approval_state(
    context: &VaultContext,
    name: &str,
    settings: &ServerSettings,
) -> Result<ServerApprovalState, AppError> {
    Ok(match read(context)?.servers.remove(name) {
        None => ServerApprovalState::New,
        Some(pin) if pin.identity != settings.identity() => ServerApprovalState::Moved,
        Some(pin) => ServerApprovalState::Approved(pin),
    })
}

/// Returns the last approval under this name, whatever it named.
pub fn approved_pin(context: &VaultContext, name: &str) -> Result<Option<ServerPin>, AppError> {
    Ok(read(context)?.servers.remove(name))
}

/// Returns the servers whose tools can be called. Starts nothing.
pub fn open(
    context: &VaultContext,
    session: Option<&Arc<ShellSession>>,
    left: ConnectionLifetime,
) -> Result<UpstreamServers, AppError> {
    open_servers(context, approved_servers(context)?, session, left)
}

/// Servers shared by the runs of a process: every run gets the same ones, and so the same programs, as long as its
/// settings and approvals are equal.
#[derive(Default)]
pub struct SharedServers(Mutex<Option<(CallableServers, Arc<UpstreamServers>)>>);

/// Everything that must be equal for two runs to share servers.
#[derive(PartialEq)]
struct CallableServers {
    approved: Vec<(String, ServerSettings, ServerPin)>,
    commands: CommandSettings,
}

impl SharedServers {
    /// Returns the servers of a run. Approvals are read every time, so that a revocation takes effect at the next run.
    pub fn open(
        &self,
        context: &VaultContext,
        session: &Arc<ShellSession>,
    ) -> Result<Arc<UpstreamServers>, AppError> {
        let callable = CallableServers {
            approved: approved_servers(context)?,
            commands: context.settings.commands.clone(),
        };
        let make = |callable: &CallableServers| {
            open_servers(context, callable.approved.clone(), Some(session), ConnectionLifetime::Process)
        };
        self.reuse_or(callable, make)
    }

    fn reuse_or(
        &self,
        callable: CallableServers,
        make: impl FnOnce(&CallableServers) -> Result<UpstreamServers, AppError>,
    ) -> Result<Arc<UpstreamServers>, AppError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_before, servers)) = kept.as_ref().filter(|(before, _)| *before == callable) {
            servers.begin_run();
            return Ok(Arc::clone(servers));
        }
        // The earlier ones end with the last run that uses them.
        let servers = Arc::new(make(&callable)?);
        *kept = Some((callable, Arc::clone(&servers)));
        Ok(servers)
    }
}

/// Returns the servers whose current settings are approved and can be used. Another one has no tools, and does not affect
/// the rest of the vault.
fn approved_servers(context: &VaultContext) -> Result<Vec<(String, ServerSettings, ServerPin)>, AppError> {
    if context.settings.servers.is_empty() {
        return Ok(Vec::new());
    }
    let mut approved = read(context)?.servers;
    let same = |(name, settings): (&String, &ServerSettings)| {
        if trust::server_obstacle(context, name, settings).is_some() {
            return None;
        }
        let pin = approved.remove(name).filter(|pin| pin.identity == settings.identity())?;
        Some((name.clone(), settings.clone(), pin))
    };
    Ok(context.settings.servers.iter().filter_map(same).collect())
}

fn open_servers(
    context: &VaultContext,
    approved: Vec<(String, ServerSettings, ServerPin)>,
    session: Option<&Arc<ShellSession>>,
    left: ConnectionLifetime,
) -> Result<UpstreamServers, AppError> {
    let mut servers = Vec::new();
    for (name, settings, pin) in approved {
        let now = ApprovalFile::on(approval_file_path(context)?, name.clone());
        servers.push((make_server(context, &name, &settings, session, Some(now)), pin));
    }
    Ok(UpstreamServers::new(servers, left))
}

/// Returns one server for inspection, not started.
pub fn server(
    context: &VaultContext,
    name: &str,
    settings: &ServerSettings,
    session: Option<&Arc<ShellSession>>,
) -> Arc<UpstreamServer> {
    make_server(context, name, settings, session, None)
}

fn make_server(
    context: &VaultContext,
    name: &str,
    settings: &ServerSettings,
    session: Option<&Arc<ShellSession>>,
    approved: Option<ApprovalLookup>,
) -> Arc<UpstreamServer> {
    let body = ServerResources {
        session: session.cloned(),
        env: settings.variables(|name| std::env::var(name).ok()),
        token: settings.token_env.as_ref().and_then(|name| std::env::var(name).ok()),
    };
    let (name, settings, root) = (name.to_owned(), settings.clone(), context.vault.clone());
    UpstreamServer::new(ServerParts { name, settings, resources: body, root, approved })
}

/// Records an approval.
pub fn record_approval(context: &VaultContext, name: &str, pin: ServerPin) -> Result<(), AppError> {
    update_approvals(context, |approved| {
        approved.servers.insert(name.to_owned(), pin);
        true
    })
    .map(|_changed| ())
}

/// Revokes an approval. Returns true if there was one.
pub fn revoke_approval(context: &VaultContext, name: &str) -> Result<bool, AppError> {
    update_approvals(context, |approved| approved.servers.remove(name).is_some())
}

fn update_approvals(
    context: &VaultContext,
    change: impl FnOnce(&mut ApprovedServers) -> bool,
) -> Result<bool, AppError> {
    let file = approval_file_path(context)?;
    let _turn = trust::lock_file(&file)?;
    let mut approved = read(context)?;
    let changed = change(&mut approved);
    if changed {
        approved.vault = context.vault.to_string_lossy().into_owned();
        trust::write_private_file(&file, &approved)?;
    }
    Ok(changed)
}

/// Returns the approval file of a vault.
pub fn approval_file_path(context: &VaultContext) -> Result<PathBuf, AppError> {
    let hash = Hash::of(context.vault.as_os_str().as_encoded_bytes()).to_string();
    let name: String = hash.chars().filter(char::is_ascii_alphanumeric).skip("b3".len()).take(32).collect();
    Ok(trust::state_folder(Some(&context.vault))?.join("servers").join(format!("{name}.json")))
}

fn read(context: &VaultContext) -> Result<ApprovedServers, AppError> {
    read_file(&approval_file_path(context)?)
}

fn read_file(file: &Path) -> Result<ApprovedServers, AppError> {
    let bad = |why: String| {
        AppError::bad_input("bad_servers_file", format!("{}: {why}", display_path(file)))
            .hint("move it away; `tollgate servers approve NAME` makes a new one")
    };
    match bounded_file::read_own(file, MAX_FILE_BYTES).map_err(bad)? {
        Some(bytes) => serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string())),
        None => Ok(ApprovedServers::default()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use envelope::Hash;
    use mcp_client::{ConnectionLifetime, ServerPin, ServerSettings, UpstreamServers};
    use shell::CommandSettings;

    use super::{CallableServers, SharedServers};

    fn callable(identity: &str, path: &str) -> CallableServers {
        let pin = ServerPin { identity: Hash::of(identity.as_bytes()), tools: Vec::new() };
        CallableServers {
            approved: vec![("s".to_owned(), ServerSettings::default(), pin)],
            commands: CommandSettings { path: path.to_owned(), ..CommandSettings::default() },
        }
    }

    #[test]
    fn runs_share_servers_until_what_is_approved_or_how_programs_run_changes() {
        let kept = SharedServers::default();
        let open = |identity, path| {
            let make =
                |_: &CallableServers| Ok(UpstreamServers::new(Vec::new(), ConnectionLifetime::Process));
            kept.reuse_or(callable(identity, path), make).unwrap_or_else(|error| panic!("{}", error.message))
        };
        let first = open("a", "/bin");
        assert!(Arc::ptr_eq(&first, &open("a", "/bin")));
        let other = open("b", "/bin");
        assert!(!Arc::ptr_eq(&first, &other));
        assert!(Arc::ptr_eq(&other, &open("b", "/bin")));
        assert!(!Arc::ptr_eq(&other, &open("b", "/usr/bin")));
    }
}
