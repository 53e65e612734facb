//! The listening socket: takes connections in until it is told to stop, then lets answers end.

use std::future::Future;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};

use crate::metrics::Metrics;

use super::connection::House;
use super::descriptors::connections_that_fit;
use super::drain::{Drain, Drainer};
use super::faces::Faces;
use super::guard::Guard;
use super::hosts::{Hosts, is_host};
use super::listeners::Listeners;
use super::origins::Origins;
use super::refusal::Refusal;
use super::settings::{EdgeSettings, Limits};
use super::stream::GuardedStream;
use super::visit::Visit;

/// How long nothing is accepted after the system could not give us a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error(
        "{address} can be reached from other machines: whoever has the token then runs tools on this one, and the \
         token travels unencrypted. Bind 127.0.0.1, or allow remote access in the settings"
    )]
    Remote { address: SocketAddr },
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error(
        "`{name}` is no host: write the name as clients do, in small letters, with the port: `notes.local:8787`"
    )]
    Host { name: String },
    #[error(
        "`{name}` is no origin: write it as a browser does, such as `app://obsidian.md`; `*` and `null` are none"
    )]
    Origin { name: String },
}

/// A bound socket that serves nobody yet.
pub struct Edge {
    listeners: Listeners,
    address: SocketAddr,
    guard: Guard,
    limits: Arc<Limits>,
    metrics: Arc<Metrics>,
}

impl Edge {
    /// Binds the address; port 0 takes a free one.
    pub async fn bind(
        settings: EdgeSettings,
        metrics: Arc<Metrics>,
        address: SocketAddr,
    ) -> Result<Edge, BindError> {
        if !address.ip().is_loopback() && !settings.allow_remote {
            return Err(BindError::Remote { address });
        }
        if let Some(name) = settings.hosts.iter().find(|name| !is_host(name)) {
            return Err(BindError::Host { name: name.clone() });
        }
        let origins = Origins::new(&settings.origins).map_err(|name| BindError::Origin { name })?;
        let failed = |source| BindError::Listen { address, source };
        let listeners = Listeners::bind(address).await.map_err(failed)?;
        let address = listeners.main.local_addr().map_err(failed)?;
        let guard = Guard {
            hosts: Hosts::new(address, &settings.hosts),
            origins,
            open_paths: settings.open_paths,
            tokens: settings.tokens,
        };
        Ok(Edge { listeners, address, guard, limits: Arc::new(settings.limits), metrics })
    }

    /// Where it listens, with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown` comes back; then takes nobody in, waits for answers as long as the limits say,
    /// and closes what is left.
    pub async fn serve(self, faces: impl Into<Faces>, shutdown: impl Future<Output = ()>) {
        let (drainer, drain) = Drainer::new();
        let capacity = connections_that_fit(self.limits.connections);
        let room = Arc::new(Semaphore::new(capacity));
        let house = House::new(self.guard, self.limits.clone(), self.metrics, faces.into(), drain.clone());
        let mut door = Door { house: Arc::new(house), room: room.clone(), drain, open: JoinSet::new() };
        let mut shutdown = pin!(shutdown);
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(ended) = door.open.join_next() => note_end(&ended),
                accepted = self.listeners.accept() => match accepted {
                    Ok((socket, _from)) => door.welcome(socket),
                    Err(error) => {
                        tracing::warn!(kind = %error.kind(), "cannot accept a connection");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        drop(self.listeners);
        drainer.start();
        tracing::info!(connections = capacity - room.available_permits(), "stopping; answers may end");
        let all_gone = async {
            while let Some(ended) = door.open.join_next().await {
                note_end(&ended);
            }
            // Connections that were given away to another protocol are in no task of ours.
            let all = u32::try_from(capacity).unwrap_or(u32::MAX);
            room.acquire_many(all).await.is_ok()
        };
        if tokio::time::timeout(self.limits.drain, all_gone).await.is_err() {
            tracing::warn!(connections = capacity - room.available_permits(), "closing what has not ended");
        }
        drainer.close();
        door.open.shutdown().await;
    }
}

/// Lets connections in, as long as there is room.
struct Door {
    house: Arc<House>,
    room: Arc<Semaphore>,
    drain: Drain,
    open: JoinSet<()>,
}

impl Door {
    fn welcome(&mut self, socket: TcpStream) {
        let Ok(permit) = self.room.clone().try_acquire_owned() else {
            self.turn_away(socket);
            return;
        };
        // Events are small and are wanted at once. A socket that cannot do this still works.
        let _slower = socket.set_nodelay(true);
        let visit = Arc::new(Visit::default());
        let house = self.house.clone();
        let stream = GuardedStream::new(
            socket,
            visit.clone(),
            house.limits.clone(),
            house.metrics.clone(),
            self.drain.clone(),
            permit,
        );
        self.open.spawn(house.attend(stream, visit));
    }

    /// Says why in as many bytes as the system takes without waiting.
    fn turn_away(&self, socket: TcpStream) {
        let refusal = Refusal::TooManyConnections;
        self.house.metrics.refused(refusal.code());
        tracing::warn!(reason = refusal.code(), "refused a connection");
        let body = refusal.error(&self.house.limits).body().to_string();
        let answer = format!(
            "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Retry-After: 1\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        if let Ok(mut socket) = socket.into_std() {
            let _as_good_as_it_goes = socket.write(answer.as_bytes());
        }
    }
}

fn note_end(ended: &Result<(), JoinError>) {
    if ended.as_ref().is_err_and(JoinError::is_panic) {
        tracing::error!("a connection panicked in the middle of its answer");
    }
}
