//! Puts the face for MCP clients together: the gate, the person, the plans.

use std::sync::Arc;

use engine::{Approver, Engine, Observer};
use envelope::{ClientId, ExecutionEvent, ToolResult};
use gateway::gate_tools::MakeEngine;
use gateway::mcp::{Look, McpFace, McpParts, McpSettings, Recorded};
use gateway::{ApproverOf, FrontEnd};

use super::live::LivePlace;
use super::plans::ClientPlans;
use crate::place::Place;
use crate::preview::OverlayForecaster;
use crate::servers::Kept;
use crate::stop::Stop;
use crate::wiring::{self, Toolset};

/// The gates of a vault under its settings as they are at the time.
pub(crate) struct LiveGates {
    pub(crate) make: MakeEngine,
    pub(crate) look: Look,
    pub(crate) live: Arc<LivePlace>,
}

/// Makes the gates of a vault, with `asker` to answer for them. Fails if the settings cannot be used now.
///
/// `forecasts` says whether calls are forecast before somebody is asked: not where the yes was given in advance.
pub(crate) fn gates(
    place: &Arc<Place>,
    asker: &Arc<dyn Approver>,
    forecasts: bool,
) -> Result<LiveGates, Stop> {
    let kept = Arc::new(Kept::default());
    // Watched from before they are used, so that no change goes unnoticed.
    let live = LivePlace::new(place)?;
    // Whatever is wrong with the settings is said now, in full.
    drop(gate(place, asker, &kept, forecasts)?);
    let make = {
        let (live, asker, kept) = (live.clone(), asker.clone(), kept.clone());
        move || {
            live.current()
                .and_then(|place| gate(&place, &asker, &kept, forecasts))
                .map_err(|stop| stop.message)
        }
    };
    let look = {
        let (live, asker) = (live.clone(), asker.clone());
        move || live.look(|place| gate(place, &asker, &kept, forecasts).map(drop))
    };
    Ok(LiveGates { make: Arc::new(make), look: Arc::new(look), live })
}

fn gate(place: &Arc<Place>, asker: &Arc<dyn Approver>, kept: &Kept, forecasts: bool) -> Result<Engine, Stop> {
    let tools = Arc::new(Toolset::open_sharing(place, kept)?);
    let forecaster = forecasts.then(|| Arc::new(OverlayForecaster::new(&place.settings, &tools)));
    wiring::engine(place, &tools, asker.clone(), Arc::new(Nobody), forecaster)
}

/// The face on a vault, under its settings as they are at the time. `approvers` ask where a client's word does
/// not count.
pub(crate) fn face(
    place: &Arc<Place>,
    approvers: &ApproverOf,
    settings: McpSettings,
) -> Result<Arc<McpFace>, Stop> {
    let asker = approvers(&ClientId::local(), FrontEnd::Local);
    let LiveGates { make, look, live } = gates(place, &asker, settings.asks)?;
    let parts = McpParts {
        make,
        recorded: Recorded::Disk(place.prepare_runs()?),
        plans: Arc::new(ClientPlans { live, approver: asker }),
        approvers: approvers.clone(),
        unique: Arc::new(|| uuid::Uuid::now_v7().simple().to_string()),
        key: key()?,
        version: env!("CARGO_PKG_VERSION"),
        settings,
    };
    let face = McpFace::new(parts).map_err(|error| Stop::bad_input("tools", error))?;
    Ok(Arc::new(face.looking(look)))
}

fn key() -> Result<[u8; 32], Stop> {
    let mut key = [0; 32];
    let filled = rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty());
    match filled {
        Ok(32) => Ok(key),
        Ok(_) | Err(_) => Err(Stop::io("draw a key", "the system has no random numbers")),
    }
}

/// The record is what there is to follow; a server shows nothing of it on its terminal.
struct Nobody;

impl Observer for Nobody {
    fn event(&self, _event: &ExecutionEvent) {}

    fn result(&self, _result: &ToolResult) {}
}
