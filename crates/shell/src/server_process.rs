//! A server process: a program that is started once in the command sandbox, exchanges messages on its standard streams,
//! and ends with the process that started it.
//!
//! This module does not know the protocol. The caller reads as much of the output as it wants, and decides when the
//! program ends.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use envelope::Fault;

use crate::process::{ProcessHandle, StdioPipes};
use crate::sandbox::{self, StartSignal};
use crate::shell_session::ShellSession;

/// A program to start, and its access beyond that of every command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    /// The program and its arguments. It sees the vault, and runs in a private folder.
    pub argv: Vec<OsString>,
    /// Variables besides those of every command.
    pub env: BTreeMap<String, String>,
    /// Folders outside of the vault that it can read.
    pub readable: Vec<PathBuf>,
    /// Folders outside of the vault that it can change.
    pub writable: Vec<PathBuf>,
    pub network: bool,
    /// Identifies its processes. No two programs may use the same mark.
    pub mark: String,
}

/// A program that is running. Dropping it kills the program and everything that it started.
pub struct ServerProcess {
    handle: Arc<ProcessHandle>,
    start_signal: Option<StartSignal>,
}

impl ShellSession {
    /// Starts a server process. Returns it with our ends of its streams, which never block.
    ///
    /// Fails if no sandbox can be built, or if the program cannot be started.
    pub async fn start_server(
        self: &Arc<ShellSession>,
        spec: ServerSpec,
    ) -> Result<(ServerProcess, StdioPipes), Fault> {
        let kind = self.sandbox_kind().await?;
        let ready = self.prepare_server(kind, &spec)?;
        let mark = spec.mark;
        let spawner = self.spawner()?;
        let (start_signal, notifier) = ready.start_signal.unzip();
        let prepared = ready.prepared;
        let resources = Box::new(prepared.resources);
        let (handle, pipes) =
            ProcessHandle::start(spawner, prepared.command, notifier, kind.into(), mark, resources).await?;
        Ok((ServerProcess { handle: Arc::new(handle), start_signal }, pipes))
    }
}

impl ServerProcess {
    pub fn pid(&self) -> i32 {
        self.handle.pid()
    }

    /// Kills the program and everything that it started. Returns when they are gone.
    pub async fn end(&self) {
        let handle = Arc::clone(&self.handle);
        // Killing blocks, so it happens off the runtime. After a crash there, the last owner kills what is left.
        let _crashed = tokio::task::spawn_blocking(move || handle.kill()).await;
    }

    /// Returns why the program was never started: its sandbox was not built. `None` if it was started. Call it when the
    /// process has ended, with what it printed on standard error.
    pub fn sandbox_failure(&self, printed: &[u8]) -> Option<Fault> {
        let was_started = self.start_signal.as_ref().is_none_or(StartSignal::is_started);
        (!was_started).then(|| sandbox::sandbox_failure(printed))
    }
}
