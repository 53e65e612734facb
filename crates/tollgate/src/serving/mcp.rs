//! Puts the face for MCP clients together: the gate, the person, the plans.

use std::sync::Arc;

use engine::{Approver, Engine, Observer};
use envelope::{ClientId, ExecutionEvent, ToolResult};
use gateway::gate_tools::MakeEngine;
use gateway::mcp::{McpFace, McpParts, McpSettings, Recorded};
use gateway::{ApproverOf, FrontEnd};

use super::foresight::CallForeseer;
use super::live::LivePlace;
use super::plans::ClientPlans;
use crate::place::Place;
use crate::servers::Kept;
use crate::stop::Stop;
use crate::wiring::{self, Toolset};

/// Makes the gate for one run on a vault, under its settings as they are then, with an approver for
/// whoever has no client of its own.
pub(crate) fn maker(place: &Arc<Place>, approvers: &ApproverOf) -> Result<MakeEngine, Stop> {
    let asker = &approvers(&ClientId::local(), FrontEnd::Local);
    // Whatever is wrong with the settings is said now, in full.
    let kept = Kept::default();
    drop(gate(place, asker, &kept)?);
    let (live, asker) = (LivePlace::new(place)?, asker.clone());
    Ok(Arc::new(move || {
        live.look(|place| gate(place, &asker, &kept).map(drop));
        live.current().and_then(|place| gate(&place, &asker, &kept)).map_err(|stop| stop.message)
    }))
}

fn gate(place: &Arc<Place>, asker: &Arc<dyn Approver>, kept: &Kept) -> Result<Engine, Stop> {
    let tools = Toolset::open_sharing(place, kept)?;
    wiring::engine(place, &tools, asker.clone(), Arc::new(Nobody))
}

/// The face on a vault, under its settings as they are at the time. `approvers` ask where a client's word does
/// not count.
pub(crate) fn face(
    place: &Arc<Place>,
    approvers: &ApproverOf,
    settings: McpSettings,
) -> Result<Arc<McpFace>, Stop> {
    let kept = Arc::new(Kept::default());
    let desk = approvers(&ClientId::local(), FrontEnd::Local);
    drop(gate(place, &desk, &kept)?);
    let live = LivePlace::new(place)?;
    let make = {
        let (live, desk, kept) = (live.clone(), desk.clone(), kept.clone());
        move || live.current().and_then(|place| gate(&place, &desk, &kept)).map_err(|stop| stop.message)
    };
    let look = {
        let (live, desk) = (live.clone(), desk.clone());
        move || live.look(|place| gate(place, &desk, &kept).map(drop))
    };
    let parts = McpParts {
        make: Arc::new(make),
        recorded: Recorded::Disk(place.prepare_runs()?),
        foreseer: Arc::new(CallForeseer::new(live.clone())),
        plans: Arc::new(ClientPlans { live, approver: desk }),
        approvers: approvers.clone(),
        unique: Arc::new(|| uuid::Uuid::now_v7().simple().to_string()),
        key: key()?,
        version: env!("CARGO_PKG_VERSION"),
        settings,
    };
    let face = McpFace::new(parts).map_err(|error| Stop::bad_input("tools", error))?;
    Ok(Arc::new(face.looking(Arc::new(look))))
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
