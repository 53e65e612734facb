//! Previews: text in, text out, and what must hold for any text at all.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

#[path = "preview/clean.rs"]
mod clean;
#[path = "preview/condense.rs"]
mod condense;
#[path = "preview/head_tail.rs"]
mod head_tail;
#[path = "preview/json.rs"]
mod json;
#[path = "preview/properties.rs"]
mod properties;
#[path = "preview/tokens.rs"]
mod tokens;
