//! The commands, one file each.

pub(crate) mod approve;
pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod connect;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod preview;
pub(crate) mod prune;
pub(crate) mod redo;
pub(crate) mod replay;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod show;
pub(crate) mod token;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod verify;
