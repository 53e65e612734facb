//! What a command can reach.
