//! The face for clients of the Model Context Protocol, over standard input and output or over HTTP.
//!
//! ```text
//! tools/call -> calls: find the tool, make the call in a run of its own pace -> answer: receipt and data
//!                 |  the gate asks: asking -> the client's person, now (with `initialize`) or in a second round
//!                 |                          (parked), or someone whom the client cannot speak for
//! resources/read -> records: what is on record, within bounds
//! the surface changes -> changes: clients are told, the next call opens a run under it
//! ```
//!
//! Two eras of the protocol are alive: clients that open with `initialize`, and those that send all they have to say
//! with every request. The protocol itself is rmcp's; what a call is, who allows it and what is recorded is ours.

mod answer;
mod asking;
mod calls;
mod changes;
mod doubled_keys;
mod face;
mod http;
mod instructions;
mod listing;
mod parked;
mod pipes;
mod plans;
mod presence;
mod question;
mod records;
mod runs;
mod schemas;
mod stdio;
mod strict_lines;
mod surface;
mod until_stop;
mod wording;

pub use changes::{Look, Looked};
pub use face::Lasting;
pub use face::{McpFace, McpHandler, McpParts, McpSettings, Recorded};
pub use http::{mount, mount_within};
pub use pipes::standard;
pub use plans::{PLAN_BUDGET, PlanAnswer, PlanRun, Plans};
pub use stdio::serve_stdio;
