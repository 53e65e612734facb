//! The append-only record of a run: write it, recover it, read it, verify it, replay it without tools.
//!
//! A run is a folder with `run.json` (what was to be done and under which policy) and three logs
//! (`calls.jsonl`, `results.jsonl`, `events.jsonl`) whose lines are chained by hash across all three.
//! While the run is open, `journal.wal` makes each acknowledged record survive a power cut with one sync.
//! Absent on purpose: tools, the engine, a clock, randomness. What is replayed here cannot have an effect.

mod kind;
mod line;
mod error;
mod problem;
mod header;
mod no_links;
mod disk;
mod wal;
mod commit;
mod writer;
mod run_log;
mod source;
mod scan;
mod recover;
mod objects;
mod artifacts;
mod artifact_names;
mod folder;
mod find;
mod runs_folder;
mod facts;
mod verify;
mod catalog;
mod divergence;
mod rehearsal;
mod replay;
mod session;

#[cfg(test)]
mod sim;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod journal_tests;
#[cfg(test)]
mod replay_tests;

pub use divergence::{Divergence, DivergenceKind, Replay};
pub use error::JournalError;
pub use find::{FindError, RunState, RunSummary, list_runs, run_ids, run_summary};
pub use folder::{Entry, Record, Records, RunFolder};
pub use header::{RunHeader, RunKind};
pub use kind::{ChainHead, Kind, Seq};
pub use no_links::{is_link_error, open_file_no_links, open_folder_no_links};
pub use objects::digest;
pub use problem::{Problem, ProblemKind, TornTail};
pub use recover::{Dropped, Recovery};
pub use rehearsal::{OpenCall, Rehearsal};
pub use replay::replay;
pub use run_log::Journal;
pub use runs_folder::{RunsFolder, UnnamedRuns};
pub use verify::{Verification, verify};
