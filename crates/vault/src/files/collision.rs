//! What to do when a path is taken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CollisionStrategy {
    #[default]
    Error,
    CreateUnique,
    Overwrite,
}
