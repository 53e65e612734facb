//! The key of a server, kept out of whatever that server says: some quote it in their errors.

use std::sync::Arc;

/// Cheap to clone. It has no `Debug` on purpose.
#[derive(Clone, Default)]
pub(super) struct Secret(Option<Arc<str>>);

impl Secret {
    pub(super) fn new(key: Option<&str>) -> Secret {
        // An empty one stands between any two letters and is no secret.
        Secret(key.map(str::trim).filter(|key| !key.is_empty()).map(Arc::from))
    }

    pub(super) fn hide(&self, words: &str) -> String {
        match &self.0 {
            Some(key) => words.replace(&**key, "[key]"),
            None => words.to_owned(),
        }
    }
}
