//! What is put into the files of clients, and that nothing else in them changes.

mod bytes;
mod clients;
mod edits;
mod files;
mod kept;
mod merges;
