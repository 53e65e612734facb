//! The tool contract: the trait that an author implements, and the registry that stores tools of any types.
//!
//! This crate contains no tool and no engine. It defines what a tool must declare, checks the declaration, and
//! compiles the schemas once.
//!
//! A tool is one file. Doc comments and types become the schema, constants the declaration. Registering it compiles
//! the schemas, checks the conventions and reports everything that has to change. `tests/it/author.rs` contains a
//! complete tool:
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
//!     // category, risk, side effects, idempotency, types, preview, run, summary, project
//! }
//!
//! registry.register(SlugifyTitle)?;
//! let surface = Surface::new(&registry, &satisfied, &SurfaceRules::default());
//! let entry = surface.resolve("util.slugifyTitle")?;
//! ```

mod any_tool;
mod cancel;
mod cleanup;
mod common_args;
mod conventions;
mod context;
mod json_tool;
mod literal_paths;
mod path_scope;
mod projection;
mod compiled_tools;
mod registry;
mod schema;
mod staged_tool;
mod storage;
mod surface;
mod tool;

pub use any_tool::{AnyTool, BoxFuture, DecodedArgs, MappedResult, RawOutput};
pub use cancel::{CancelCause, CancelToken};
pub use cleanup::{CleanupRecord, RunCleanup};
pub use compiled_tools::CompiledTools;
pub use context::{CallProgress, CallReport, PermittedBy, ProgressSink, ToolCx};
pub use conventions::check_conventions;
pub use json_tool::JsonTool;
pub use path_scope::{PathKeys, PathScope};
pub use projection::{ProjectedResult, Projection, ReceiptRenderer};
pub use registry::{RegisteredTool, RegistrationError, Registry};
pub use schema::{CompiledSchema, SchemaError};
pub use staged_tool::StagedTool;
pub use storage::{ArtifactSink, ObjectStore, OpenArtifact};
pub use surface::{Surface, SurfaceRules, ToolVisibility};
pub use tool::{ReconcileOutcome, Tool};
