//! The parts of `tollgate serve` and `tollgate mcp`: model, router, approvals and startup message.

pub(crate) mod backend;
pub(crate) mod server_builder;
pub(crate) mod state_folder;
pub(crate) mod mcp;
pub(crate) mod terminal;
pub(crate) mod startup_message;
