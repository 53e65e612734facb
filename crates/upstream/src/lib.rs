//! Other people's MCP servers as tools behind the gate.
//!
//! A server is declared in the settings of a vault, and nothing of it can be used before a person has looked at what
//! it offers: the tools are made from that [`Pin`], so listing and checking start nothing. The first call starts the
//! server, in the sandbox of commands or over HTTP; what it lists then is held against the pin, and a tool that says
//! something else than what was approved is blocked.
//!
//! What a server sends is data and nothing else: it is bounded while it is read, never followed, and never asks anyone
//! anything. Absent on purpose: elicitation, sampling and roots, through which a server could speak with our voice.

mod answer;
mod approval;
mod backoff;
mod declared;
mod embed;
mod handler;
mod hidden;
pub mod http;
mod lines;
mod link;
mod pace;
mod paths;
mod pin;
mod schema;
mod server;
mod servers;
mod settings;
mod spelling;
mod tail;
mod tool;

pub use approval::ApprovedNow;
pub use declared::{Declared, Undeclared};
pub use link::Offer;
pub use pin::{Drift, Pin};
pub use server::{Body, Server, ServerParts};
pub use servers::{Left, Servers};
pub use settings::{Address, ServerSettings};
