//! The append-only record of a run: write it, recover it, read it, verify it, replay it without tools.
//!
//! A run is a folder with `run.json` (the plan and the policy) and three logs (`calls.jsonl`,
//! `results.jsonl`, `events.jsonl`) whose lines are chained by hash across all three. While the run is open,
//! `journal.wal` makes each acknowledged record survive a power cut with one sync. This crate has no tools,
//! no engine, no clock and no randomness, so a replay cannot have an effect. Code for one operating system is
//! in `platform`.

mod log_kind;
mod record_serializer;
mod repeated_text;
mod record_lines;
mod line;
mod error;
mod problem;
mod run_header;
mod platform;
mod no_links;
mod disk;
mod wal;
mod commit;
mod writer;
mod run_log;
mod log_reader;
mod log_scanner;
mod recover;
mod object_folder;
mod artifacts;
mod run_folder;
mod pruning;
mod run_list;
mod summary_cache;
mod runs_folder;
mod prune;
mod record_facts;
mod verify;
mod catalog;
mod divergence;
mod run_replay;
mod brace_rule;
mod replay;
mod session_replay;

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
mod prune_tests;
#[cfg(test)]
mod replay_tests;

pub use brace_rule::brace_rule;
pub use divergence::{Divergence, DivergenceKind, ReplayReport};
pub use error::JournalError;
pub use log_kind::{ChainHead, LogKind, Seq};
pub use no_links::{is_link_error, open_file_no_links, open_folder_no_links};
pub use object_folder::hash_file;
pub use problem::{JournalProblem, ProblemKind, TornTail};
pub use prune::{PruneLimits, PrunePlan, PruneReport, PrunedRun, StateSizes};
pub use recover::{DroppedTail, RecoveryReport};
pub use replay::replay;
pub use run_folder::{JournalEntry, JournalRecord, RecordReader, RunFolder};
pub use run_header::{CallPolicy, Continuation, RecordedTool, RunHeader, RunKind, StoredTool, UncertainCall};
pub use run_list::{FindError, RunState, RunSummary, list_runs, run_ids, run_summary};
pub use run_log::Journal;
pub use run_replay::{OpenCall, RunReplay};
pub use runs_folder::{RunsFolder, UnnamedRuns};
pub use summary_cache::SUMMARIES_FILE;
pub use verify::{Verification, verify};
