//! Opens the tools of a vault and builds the engine in front of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use command_line::PrefixWord;
use engine::{
    Approver, Clock, Engine, EngineParts, Forecaster, Hook, Observer, Policy, Purpose, Rule, RuleEffect,
    SystemClock, SystemIds,
};
use envelope::{Requirement, RunId};
use host::{HeadlessHost, HostRegistry, HostSettings, HostSlot};
use mcp_client::{ConnectionLifetime, UpstreamServers};
use shell::{PastRuns, ProcessLifetime, SessionParts, SharedSession, ShellSession};
use toolkit::{
    BoxFuture, CleanupRecord, CompiledTools, RegistrationError, Registry, RunCleanup, Surface, SurfaceRules,
};
use vault::Vault;

use crate::display_text::display_path;
use crate::error::AppError;
use crate::error::ErrorKind;
use crate::past_runs::RunsOnRecord;
use crate::preview::OverlayForecaster;
use crate::servers::{self, SharedServers};
use crate::trust;
use crate::vault_context::VaultContext;

/// Name of the tool that runs commands.
const EXEC_COMMAND: &str = "ExecCommand";

/// The registered tools with the vault, host and shell that they use.
pub struct Toolset {
    pub surface: Arc<Surface>,
    /// Present for the tools of one vault.
    opened: Option<OpenVault>,
    servers: Arc<UpstreamServers>,
    compiled: CompiledTools,
}

/// State that the runs of one process share.
#[derive(Default)]
pub struct SharedTools {
    pub servers: SharedServers,
    compiled: CompiledTools,
}

/// Whether `vault.restore`, which undo and redo use, is registered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RestoreTool {
    Yes,
    No,
}

struct OpenVault {
    vault: Arc<Vault>,
    host: HostSlot,
    shell: SharedSession,
    past: Arc<dyn PastRuns>,
}

impl Toolset {
    /// Returns every tool without a vault: they can be listed and plans checked against them, but not called.
    pub fn without_vault() -> Result<Toolset, AppError> {
        Toolset::new(
            None,
            Arc::new(UpstreamServers::new(Vec::new(), ConnectionLifetime::Run)),
            RestoreTool::No,
            CompiledTools::default(),
        )
    }

    /// Returns the same with the approved tools of the servers that the settings of a vault name.
    pub fn for_listing(context: &VaultContext) -> Result<Toolset, AppError> {
        let servers = Arc::new(servers::open(context, None, ConnectionLifetime::Run)?);
        Toolset::new(None, servers, RestoreTool::No, CompiledTools::default())
    }

    /// Opens every tool on a vault, with a host slot and a shell for commands.
    pub fn open(context: &VaultContext, lifetime: ProcessLifetime) -> Result<Toolset, AppError> {
        Toolset::open_with_hosts(context, lifetime, &HostRegistry::default())
    }

    /// Opens every tool on a vault whose host attaches at `hosts`.
    pub fn open_with_hosts(
        context: &VaultContext,
        lifetime: ProcessLifetime,
        hosts: &HostRegistry,
    ) -> Result<Toolset, AppError> {
        Toolset::open_inner(context, lifetime, RestoreTool::No, None, hosts)
    }

    /// Opens the tools for one of many runs of a process, which share their servers, their compiled schemas and the
    /// attached host.
    pub fn open_sharing(
        context: &VaultContext,
        shared: &SharedTools,
        hosts: &HostRegistry,
    ) -> Result<Toolset, AppError> {
        Toolset::open_inner(context, ProcessLifetime::Session, RestoreTool::No, Some(shared), hosts)
    }

    /// Opens the tools with `vault.restore`, for an undo. No plan of a model can use it.
    pub fn open_with_restore(context: &VaultContext) -> Result<Toolset, AppError> {
        Toolset::open_inner(context, ProcessLifetime::Run, RestoreTool::Yes, None, &HostRegistry::default())
    }

    fn open_inner(
        context: &VaultContext,
        lifetime: ProcessLifetime,
        restore: RestoreTool,
        shared: Option<&SharedTools>,
        hosts: &HostRegistry,
    ) -> Result<Toolset, AppError> {
        let vault = Vault::open(&context.vault)
            .map_err(|error| AppError::bad_input("no_vault", error.to_string()))?;
        let vault = Arc::new(vault);
        let headless = HeadlessHost::new(vault.clone(), host_settings(&vault), Arc::new(local_time));
        let host = HostSlot::with_registry(headless, hosts);
        let shell = command_session(context, lifetime)?;
        let left = match lifetime {
            ProcessLifetime::Run => ConnectionLifetime::Run,
            ProcessLifetime::Session => ConnectionLifetime::Process,
        };
        let servers = match shared {
            Some(shared) => shared.servers.open(context, &shell)?,
            None => Arc::new(servers::open(context, Some(&shell), left)?),
        };
        let past = Arc::new(RunsOnRecord { runs: context.runs_for_clients()? });
        let compiled = shared.map(|shared| shared.compiled.clone()).unwrap_or_default();
        Toolset::new(Some(OpenVault { vault, host, shell: Some(shell), past }), servers, restore, compiled)
    }

