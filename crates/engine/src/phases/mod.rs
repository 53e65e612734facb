//! The twelve phases of a call, one file each, in their order.

mod resolve_tool;
mod parse_schema;
mod validate_values;
mod prepare_observable_input;
mod pre_hooks;
mod permission;
mod schedule;
mod execute;
mod map_result;
mod post_hooks;
mod persist_result;
mod emit_terminal;

pub(crate) use emit_terminal::{emit_terminal, ended_event, unrecorded, unrecorded_failure};
pub(crate) use execute::{execute, not_forecastable};
pub(crate) use map_result::map_result;
pub(crate) use parse_schema::parse_schema;
pub(crate) use permission::permission;
pub(crate) use persist_result::{PersistedResult, persist_result};
pub(crate) use post_hooks::post_hooks;
pub(crate) use pre_hooks::pre_hooks;
pub(crate) use prepare_observable_input::prepare_observable_input;
pub(crate) use resolve_tool::resolve_tool;
pub(crate) use schedule::schedule;
pub(crate) use validate_values::validate_values;
