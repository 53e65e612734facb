//! The Responses gateway with the clients that people use, unmodified, from npm and PyPI.
//!
//! The clients are in `target/clients`, where `cargo xtask clients` installs them; the scripts that use them are in
//! `tests/clients`. Each script has one conversation in several ways and prints a line about each: what the model
//! said, which calls the client took from it, and what it answered. The model is a script, too, so every line is
//! known beforehand.

mod app_server;
mod client;
mod comply;
mod conversation;
mod gateway;
mod scripted;
