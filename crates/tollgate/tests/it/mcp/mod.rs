//! `tollgate mcp` as a client starts it: the real binary, a scripted client at its pipes, and the record afterwards.

mod approvals;
mod listing;
pub(crate) mod pipe;
mod plans;
mod sessions;
mod settings;
mod trust;
