//! Strategies of a call whose path exists already.
//!
//! `create_file.rs` and `rename.rs` decide by them, and their `Args` describe them to models, as do the hints of
//! `file_layer/{write,relocate,overlay}.rs` and the golden `tests/it/schemas.json`. Notes that the host creates
//! (`host/src/prepared.rs`) have a strategy of their own. The variants have no doc comments, because those would become
//! part of the published schema. Names that differ only in case are another matter: `name_collisions.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CollisionStrategy {
    // The call fails with a conflict.
    #[default]
    Error,
    // The first free name of `Note.md`, `Note 1.md`, `Note 2.md` and so on is used.
    CreateUnique,
    // The existing file is replaced; its content is stored first.
    Overwrite,
}
