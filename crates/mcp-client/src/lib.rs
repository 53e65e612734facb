//! Client for other MCP servers: their tools become tools of the engine.
//!
//! A server is declared in the settings of a vault, and none of its tools can be used before the user has approved
//! them. The tools are made from the approved [`ServerPin`], so listing and checking start nothing. The first call
//! starts the server, in the command sandbox or over HTTP; its current tools are compared with the pin, and a tool
//! whose declaration differs is blocked.
//!
//! Output of a server is only data: it is bounded while it is read, its links are never followed, and its requests
//! are refused. Deliberately omitted: elicitation, sampling and roots, through which a server could act in the user's
//! name.

mod call_result;
mod approval;
mod backoff;
mod declaration;
mod output_schema;
mod handler;
mod escape;
pub mod http;
mod stdio_transport;
mod connection;
mod progress_throttle;
mod paths;
mod pin;
mod schema_escape;
mod server;
mod servers;
mod settings;
mod path_resolver;
mod stderr_tail;
mod tool;

pub use approval::ApprovalLookup;
pub use connection::ListedTools;
pub use declaration::{InvalidDeclaration, ToolDeclaration};
pub use pin::{DeclarationDiff, ServerPin};
pub use server::{ServerParts, ServerResources, UpstreamServer};
pub use servers::{ConnectionLifetime, UpstreamServers};
pub use settings::{ServerAddress, ServerSettings};
