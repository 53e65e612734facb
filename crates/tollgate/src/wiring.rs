//! Puts the parts together: the tools there are, and the gate in front of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::{
    Approver, Clock, Engine, EngineParts, Forecaster, Hook, Observer, Policy, Purpose, Rule, RuleEffect,
    SystemClock, SystemIds,
};
use envelope::{Requirement, RunId};
use host::{HeadlessHost, Host, HostSettings};
use plan::CheckLimits;
use shell::{Lifetime, PastRuns, Session, SessionParts, Shell};
use toolkit::command_line::Word;
use toolkit::{BoxFuture, Closed, Closing, Refused, Registry, Surface, SurfaceRules};
use upstream::{Left, Servers};
use vault::Vault;

use crate::exit::Exit;
use crate::past_runs::RunsOnRecord;
use crate::place::Place;
use crate::preview::OverlayForecaster;
use crate::servers::{self, Kept};
use crate::settings::Settings;
use crate::stop::Stop;
use crate::trust;
use crate::visible::path_words;

/// The tool that runs commands.
const EXEC_COMMAND: &str = "ExecCommand";

/// The tools there are, with what they work on.
pub(crate) struct Toolset {
    pub(crate) surface: Arc<Surface>,
    /// Present for the tools of one vault.
    opened: Option<Opened>,
    servers: Arc<Servers>,
}

/// Whether the tool that undo and redo are made of is among the tools.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Restore {
    Yes,
    No,
}

struct Opened {
    vault: Arc<Vault>,
    host: Arc<HeadlessHost>,
    shell: Shell,
    past: Arc<dyn PastRuns>,
}

impl Toolset {
    /// Every tool, with no vault: they can be listed and checked against, not called.
    pub(crate) fn without_vault() -> Result<Toolset, Stop> {
        Toolset::new(None, Arc::new(Servers::new(Vec::new(), Left::WithTheRun)), Restore::No)
    }

    /// The same with the approved tools of the servers that the settings of a vault name.
    pub(crate) fn listed(place: &Place) -> Result<Toolset, Stop> {
        Toolset::new(None, Arc::new(servers::open(place, None, Left::WithTheRun)?), Restore::No)
    }

    /// Every tool on a vault, with a headless host that has it open and a shell for commands.
    pub(crate) fn open(place: &Place, lifetime: Lifetime) -> Result<Toolset, Stop> {
        Toolset::opened(place, lifetime, Restore::No, None)
    }

    /// The same for one of many runs of a process, which share the servers that they call.
    pub(crate) fn open_sharing(place: &Place, kept: &Kept) -> Result<Toolset, Stop> {
        Toolset::opened(place, Lifetime::Session, Restore::No, Some(kept))
    }

    /// The same with `vault.restore`, which no plan of a model may use: for an undo.
    pub(crate) fn open_with_restore(place: &Place) -> Result<Toolset, Stop> {
        Toolset::opened(place, Lifetime::Run, Restore::Yes, None)
    }

    fn opened(
        place: &Place,
        lifetime: Lifetime,
        restore: Restore,
        kept: Option<&Kept>,
    ) -> Result<Toolset, Stop> {
        let vault =
            Vault::open(&place.vault).map_err(|error| Stop::bad_input("no_vault", error.to_string()))?;
        let vault = Arc::new(vault);
        let host = Arc::new(HeadlessHost::new(vault.clone(), host_settings(&vault), Arc::new(local_time)));
        let shell = session(place, lifetime)?;
        let left = match lifetime {
            Lifetime::Run => Left::WithTheRun,
            Lifetime::Session => Left::ForTheNext,
        };
        let servers = match kept {
            Some(kept) => kept.open(place, &shell)?,
            None => Arc::new(servers::open(place, Some(&shell), left)?),
        };
        let past = Arc::new(RunsOnRecord { runs: place.runs_for_clients()? });
        Toolset::new(Some(Opened { vault, host, shell: Some(shell), past }), servers, restore)
    }

