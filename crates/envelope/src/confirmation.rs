//! The answer of a person to the one question of a run.

use serde::{Deserialize, Serialize};

use crate::{ConfirmationId, DataRef, Hash, Timestamp};

/// How the answer reached us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// A person typed it at a terminal.
    Terminal,
    /// The command line carried `--yes`.
    YesFlag,
    /// A program that embeds the engine answered.
    Embedder,
    /// The client asked its person, or says that it did: nobody else saw it.
    Client,
    /// A person answered through `tollgate approve`, out of reach of the client.
    Approve,
}

/// A yes, bound to what was shown. A changed plan, policy, registry or forecast makes another binding, so the
/// yes does not carry over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Confirmation {
    pub confirmation_id: ConfirmationId,
    /// Hash of plan, policy, registry version and forecast together.
    pub binding: Hash,
    /// Where the forecast is kept that the yes covers, call by call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<DataRef>,
    /// Hash of the exact text that the person was shown.
    pub shown: Hash,
    pub channel: Channel,
    pub confirmed_at: Timestamp,
}

impl Confirmation {
    /// What a yes is bound to.
    pub fn binding(plan: &Hash, policy: &Hash, registry_version: &str, forecast: Option<&Hash>) -> Hash {
        let mut parts: Vec<&[u8]> =
            vec![b"tollgate confirmation", plan.as_bytes(), policy.as_bytes(), registry_version.as_bytes()];
        parts.extend(forecast.map(|hash| hash.as_bytes().as_slice()));
        Hash::of_parts(&parts)
    }
}
