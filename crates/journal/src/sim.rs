//! A disk for tests.
