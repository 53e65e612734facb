//! A command while it runs.
