//! API key of a server. It is redacted in error texts of the server, because some servers quote it.

use std::sync::Arc;

/// Cheap to clone. It has no `Debug` on purpose.
#[derive(Clone, Default)]
pub(super) struct ApiKey(Option<Arc<str>>);

impl ApiKey {
    pub(super) fn new(key: Option<&str>) -> ApiKey {
        // An empty key would match between any two letters.
        ApiKey(key.map(str::trim).filter(|key| !key.is_empty()).map(Arc::from))
    }

    pub(super) fn redact(&self, words: &str) -> String {
        match &self.0 {
            Some(key) => words.replace(&**key, "[key]"),
            None => words.to_owned(),
        }
    }
}
