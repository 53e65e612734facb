//! Puts the parts together: the tools there are, and the gate in front of them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use engine::{Approver, Engine, EngineParts, Observer, SystemClock, SystemIds};
use envelope::Requirement;
use plan::CheckLimits;
use toolkit::{Registry, Surface, SurfaceRules};
use vault::Vault;

use crate::exit::Exit;
use crate::place::Place;
use crate::settings::Settings;
use crate::stop::Stop;

/// Every tool. Without a vault those that need one can be listed and checked against, not called.
pub(crate) fn surface(folder: Option<&Path>) -> Result<Arc<Surface>, Stop> {
    let opened = folder.map(Vault::open).transpose();
    let vault = opened.map_err(|error| Stop::bad_input("no_vault", error.to_string()))?;
    let mut registry = Registry::new();
    vault::register(&mut registry, vault.map(Arc::new))
        .map_err(|refused| Stop::new(Exit::Failures, "tool", refused.to_string()))?;
    // A plan is checked for the vault it will run in, so the lack of one here blocks nothing.
    let satisfied = BTreeSet::from([Requirement::Vault]);
    Ok(Arc::new(Surface::new(&registry, &satisfied, &SurfaceRules::default())))
}

/// The gate for one vault under its settings.
pub(crate) fn engine(
    place: &Place,
    surface: &Arc<Surface>,
    approver: Arc<dyn Approver>,
    observer: Arc<dyn Observer>,
) -> Result<Engine, Stop> {
    Engine::new(EngineParts {
        surface: surface.clone(),
        policy: place.settings.policy.clone(),
        hooks: place.settings.hooks.clone(),
        clock: Arc::new(SystemClock::new()),
        ids: Arc::new(SystemIds),
        approver,
        observer: Some(observer),
        executor_version: env!("CARGO_PKG_VERSION").into(),
    })
    .map_err(|bad| {
        Stop::bad_input(
            "bad_config",
            format!("{}: {bad}", place.vault.join(crate::settings::CONFIG_FILE).display()),
        )
        .hint("mend that [[rules]] entry; they are counted from 1 in the order of the file")
    })
}

/// How far a plan may go under the settings.
pub(crate) fn check_limits(settings: &Settings) -> CheckLimits {
    let limits = &settings.policy.limits;
    CheckLimits { max_attempts: limits.max_attempts.get(), max_call_timeout_ms: limits.call_timeout_ms.get() }
}