    /// The same tools, over a layer that takes what they write: for a preview.
    pub(crate) fn imagined(&self) -> Result<Toolset, Stop> {
        let opened = self.opened.as_ref().map(|opened| {
            let vault = Arc::new(opened.vault.imagined());
            let host = Arc::new(opened.host.imagined(vault.clone()));
            // A gate that only foresees looks whether a command could run, and runs none.
            Opened { vault, host, shell: opened.shell.clone(), past: opened.past.clone() }
        });
        Toolset::new(opened, self.servers.clone(), Restore::No)
    }

    /// The vault, for those tools that have one.
    pub(crate) fn vault(&self) -> Option<&Arc<Vault>> {
        self.opened.as_ref().map(|opened| &opened.vault)
    }

    /// What has to be ended when a run with these tools ends.
    fn closing(&self) -> Option<Arc<dyn Closing>> {
        let shell = self.opened.as_ref()?.shell.clone()?;
        if self.servers.is_empty() {
            return Some(shell);
        }
        Some(Arc::new(Together { shell, servers: self.servers.clone() }))
    }

    fn new(opened: Option<Opened>, servers: Arc<Servers>, restore: Restore) -> Result<Toolset, Stop> {
        let refused = |refused: Refused| Stop::new(Exit::Failures, "tool", refused.to_string());
        let mut registry = Registry::new();
        let vault = opened.as_ref().map(|opened| opened.vault.clone());
        vault::register(&mut registry, vault.clone()).map_err(refused)?;
        if restore == Restore::Yes {
            vault::register_restore(&mut registry, vault).map_err(refused)?;
        }
        let host = opened.as_ref().map(|opened| opened.host.clone() as Arc<dyn Host>);
        host::register(&mut registry, host).map_err(refused)?;
        let shell = opened.as_ref().and_then(|opened| opened.shell.clone());
        shell::register(&mut registry, &shell).map_err(refused)?;
        let past = opened.as_ref().map(|opened| opened.past.clone());
        shell::register_artifact_read(&mut registry, past).map_err(refused)?;
        // Last, so that no tool of others takes a spelling of ours. What cannot be used is named by `tollgate servers`.
        let _left_out = servers.register(&mut registry);
        // A plan is checked for the vault it will run in, so the lack of one here blocks nothing.
        let satisfied = BTreeSet::from([Requirement::Vault, Requirement::Host, Requirement::Server]);
        let surface = Arc::new(Surface::new(&registry, &satisfied, &SurfaceRules::default()));
        Ok(Toolset { surface, opened, servers })
    }
}

/// What has to be ended with a run: its tasks, and the servers that it called.
struct Together {
    shell: Arc<Session>,
    servers: Arc<Servers>,
}

impl Closing for Together {
    fn close<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Vec<Closed>> {
        Box::pin(async move {
            let mut closed = self.shell.close(run).await;
            closed.extend(self.servers.close(run).await);
            closed
        })
    }
}

/// How the person keeps their notes, as far as the application's own settings can be read.
fn host_settings(vault: &Vault) -> HostSettings {
    let text = |name| vault.app_settings(name);
    HostSettings::from_obsidian(text("app.json").as_deref(), text("daily-notes.json").as_deref())
}

fn local_time() -> jiff::civil::DateTime {
    jiff::Zoned::now().datetime()
}

/// What commands run in: the vault behind its walls, with the variables that the settings hand on.
pub(crate) fn session(place: &Place, lifetime: Lifetime) -> Result<Arc<Session>, Stop> {
    let launcher = std::env::current_exe().map_err(|error| Stop::io("find the program itself", error))?;
    let settings = place.settings.commands.clone();
    let passed_on =
        settings.env.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect();
    Ok(Session::new(SessionParts {
        root: place.vault.clone(),
        launcher,
        settings,
        denied_programs: denied_programs(&place.settings.policy.rules),
        passed_on,
        lifetime,
        now: Arc::new(|| SystemClock::new().now()),
    }))
}

