//! The names by which a model calls tools.
//!
//! A client's tools may stand in namespaces and have dots in their names. A model is shown one flat list, and some
//! backends take nothing but letters, digits, `_` and `-`. So each tool gets a name of that form that no other tool
//! of the request has. A tool whose own name will do keeps it.

use std::collections::HashSet;

/// What backends with native tools take at most.
const MAX_CHARS: usize = 128;

/// What a client is told about names.
pub(super) const EXPECTED: &str = "1 to 128 letters, digits, `_`, `-` or `.`";

/// Hands out names. The plain ones must be claimed first, so that nobody else gets them.
#[derive(Default)]
pub(super) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// Claims a name that stays as it is. False when somebody has it.
    pub(super) fn claim(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// A free name that shows where the tool comes from.
    pub(super) fn make(&mut self, namespace: Option<&str>, name: &str) -> String {
        let wanted = match namespace {
            Some(namespace) => flat(&format!("{namespace}__{name}")),
            None => flat(name),
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

/// Whether a model can be given the name as it is.
pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_CHARS && name.bytes().all(is_plain_byte)
}

/// What a client may call a tool: a plain name, or one with dots.
pub(super) fn is_allowed(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_CHARS
        && name.bytes().all(|byte| is_plain_byte(byte) || byte == b'.')
}

fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// ASCII throughout, so that it can be cut anywhere.
fn flat(name: &str) -> String {
    name.bytes()
        .take(MAX_CHARS)
        .map(|byte| if is_plain_byte(byte) { char::from(byte) } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{MAX_CHARS, Names, is_plain};

    #[test]
    fn names_that_would_fall_together_are_numbered() {
        let mut names = Names::default();
        assert!(names.claim("a_b"));
        assert_eq!(names.make(None, "a.b"), "a_b_2");
        assert_eq!(names.make(Some("a"), "b"), "a__b");
        assert_eq!(names.make(Some("a_"), "b"), "a___b");
        assert_eq!(names.make(Some("a"), "_b"), "a___b_2");
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let mut names = Names::default();
        let long = "x".repeat(MAX_CHARS);
        let first = names.make(Some(&long), "one");
        let second = names.make(Some(&long), "two");
        assert!(is_plain(&first) && is_plain(&second));
        assert_ne!(first, second);
    }
}
