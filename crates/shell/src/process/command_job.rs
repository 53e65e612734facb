//! A command to start, with its limits.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use envelope::Timestamp;
use toolkit::ArtifactSink;

use super::command_input::CommandInput;
use super::process_tree::ProcessContainment;
use super::terminal::TerminalSize;
use crate::sandbox::{SandboxResources, StartNotifier, StartSignal};

/// It has no `Default` on purpose: the caller must choose the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    /// From the start to the end, also as a background task. `None` for no timeout.
    pub timeout: Option<Duration>,
    /// From the request to end until everything is killed.
    pub grace: Duration,
    /// Limit of each stream. A command that prints more is killed.
    pub output_bytes: u64,
}

/// Resources that must exist as long as a command runs, such as its private folders. Dropped when it has ended.
pub trait CommandResources: Send {
    /// Returns warnings for the user after the command has ended, one sentence each.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A command without resources.
impl CommandResources for () {}

impl CommandResources for SandboxResources {
    fn warnings(&self) -> Vec<String> {
        SandboxResources::warnings(self)
    }
}

/// A command to start.
pub struct CommandJob {
    /// Program, arguments, folder and environment. The streams are set when it is started.
    pub command: Command,
    /// The command as users read it.
    pub shown: String,
    /// Value of the variable [`super::MARK`], which identifies the processes of this command. No two commands may use
    /// the same. A launcher that builds another environment has to carry it over.
    pub marker: String,
    pub started: Timestamp,
    pub input: CommandInput,
    /// A terminal instead of pipes.
    pub terminal: Option<TerminalSize>,
    pub containment: ProcessContainment,
    /// Reports whether the command itself was started, if a sandbox is built first.
    pub start_signal: Option<(StartSignal, StartNotifier)>,
    pub resources: Box<dyn CommandResources>,
    pub limits: JobLimits,
    /// Storage of long output. Outlives the call if the command does.
    pub artifacts: Arc<dyn ArtifactSink>,
}
