//! What `tollgate serve` and `tollgate mcp` are made of: a model, the faces, and what clients need to know.

pub(crate) mod backend;
pub(crate) mod faces;
mod file_watch;
pub(crate) mod home;
pub(crate) mod live;
pub(crate) mod mcp;
pub(crate) mod plans;
pub(crate) mod terminal;
pub(crate) mod welcome;
