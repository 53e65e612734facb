//! `POST /v1/responses`: function tools for a model that only speaks text.
//!
//! ```text
//! bytes -> request::parse -> store (references become items) -> prompt -> a backend's turn
//!       -> sentinel -> answer (policy, repair, server-side tools) -> emitter -> events or one object -> store
//! ```
//!
//! A streamed answer and an unstreamed one are produced the same way; they differ in the destination of the events.

pub mod answer;
pub mod emitter;
pub mod engine_tools;
pub mod error;
pub mod event;
pub mod item;
pub mod object;
pub mod output;
pub mod prompt;
pub mod request;
pub mod router;
pub mod store;
pub mod tools;
pub mod wire_item;
