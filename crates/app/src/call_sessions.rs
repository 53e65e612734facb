//! Engines for sessions of single calls, each built under the settings of the time.

use std::sync::Arc;

use call_session::{EngineFactory, ReloadCheck};
use engine::{Approver, Engine, Observer};
use envelope::{ExecutionEvent, ToolResult};
use host::HostRegistry;

use crate::error::AppError;
use crate::live_settings::ReloadableVault;
use crate::preview::OverlayForecaster;
use crate::toolset::{self, SharedTools, Toolset};
use crate::vault_context::VaultContext;

/// Engines of a vault that is served to clients.
pub struct CallSessions {
    pub engine_factory: EngineFactory,
    pub reload_check: ReloadCheck,
    pub live: Arc<ReloadableVault>,
}

impl CallSessions {
    /// Prepares the engines of a vault with their `approver`. Fails if the settings cannot be used now.
    ///
    /// Hosts attach at `hosts`, which the front ends of one server share. `forecasts`: whether calls are forecast before a question. False if they were approved in advance.
    pub fn open(
        context: &Arc<VaultContext>,
        approver: &Arc<dyn Approver>,
        forecasts: bool,
        hosts: &HostRegistry,
    ) -> Result<CallSessions, AppError> {
        let shared = Arc::new(SharedTools::default());
        // Watched from before they are used, so that no change is missed.
        let live = ReloadableVault::new(context, hosts)?;
        // Reports problems of the settings now, in full.
        drop(session_engine(context, approver, &shared, live.hosts(), forecasts)?);
        let make = {
            let (live, approver, shared) = (live.clone(), approver.clone(), shared.clone());
            move || {
                live.current()
                    .and_then(|context| session_engine(&context, &approver, &shared, live.hosts(), forecasts))
                    .map_err(|error| error.message)
            }
        };
        let look = {
            let (live, approver) = (live.clone(), approver.clone());
            move || {
                live.reload_changed(|context| {
                    session_engine(context, &approver, &shared, live.hosts(), forecasts).map(drop)
                })
            }
        };
        Ok(CallSessions { engine_factory: Arc::new(make), reload_check: Arc::new(look), live })
    }
}

fn session_engine(
    context: &Arc<VaultContext>,
    approver: &Arc<dyn Approver>,
    shared: &SharedTools,
    hosts: &HostRegistry,
    forecasts: bool,
) -> Result<Engine, AppError> {
    let tools = Arc::new(Toolset::open_sharing(context, shared, hosts)?);
    let forecaster = forecasts.then(|| Arc::new(OverlayForecaster::new(&context.settings, &tools)));
    toolset::build_engine(context, &tools, approver.clone(), Arc::new(NullObserver), forecaster)
}

/// Observer of sessions: their record is enough.
struct NullObserver;

impl Observer for NullObserver {
    fn event(&self, _event: &ExecutionEvent) {}

    fn result(&self, _result: &ToolResult) {}
}
