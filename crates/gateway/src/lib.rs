//! The network faces. Each owns its wire types; all of them end in the same gate.
//!
//! This crate knows no concrete tool and no concrete backend: tools come as an engine, models as
//! [`backend::TextModel`], time and ids from outside. Every face stands behind the one [`edge`].

pub mod api_error;
mod client;
pub mod edge;
pub mod gate_run;
pub mod gate_tools;
pub mod mcp;
pub mod metrics;
pub mod responses;
pub mod sentinel;

pub use client::{ApproverOf, FrontEnd};
