//! Receipts: bounded results and the text that a model reads of them.
//!
//! [`families`] turns a complete output into a canonical result within a token budget and renders the receipt from it;
//! [`preview`] condenses the text that commands and tools print; [`compaction`] shows less of older calls once a
//! conversation outgrows its budget.
//!
//! This crate knows no tool. It implements the projection side of the tool contract ([`toolkit::Projection`],
//! [`toolkit::ProjectedResult`]); the contract does not depend on it, so a change here rebuilds no schema code.

pub mod compaction;
pub mod families;
pub mod preview;