    /// Returns the same tools over an overlay that takes their writes, for a preview.
    pub fn with_overlay(&self) -> Result<Toolset, AppError> {
        let opened = self.opened.as_ref().map(|opened| {
            let vault = Arc::new(opened.vault.with_overlay());
            let host = opened.host.with_overlay(vault.clone());
            // A forecasting engine checks whether a command could run, and runs none.
            OpenVault { vault, host, shell: opened.shell.clone(), past: opened.past.clone() }
        });
        Toolset::new(opened, self.servers.clone(), RestoreTool::No, self.compiled.clone())
    }

    /// Returns the vault. `None` without one.
    pub fn vault(&self) -> Option<&Arc<Vault>> {
        self.opened.as_ref().map(|opened| &opened.vault)
    }

    /// Returns the cleanup at the end of a run with these tools.
    fn run_cleanup(&self) -> Option<Arc<dyn RunCleanup>> {
        let shell = self.opened.as_ref()?.shell.clone()?;
        if self.servers.is_empty() {
            return Some(shell);
        }
        Some(Arc::new(RunResources { shell, servers: self.servers.clone() }))
    }

    fn new(
        opened: Option<OpenVault>,
        servers: Arc<UpstreamServers>,
        restore: RestoreTool,
        compiled: CompiledTools,
    ) -> Result<Toolset, AppError> {
        let refused =
            |refused: RegistrationError| AppError::new(ErrorKind::Failed, "tool", refused.to_string());
        let mut registry = Registry::with_compiled(&compiled);
        let vault = opened.as_ref().map(|opened| opened.vault.clone());
        vault::register(&mut registry, vault.clone()).map_err(refused)?;
        if restore == RestoreTool::Yes {
            vault::register_restore(&mut registry, vault).map_err(refused)?;
        }
        let host = opened.as_ref().map(|opened| opened.host.clone());
        host::register(&mut registry, host).map_err(refused)?;
        let shell = opened.as_ref().and_then(|opened| opened.shell.clone());
        shell::register(&mut registry, &shell).map_err(refused)?;
        let past = opened.as_ref().map(|opened| opened.past.clone());
        shell::register_artifact_read(&mut registry, past).map_err(refused)?;
        // Last, so that no external tool takes a name of ours. `tollgate servers` lists tools that cannot be used.
        let _left_out = servers.register(&mut registry);
        // A plan is checked for the vault that it will run in, so a missing vault blocks nothing here.
        let satisfied = BTreeSet::from([Requirement::Vault, Requirement::Host, Requirement::Server]);
        let surface = Arc::new(Surface::new(&registry, &satisfied, &SurfaceRules::default()));
        Ok(Toolset { surface, opened, servers, compiled })
    }
}

/// Resources that end with a run: its tasks, and the servers that it called.
struct RunResources {
    shell: Arc<ShellSession>,
    servers: Arc<UpstreamServers>,
}

impl RunCleanup for RunResources {
    fn close<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Vec<CleanupRecord>> {
        Box::pin(async move {
            let mut closed = self.shell.close(run).await;
            closed.extend(self.servers.close(run).await);
            closed
        })
    }
}

/// Returns the user's note settings, as far as the application's own settings can be read.
fn host_settings(vault: &Vault) -> HostSettings {
    let text = |name| vault.app_settings(name);
    HostSettings::from_obsidian(text("app.json").as_deref(), text("daily-notes.json").as_deref())
}

fn local_time() -> jiff::civil::DateTime {
    jiff::Zoned::now().datetime()
}

/// Returns the shell session of a vault: its sandbox, with the variables that the settings pass on.
pub fn command_session(
    context: &VaultContext,
    lifetime: ProcessLifetime,
) -> Result<Arc<ShellSession>, AppError> {
    let launcher = std::env::current_exe().map_err(|error| AppError::io("find the program itself", error))?;
    let settings = context.settings.commands.clone();
    let passed_on =
        settings.env.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect();
    Ok(ShellSession::new(SessionParts {
        root: context.vault.clone(),
        launcher,
        settings,
        denied_programs: denied_programs(&context.settings.policy.rules),
        passed_on,
        lifetime,
        now: Arc::new(|| SystemClock::new().now()),
    }))
}

