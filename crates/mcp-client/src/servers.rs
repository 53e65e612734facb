//! All upstream servers of a vault and their tools.

use std::sync::Arc;

use envelope::RunId;
use toolkit::{BoxFuture, CleanupRecord, Registry, RunCleanup};

use crate::tool::ServerTool;
use crate::{ServerPin, UpstreamServer};

/// Lifetime of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionLifetime {
    /// They are closed at the end of the run that opened them.
    Run,
    /// They are kept for the next run and closed at the end of the process.
    Process,
}

/// The callable servers, each with its approved pin.
pub struct UpstreamServers {
    servers: Vec<(Arc<UpstreamServer>, Arc<ServerPin>)>,
    lifetime: ConnectionLifetime,
}

impl UpstreamServers {
    pub fn new(
        servers: Vec<(Arc<UpstreamServer>, ServerPin)>,
        lifetime: ConnectionLifetime,
    ) -> UpstreamServers {
        let mut servers: Vec<_> = servers.into_iter().map(|(server, pin)| (server, Arc::new(pin))).collect();
        // A fixed order: if two aliases collide, the first tool keeps the alias.
        servers.sort_by(|(a, _), (b, _)| a.name().cmp(b.name()));
        UpstreamServers { servers, lifetime }
    }

    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Resets the backoff. Called at the start of every run, so that failures of an earlier run do not block it.
    pub fn begin_run(&self) {
        self.servers.iter().for_each(|(server, _)| server.reset_backoff());
    }

    /// Registers the approved tools. A tool that cannot be registered does not block the others; the reasons are
    /// returned.
    pub fn register(&self, registry: &mut Registry) -> Vec<String> {
        let mut refused = Vec::new();
        for (server, pin) in &self.servers {
            let mut tools: Vec<_> = pin.tools.iter().collect();
            tools.sort_by(|a, b| a.name.cmp(&b.name));
            for declared in tools {
                let added = ServerTool::new(server, pin, declared).and_then(|tool| {
                    registry.register_json_tool(Arc::new(tool)).map_err(|refused| refused.to_string())
                });
                refused.extend(added.err());
            }
        }
        refused
    }
}

impl RunCleanup for UpstreamServers {
    fn close<'a>(&'a self, _run: &'a RunId) -> BoxFuture<'a, Vec<CleanupRecord>> {
        Box::pin(async move {
            if self.lifetime == ConnectionLifetime::Run {
                for (server, _) in &self.servers {
                    server.close().await;
                }
            }
            // Every call has its own result; there is nothing else to report.
            Vec::new()
        })
    }
}
