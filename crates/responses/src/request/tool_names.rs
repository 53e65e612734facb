//! Assigns the names by which a model calls tools.
//!
//! A client's tools may be in namespaces and have dots in their names. A model gets one flat list, and some backends
//! accept only letters, digits, `_` and `-`. So each tool gets a unique name of that form. A name that has this form
//! already is kept.

use std::collections::HashSet;

/// The limit of backends with native tools.
const MAX_CHARS: usize = 128;

/// The expected form of a name, for errors.
pub(super) const EXPECTED: &str = "1 to 128 letters, digits, `_`, `-` or `.`";

/// Allocates names. Names that are kept must be claimed first.
#[derive(Default)]
pub(super) struct NameAllocator {
    taken: HashSet<String>,
}

impl NameAllocator {
    /// Claims a name that is kept. Returns false if it is taken.
    pub(super) fn claim(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// Returns a free name that contains the namespace.
    pub(super) fn make(&mut self, namespace: Option<&str>, name: &str) -> String {
        let wanted = match namespace {
            Some(namespace) => flatten(&format!("{namespace}__{name}")),
            None => flatten(name),
        };
        if self.claim(&wanted) {
            return wanted;
        }
        // The list of tools is finite, so one of these is free.
        let mut count = 2_usize;
        loop {
            let suffix = format!("_{count}");
            let room = MAX_CHARS - suffix.len();
            let next = format!("{}{suffix}", &wanted[..wanted.len().min(room)]);
            if self.claim(&next) {
                return next;
            }
            count += 1;
        }
    }
}

/// Whether a name can be used for a model unchanged.
pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_CHARS && name.bytes().all(is_plain_byte)
}

/// Whether a client may use this name: letters, digits, `_`, `-` and `.`.
pub(super) fn is_allowed(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_CHARS
        && name.bytes().all(|byte| is_plain_byte(byte) || byte == b'.')
}

fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Returns the name in ASCII, so that it can be cut anywhere.
fn flatten(name: &str) -> String {
    name.bytes()
        .take(MAX_CHARS)
        .map(|byte| if is_plain_byte(byte) { char::from(byte) } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{MAX_CHARS, NameAllocator, is_plain};

    #[test]
    fn names_that_would_fall_together_are_numbered() {
        let mut names = NameAllocator::default();
        assert!(names.claim("a_b"));
        assert_eq!(names.make(None, "a.b"), "a_b_2");
        assert_eq!(names.make(Some("a"), "b"), "a__b");
        assert_eq!(names.make(Some("a_"), "b"), "a___b");
        assert_eq!(names.make(Some("a"), "_b"), "a___b_2");
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let mut names = NameAllocator::default();
        let long = "x".repeat(MAX_CHARS);
        let first = names.make(Some(&long), "one");
        let second = names.make(Some(&long), "two");
        assert!(is_plain(&first) && is_plain(&second));
        assert_ne!(first, second);
    }
}
