//! Confirmations: the user's approval of a run.

use serde::{Deserialize, Serialize};

use crate::{ConfirmationId, DataRef, Hash, Timestamp};

/// The channel through which an approval was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalChannel {
    /// The user typed it at a terminal.
    Terminal,
    /// The command line carried `--yes`.
    YesFlag,
    /// A program that embeds the engine answered.
    Embedder,
    /// The client asked its user, or claims to have done so; Tollgate could not observe it.
    Client,
    /// The user approved with `tollgate approve`, which the client cannot control.
    Approve,
}

/// An approval, bound to what was shown. A changed plan, policy, registry or forecast has a different
/// binding, so the approval does not apply to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Confirmation {
    pub confirmation_id: ConfirmationId,
    /// Hash of plan, policy, registry version and forecast together.
    pub binding: Hash,
    /// Reference to the forecast that the approval covers, call by call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<DataRef>,
    /// Hash of the exact text that the user saw.
    pub shown: Hash,
    pub channel: ApprovalChannel,
    pub confirmed_at: Timestamp,
}

impl Confirmation {
    /// Returns the hash that an approval is bound to.
    pub fn binding(plan: &Hash, policy: &Hash, registry_version: &str, forecast: Option<&Hash>) -> Hash {
        let mut parts: Vec<&[u8]> =
            vec![b"tollgate confirmation", plan.as_bytes(), policy.as_bytes(), registry_version.as_bytes()];
        parts.extend(forecast.map(|hash| hash.as_bytes().as_slice()));
        Hash::of_parts(&parts)
    }
}
