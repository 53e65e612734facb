//! What a tool is: the trait an author implements, and the registry that keeps tools of any types.
//!
//! This crate knows no tool and no engine. It says what a tool must declare, checks that it does, and
//! compiles its schemas once.
//!
//! A tool is one file. Doc comments and types become the schema, constants the declaration; registering it
//! compiles the schemas, checks the conventions and lists everything that has to change. `tests/author.rs` is a
//! whole one:
//!
//! ```ignore
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields, rename_all = "camelCase")]
//! struct Args {
//!     /// The title of a note.
//!     title: String,
//! }
//!
//! impl Tool for SlugifyTitle {
//!     const NAME: &'static str = "util.slugifyTitle";
//!     const SUMMARY: &'static str = "Turn a title into a file name.";
//!     // category, risk, side effects, idempotency, types, preview, run, summary
//! }
//!
//! registry.register(SlugifyTitle)?;
//! let surface = Surface::new(&registry, &satisfied, &SurfaceRules::default());
//! let entry = surface.resolve("util.slugifyTitle")?;
//! ```

mod any_tool;
mod artifact;
mod cancel;
mod closing;
pub mod command_line;
pub mod compaction;
pub mod families;
mod conventions;
mod cx;
mod foreign;
mod paths;
pub mod preview;
mod registry;
mod schema;
mod store;
mod surface;
mod tool;

pub use any_tool::{AnyTool, BoxFuture, DecodedArgs, Mapped, RawOutput};
pub use artifact::{ArtifactSink, OpenArtifact};
pub use cancel::{CancelCause, CancelToken};
pub use closing::{Closed, Closing};
pub use conventions::check_conventions;
pub use cx::{PermittedBy, Progress, ProgressSink, Seen, ToolCx};
pub use foreign::ForeignTool;
pub use paths::{PathKeys, Reach};
pub use registry::{Entry, Refused, Registry};
pub use schema::{CompiledSchema, SchemaRefused};
pub use store::ObjectStore;
pub use surface::{Surface, SurfaceRules, Visibility};
pub use tool::{Reconciled, Tool};
