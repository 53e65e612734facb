//! How long a call may take, and how long what comes before it may.

use std::future::Future;
use std::time::Duration;

use envelope::{Failure, Fault};
use toolkit::{CancelCause, Entry};

use crate::call::Flight;

/// What the plan asks for, or the tool declares, within what the policy allows.
pub(crate) fn call_limit(entry: &Entry, flight: &Flight) -> u64 {
    flight.call.timeout_ms.unwrap_or(entry.decl.timeout_ms).min(flight.longest_ms)
}

/// Waits for a look that has no effect: dropped when the call is cancelled or its time is up.
pub(crate) async fn bounded<T>(
    entry: &Entry,
    flight: &Flight,
    look: impl Future<Output = T>,
) -> Result<T, Fault> {
    let limit = call_limit(entry, flight);
    let name = &entry.decl.name;
    tokio::select! {
        biased;
        seen = look => Ok(seen),
        cause = flight.cancel.cancelled() => Err(match cause {
            CancelCause::Sibling => {
                Fault::new(Failure::SiblingCanceled, format!("{name} was cancelled because a sibling failed"))
            }
            CancelCause::Run | CancelCause::Deadline => {
                Fault::new(Failure::Canceled, format!("{name} was cancelled before it did anything"))
            }
        }),
        () = tokio::time::sleep(Duration::from_millis(limit)) => {
            Err(Fault::new(Failure::Timeout, format!("{name} did not get ready within {limit} ms")).detail("timeoutMs", limit))
        }
    }
}
