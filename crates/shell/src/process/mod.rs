//! A running command: its processes, its streams and its end.
//!
//! The output is stored while it is printed, in constant memory. The end of the command is the end of every process
//! that it started. This module does not decide whether a command may run or what it can reach: it gets a prepared
//! command, and its times and names come from the caller.

mod running_command;
mod run_command;
mod command_job;
mod command_input;
mod finished_command;
mod supervisor;
mod process_tree;
mod process_handle;
mod spawner;
mod stdio;
mod terminal;
mod output_capture;
mod capture_file;
#[cfg(test)]
mod capture_file_tests;
mod tail;
mod pipeline;
mod chunk;
mod disk_writer;
mod event;
mod output_search;
mod task_registry;

pub use capture_file::{CapturedStream, HEAD_BYTES};
pub use command_input::CommandInput;
pub use command_job::{CommandJob, CommandResources, JobLimits};
pub(crate) use event::timespec;
#[cfg(test)]
pub(crate) use event::wait;
pub use finished_command::{ChildExit, CommandEnd, EndCause, FinishedCommand, NewOutput, OutputCursor};
pub use output_search::OutputPattern;
pub(crate) use process_handle::ProcessHandle;
pub use process_tree::{MARK, ProcessContainment};
pub use run_command::{CommandOutcome, run_command};
pub use running_command::RunningCommand;
pub use spawner::CommandSpawner;
pub(crate) use spawner::unavailable;
pub use stdio::StdioPipes;
pub use tail::{StreamDelta, StreamPosition};
pub use task_registry::{
    RetrievalStatus, TaskId, TaskInfo, TaskRegistry, TaskState, TaskUpdate, UnconfirmedRead, WaitCondition,
    WaitEnd,
};
pub use terminal::TerminalSize;
