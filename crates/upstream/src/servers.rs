//! All servers of a vault, and their tools.

use std::sync::Arc;

use envelope::RunId;
use toolkit::{BoxFuture, Closed, Closing, Registry};

use crate::tool::ServerTool;
use crate::{Pin, Server};

/// How long connections live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// They end with the run that made them.
    WithTheRun,
    /// They stay for the next one, and end with the process.
    ForTheNext,
}

/// The servers that can be called, each with what is approved of it.
pub struct Servers {
    servers: Vec<(Arc<Server>, Arc<Pin>)>,
    left: Left,
}

impl Servers {
    pub fn new(servers: Vec<(Arc<Server>, Pin)>, left: Left) -> Servers {
        let mut servers: Vec<_> = servers.into_iter().map(|(server, pin)| (server, Arc::new(pin))).collect();
        // The same order every time: where two tools are spelled alike, the first keeps the spelling.
        servers.sort_by(|(a, _), (b, _)| a.name().cmp(b.name()));
        Servers { servers, left }
    }

    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// To be called for every run that gets the same ones: what an earlier one has broken is tried again.
    pub fn begin(&self) {
        self.servers.iter().for_each(|(server, _)| server.forgive());
    }

    /// Adds the approved tools. One that cannot be used does not keep the others out; it is named with the reason.
    pub fn register(&self, registry: &mut Registry) -> Vec<String> {
        let mut refused = Vec::new();
        for (server, pin) in &self.servers {
            let mut tools: Vec<_> = pin.tools.iter().collect();
            tools.sort_by(|a, b| a.name.cmp(&b.name));
            for declared in tools {
                let added = ServerTool::new(server, pin, declared).and_then(|tool| {
                    registry.register_foreign(Arc::new(tool)).map_err(|refused| refused.to_string())
                });
                refused.extend(added.err());
            }
        }
        refused
    }
}

impl Closing for Servers {
    fn close<'a>(&'a self, _run: &'a RunId) -> BoxFuture<'a, Vec<Closed>> {
        Box::pin(async move {
            if self.left == Left::WithTheRun {
                for (server, _) in &self.servers {
                    server.close().await;
                }
            }
            // Every call of theirs has its own result; there is nothing more to tell.
            Vec::new()
        })
    }
}
