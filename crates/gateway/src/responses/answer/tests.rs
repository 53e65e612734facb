//! Whole answers, from a request to its events.
