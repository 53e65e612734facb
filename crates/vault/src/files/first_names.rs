//! The names that an output lists of a set that may be large.

/// Most names in a list of an output.
pub(super) const MAX_NAMED: usize = 100;

/// Returns the first names, at most [`MAX_NAMED`].
pub(super) fn first_names(names: &[String]) -> Vec<String> {
    names.iter().take(MAX_NAMED).cloned().collect()
}
