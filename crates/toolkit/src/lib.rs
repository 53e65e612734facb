//! What a tool is: the trait an author implements, and the registry that keeps tools of any types.
//!
//! This crate knows no tool and no engine. It says what a tool must declare, checks that it does, and
//! compiles its schemas once.

mod any_tool;
mod cancel;
mod conventions;
mod cx;
mod paths;
mod registry;
mod schema;
mod surface;
mod tool;

pub use any_tool::{AnyTool, BoxFuture, DecodedArgs, Mapped, RawOutput};
pub use cancel::{CancelCause, CancelToken};
pub use conventions::check_conventions;
pub use cx::{Progress, ProgressSink, Seen, ToolCx};
pub use paths::{PathKeys, Reach};
pub use registry::{Entry, Refused, Registry};
pub use schema::{CompiledSchema, SchemaRefused};
pub use surface::{Surface, SurfaceRules, Visibility};
pub use tool::{Reconciled, Tool};
