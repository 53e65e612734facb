//! `POST /v1/responses`: function tools for a model that only speaks text.
//!
//! ```text
//! bytes -> request::parse -> store (references become items) -> prompt -> a backend's turn
//!       -> sentinel -> answer (policy, repair, server-side tools) -> emitter -> events or one object -> store
//! ```
//!
//! Streaming and not streaming are the same answer; only what its events are written to differs.

pub mod answer;
pub mod emitter;
pub mod error;
pub mod event;
pub mod item;
pub mod known_schema;
pub mod object;
pub mod output;
pub mod prompt;
pub mod request;
pub mod routes;
pub mod store;
pub mod tools;
pub mod wire_item;
