//! Tests of the edits of settings files: the entry is right, and nothing else changes.

mod bytes;
mod clients;
mod edits;
mod files;
mod preserved_text;
mod merges;