/// The programs of deny rules that name a program and nothing else. No command may execute them, whatever its words are.
fn denied_programs(rules: &[Rule]) -> Vec<String> {
    let is_about_commands = |rule: &&Rule| {
        let names_it = |tool: &String| tool == "*" || tool.eq_ignore_ascii_case(EXEC_COMMAND);
        rule.tools.is_empty() || rule.tools.iter().any(names_it)
    };
    let denies = rules.iter().filter(|rule| rule.effect == RuleEffect::Deny && rule.paths.is_empty());
    let programs = denies.filter(is_about_commands).filter_map(|rule| match rule.command.as_deref() {
        Some([Word::One(program)]) => Some(vec![program.clone()]),
        Some([Word::Any(programs)]) => Some(programs.clone()),
        Some(_) | None => None,
    });
    programs.flatten().collect()
}

/// The gate for one vault under its settings, with all its hooks or not at all.
///
/// Without a `forecaster`, a question about a call tells no differences and a yes is bound to no state of a file: that is
/// for a yes that was given in advance.
pub(crate) fn engine(
    place: &Place,
    tools: &Toolset,
    approver: Arc<dyn Approver>,
    observer: Arc<dyn Observer>,
    forecaster: Option<Arc<OverlayForecaster>>,
) -> Result<Engine, Stop> {
    let forecaster = forecaster.map(|forecaster| forecaster as Arc<dyn Forecaster>);
    let hooks = match trust::hooks(place) {
        Ok(hooks) => hooks,
        // Rules that do not load could not be trusted, so that is said first.
        Err(untrusted) => {
            gate(place, tools, Vec::new(), approver, Companions::default())?;
            return Err(untrusted);
        }
    };
    gate(place, tools, hooks, approver, Companions { observer: Some(observer), forecaster })
}

/// A gate that only finds out what would be done, over tools that only imagine. It has no hooks: they are
/// programs, and a program does what it does.
pub(crate) fn forecasting<S: Approver + Observer + 'static>(
    policy: Policy,
    surface: &Arc<Surface>,
    spectator: Arc<S>,
) -> Result<Engine, Stop> {
    Engine::new(EngineParts {
        surface: surface.clone(),
        policy,
        hooks: Vec::new(),
        clock: Arc::new(SystemClock::new()),
        ids: Arc::new(SystemIds),
        approver: spectator.clone(),
        observer: Some(spectator),
        executor_version: env!("CARGO_PKG_VERSION").into(),
        purpose: Purpose::Forecast,
        forecaster: None,
        closing: None,
    })
    .map_err(|bad| {
        Stop::bad_input("bad_config", format!("{}: {bad}", crate::settings::CONFIG_FILE))
            .hint("fix that [[rules]] entry; they are counted from 1 in the order of the file")
    })
}

/// Whether the rules of a vault can be understood. Makes a gate without hooks and lets nothing through it.
pub(crate) fn check_rules(place: &Place, approver: Arc<dyn Approver>) -> Result<(), Stop> {
    gate(place, &Toolset::listed(place)?, Vec::new(), approver, Companions::default()).map(|_unused| ())
}

/// Whoever goes along with an engine: follows its runs, and tells what calls would do.
#[derive(Default)]
struct Companions {
    observer: Option<Arc<dyn Observer>>,
    forecaster: Option<Arc<dyn Forecaster>>,
}

fn gate(
    place: &Place,
    tools: &Toolset,
    hooks: Vec<Arc<dyn Hook>>,
    approver: Arc<dyn Approver>,
    with: Companions,
) -> Result<Engine, Stop> {
    Engine::new(EngineParts {
        surface: tools.surface.clone(),
        policy: place.settings.policy.clone(),
        hooks,
        clock: Arc::new(SystemClock::new()),
        ids: Arc::new(SystemIds),
        approver,
        observer: with.observer,
        executor_version: env!("CARGO_PKG_VERSION").into(),
        purpose: Purpose::Act,
        forecaster: with.forecaster,
        closing: tools.closing(),
    })
    .map_err(|bad| {
        Stop::bad_input(
            "bad_config",
            format!("{}: {bad}", path_words(&place.vault.join(crate::settings::CONFIG_FILE))),
        )
        .hint("fix that [[rules]] entry; they are counted from 1 in the order of the file")
    })
}

/// How far a plan may go under the settings.
pub(crate) fn check_limits(settings: &Settings) -> CheckLimits {
    let limits = &settings.policy.limits;
    CheckLimits { max_attempts: limits.max_attempts.get(), max_call_timeout_ms: limits.call_timeout_ms.get() }
}
