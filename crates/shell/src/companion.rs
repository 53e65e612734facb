//! A program that stays: started once behind the wall of commands, talked to through its two streams, ended with
//! whoever started it.
//!
//! What is absent on purpose: any knowledge of what is said. Whoever starts it reads what it prints, as much of it as
//! they want, and decides when it has said enough.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use envelope::Fault;

use crate::process::{Alive, Mouths};
use crate::sandbox::{Threshold, not_run};
use crate::session::Session;

/// What is started, and what it reaches beyond what any command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Companionship {
    /// The program and its arguments. It sees the vault, and runs in a folder of its own.
    pub argv: Vec<OsString>,
    /// Variables that it gets besides those of every command.
    pub env: BTreeMap<String, String>,
    /// Folders outside of the vault that it may read.
    pub readable: Vec<PathBuf>,
    pub network: bool,
    /// How its processes are known. No two programs may have the same.
    pub mark: String,
}

/// A program that is running. Whoever lets go of it ends it, with everything that it started.
pub struct Companion {
    alive: Arc<Alive>,
    threshold: Option<Threshold>,
}

/// Our ends of its streams. Reading from one of them, or writing to it, never waits.
#[derive(Debug)]
pub struct Streams {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

impl Session {
    /// Starts a program that stays.
    pub async fn accompany(
        self: &Arc<Session>,
        wanted: Companionship,
    ) -> Result<(Companion, Streams), Fault> {
        let wall = self.wall().await?;
        let Companionship { argv, env, readable, network, mark } = wanted;
        let ready = self.prepare_reaching(wall, &mark, argv, &env, (readable, network))?;
        let spawner = self.spawner()?;
        let (threshold, bell) = ready.threshold.unzip();
        let prepared = ready.prepared;
        let (alive, mouths) =
            Alive::start(spawner, prepared.command, bell, wall.into(), mark, Box::new(prepared.leftovers))
                .await?;
        let Mouths { stdin, stdout, stderr } = mouths;
        let companion = Companion { alive: Arc::new(alive), threshold };
        Ok((companion, Streams { stdin, stdout, stderr }))
    }
}

impl Companion {
    pub fn pid(&self) -> i32 {
        self.alive.pid()
    }

    /// Ends it with everything that it started. Comes back when it is gone.
    pub async fn end(&self) {
        let alive = Arc::clone(&self.alive);
        // Killing waits; where that holds nobody up. A crash there leaves the rest to whoever lets go last.
        let _crashed = tokio::task::spawn_blocking(move || alive.kill()).await;
    }

    /// Why there was no program, if there was none: the wall was not built. To be asked when it has ended.
    pub fn was_not_run(&self, printed: &[u8]) -> Option<Fault> {
        let not_reached = self.threshold.as_ref().is_some_and(|threshold| !threshold.is_crossed());
        not_reached.then(|| not_run(printed))
    }
}
