//! Ids of requests: the header `x-request-id` of every answer, which log lines repeat.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderValue;
use http::header::HeaderName;

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of one request. Handlers find it among the extensions of their request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the value of the header; `None` never happens, as ids are letters and digits.
    pub(super) fn header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.0).ok()
    }
}

/// Makes ids that are unique in this process, and most likely in all logs of one machine.
pub(super) struct RequestIdGenerator {
    /// Random, so that the ids of two starts of a server differ. It does not have to be secret.
    process: u32,
    next: AtomicU64,
}

impl RequestIdGenerator {
    pub(super) fn new() -> RequestIdGenerator {
        let random = RandomState::new().build_hasher().finish();
        RequestIdGenerator { process: (random >> 32) as u32, next: AtomicU64::new(1) }
    }

    pub(super) fn next_id(&self) -> RequestId {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        RequestId(format!("req_{:08x}{number:08x}", self.process).into())
    }
}

#[cfg(test)]
mod tests {
    use super::RequestIdGenerator;

    #[test]
    fn ids_are_unique_and_go_into_a_header() {
        let ids = RequestIdGenerator::new();
        let (first, second) = (ids.next_id(), ids.next_id());
        assert_ne!(first, second);
        assert_eq!(first.as_str().len(), "req_".len() + 16);
        assert_eq!(first.header().unwrap().to_str().unwrap(), first.as_str());
    }
}
