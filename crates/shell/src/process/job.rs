//! A command that is to be started, and how far it may go.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use envelope::Timestamp;
use toolkit::ArtifactSink;

use super::input::Input;
use super::pty::Window;
use super::tree::Enclosure;
use crate::sandbox::{Doorbell, Leftovers, Threshold};

/// No `Default`: whoever starts a command says how far it may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From the start to the end, also as a background task. None for one that may run for ever.
    pub timeout: Option<Duration>,
    /// From the request to end until everything is killed.
    pub grace: Duration,
    /// Of each stream. Whoever prints more is killed.
    pub output_bytes: u64,
}

/// What has to stay as long as a command runs, such as the folders that were made for it. Dropped when it has ended.
pub trait CommandResources: Send {
    /// What the user has to know when the command has ended, one sentence each.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// For a command that needs nothing.
impl CommandResources for () {}

impl CommandResources for Leftovers {
    fn warnings(&self) -> Vec<String> {
        Leftovers::warnings(self)
    }
}

/// A command that is to be started.
pub struct Job {
    /// Program, arguments, folder and environment. What it reads and where it prints is set here.
    pub command: Command,
    /// The command as people know it.
    pub shown: String,
    /// Written into the environment of what is started, as [`super::MARK`], to find what strays from it. No two
    /// commands may have the same. A launcher that builds another environment has to carry it over.
    pub marker: String,
    pub started: Timestamp,
    pub input: Input,
    /// A terminal instead of pipes.
    pub terminal: Option<Window>,
    pub enclosure: Enclosure,
    /// How it is known whether the command was reached, where something is built around it first.
    pub threshold: Option<(Threshold, Doorbell)>,
    pub keep: Box<dyn CommandResources>,
    pub limits: Limits,
    /// Where long output goes. Outlives the call if the command does.
    pub artifacts: Arc<dyn ArtifactSink>,
}
