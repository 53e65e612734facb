//! Tests of the state machine from outside: inputs in, outputs compared.

mod world;
mod script;
mod order;
mod foreach;
mod failures;
mod carried;
mod retries;
mod questions;
mod cancels;
mod strays;
mod sketch;
mod simulation;
mod properties;