/// Returns the programs of deny rules that name only a program. No command can execute them.
fn denied_programs(rules: &[Rule]) -> Vec<String> {
    let is_about_commands = |rule: &&Rule| {
        let names_it = |tool: &String| tool == "*" || tool.eq_ignore_ascii_case(EXEC_COMMAND);
        rule.tools.is_empty() || rule.tools.iter().any(names_it)
    };
    let denies = rules.iter().filter(|rule| rule.effect == RuleEffect::Deny && rule.paths.is_empty());
    let programs = denies.filter(is_about_commands).filter_map(|rule| match rule.command.as_deref() {
        Some([PrefixWord::One(program)]) => Some(vec![program.clone()]),
        Some([PrefixWord::Any(programs)]) => Some(programs.clone()),
        Some(_) | None => None,
    });
    programs.flatten().collect()
}

/// Builds the engine of a vault under its settings, with all its hooks. Fails if one of them cannot be used.
///
/// Without a `forecaster`, a question about a call shows no differences and an approval is bound to no state of a file.
/// That is for approvals given in advance.
pub fn build_engine(
    context: &VaultContext,
    tools: &Toolset,
    approver: Arc<dyn Approver>,
    observer: Arc<dyn Observer>,
    forecaster: Option<Arc<OverlayForecaster>>,
) -> Result<Engine, AppError> {
    let forecaster = forecaster.map(|forecaster| forecaster as Arc<dyn Forecaster>);
    let hooks = match trust::hooks(context) {
        Ok(hooks) => hooks,
        // Rules that do not load could not be trusted, so that error comes first.
        Err(untrusted) => {
            assemble_engine(context, tools, Vec::new(), approver, OptionalEngineParts::default())?;
            return Err(untrusted);
        }
    };
    assemble_engine(
        context,
        tools,
        hooks,
        approver,
        OptionalEngineParts { observer: Some(observer), forecaster },
    )
}

/// Builds an engine that forecasts, over tools with an overlay. It has no hooks: they are programs, whose effects an
/// overlay does not hold back.
pub fn forecast_engine<S: Approver + Observer + 'static>(
    policy: Policy,
    surface: &Arc<Surface>,
    observer: Arc<S>,
) -> Result<Engine, AppError> {
    Engine::new(EngineParts {
        surface: surface.clone(),
        policy,
        hooks: Vec::new(),
        clock: Arc::new(SystemClock::new()),
        ids: Arc::new(SystemIds),
        approver: observer.clone(),
        observer: Some(observer),
        executor_version: env!("CARGO_PKG_VERSION").into(),
        purpose: Purpose::Forecast,
        forecaster: None,
        cleanup: None,
    })
    .map_err(|bad| {
        AppError::bad_input("bad_config", format!("{}: {bad}", crate::settings::CONFIG_FILE))
            .hint("fix that [[rules]] entry; they are counted from 1 in the order of the file")
    })
}

/// Fails if the rules of a vault cannot be parsed. Builds an engine without hooks and makes no call.
pub fn check_rules(context: &VaultContext, approver: Arc<dyn Approver>) -> Result<(), AppError> {
    assemble_engine(
        context,
        &Toolset::for_listing(context)?,
        Vec::new(),
        approver,
        OptionalEngineParts::default(),
    )
    .map(|_unused| ())
}

/// Optional parts of an engine: the observer of its runs, and the forecaster of calls.
#[derive(Default)]
struct OptionalEngineParts {
    observer: Option<Arc<dyn Observer>>,
    forecaster: Option<Arc<dyn Forecaster>>,
}

fn assemble_engine(
    context: &VaultContext,
    tools: &Toolset,
    hooks: Vec<Arc<dyn Hook>>,
    approver: Arc<dyn Approver>,
    with: OptionalEngineParts,
) -> Result<Engine, AppError> {
    Engine::new(EngineParts {
        surface: tools.surface.clone(),
        policy: context.settings.policy.clone(),
        hooks,
        clock: Arc::new(SystemClock::new()),
        ids: Arc::new(SystemIds),
        approver,
        observer: with.observer,
        executor_version: env!("CARGO_PKG_VERSION").into(),
        purpose: Purpose::Act,
        forecaster: with.forecaster,
        cleanup: tools.run_cleanup(),
    })
    .map_err(|bad| {
        AppError::bad_input(
            "bad_config",
            format!("{}: {bad}", display_path(&context.vault.join(crate::settings::CONFIG_FILE))),
        )
        .hint("fix that [[rules]] entry; they are counted from 1 in the order of the file")
    })
}
