//! Puts the parts together: the tools there are, and the gate in front of them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use engine::{Approver, Engine, EngineParts, Hook, Observer, SystemClock, SystemIds};
use envelope::Requirement;
use plan::CheckLimits;
use toolkit::{Registry, Surface, SurfaceRules};
use vault::Vault;

use crate::exit::Exit;
use crate::place::Place;
use crate::settings::Settings;
use crate::stop::Stop;
use crate::trust;
use crate::visible::path_words;

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

/// The gate for one vault under its settings, with all its hooks or not at all.
pub(crate) fn engine(
    place: &Place,
    surface: &Arc<Surface>,
    approver: Arc<dyn Approver>,
    observer: Arc<dyn Observer>,
) -> Result<Engine, Stop> {
    gate(place, surface, trust::hooks(place)?, approver, Some(observer))
}

/// Whether the rules of a vault can be understood. Makes a gate without hooks and lets nothing through it.
pub(crate) fn check_rules(place: &Place, approver: Arc<dyn Approver>) -> Result<(), Stop> {
    gate(place, &surface(Some(&place.vault))?, Vec::new(), approver, None).map(|_unused| ())
}

fn gate(
    place: &Place,
    surface: &Arc<Surface>,
    hooks: Vec<Arc<dyn Hook>>,
    approver: Arc<dyn Approver>,
    observer: Option<Arc<dyn Observer>>,
) -> Result<Engine, Stop> {
    Engine::new(EngineParts {
        surface: surface.clone(),
        policy: place.settings.policy.clone(),
        hooks,
        clock: Arc::new(SystemClock::new()),
        ids: Arc::new(SystemIds),
        approver,
        observer,
        executor_version: env!("CARGO_PKG_VERSION").into(),
    })
    .map_err(|bad| {
        Stop::bad_input(
            "bad_config",
            format!("{}: {bad}", path_words(&place.vault.join(crate::settings::CONFIG_FILE))),
        )
        .hint("mend that [[rules]] entry; they are counted from 1 in the order of the file")
    })
}

/// How far a plan may go under the settings.
pub(crate) fn check_limits(settings: &Settings) -> CheckLimits {
    let limits = &settings.policy.limits;
    CheckLimits { max_attempts: limits.max_attempts.get(), max_call_timeout_ms: limits.call_timeout_ms.get() }
}
