//! The wire of the Responses face: what is read of requests, and what is written of answers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod choices;
mod clients;
mod events;
mod fields;
mod frames;
mod items;
mod objects;
mod options;
mod playing;
mod properties;
mod reading;
mod tools;
