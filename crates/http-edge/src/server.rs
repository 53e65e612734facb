//! The listening socket: accepts connections until shutdown, then lets answers finish.

use std::future::Future;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};

use crate::connection::HttpServer;
use crate::connection_state::ConnectionState;
use crate::descriptors::connections_that_fit;
use crate::guard::RequestGuard;
use crate::host_header::{AllowedHosts, is_host};
use crate::listeners::ListenerPair;
use crate::metrics::Metrics;
use crate::origins::AllowedOrigins;
use crate::refusal::RefusalReason;
use crate::settings::{ConnectionLimits, EdgeSettings};
use crate::shutdown::{ShutdownSignal, ShutdownTrigger};
use crate::stream::GuardedStream;

/// The pause after the system failed to accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error(
        "{address} can be reached from other machines: anyone with the token can then run tools on this one, and \
         the token travels unencrypted. Bind 127.0.0.1, or allow remote access in the settings"
    )]
    Remote { address: SocketAddr },
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error(
        "`{name}` is not a host: write the name as clients do, in small letters, with the port: `notes.local:8787`"
    )]
    Host { name: String },
    #[error(
        "`{name}` is not an origin: write it as a browser does, such as `app://obsidian.md`; `*` and `null` are not allowed"
    )]
    Origin { name: String },
}

/// A bound socket that does not accept connections yet.
pub struct HttpListener {
    listeners: ListenerPair,
    address: SocketAddr,
    guard: RequestGuard,
    limits: Arc<ConnectionLimits>,
    metrics: Arc<Metrics>,
}

impl HttpListener {
    /// Binds the address; port 0 takes a free one.
    pub async fn bind(
        settings: EdgeSettings,
        metrics: Arc<Metrics>,
        address: SocketAddr,
    ) -> Result<HttpListener, BindError> {
        if !address.ip().is_loopback() && !settings.allow_remote {
            return Err(BindError::Remote { address });
        }
        if let Some(name) = settings.hosts.iter().find(|name| !is_host(name)) {
            return Err(BindError::Host { name: name.clone() });
        }
        let origins = AllowedOrigins::new(&settings.origins).map_err(|name| BindError::Origin { name })?;
        let failed = |source| BindError::Listen { address, source };
        let listeners = ListenerPair::bind(address).map_err(failed)?;
        let address = listeners.main.local_addr().map_err(failed)?;
        let guard = RequestGuard {
            hosts: AllowedHosts::new(address, &settings.hosts),
            origins,
            open_paths: settings.open_paths,
            tokens: settings.tokens,
        };
        Ok(HttpListener { listeners, address, guard, limits: Arc::new(settings.limits), metrics })
    }

    /// The address it listens on, with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown` resolves. Then accepts no more connections, waits for answers as long as the limits
    /// say, and closes the remaining connections.
    pub async fn serve(self, router: Router, shutdown: impl Future<Output = ()>) {
        let (trigger, signal) = ShutdownTrigger::new();
        let capacity = connections_that_fit(self.limits.connections);
        let permits = Arc::new(Semaphore::new(capacity));
        let server = HttpServer::new(self.guard, self.limits.clone(), self.metrics, router, signal.clone());
        let mut acceptor = ConnectionAcceptor {
            server: Arc::new(server),
            permits: permits.clone(),
            shutdown: signal,
            connections: JoinSet::new(),
        };
        let mut shutdown = pin!(shutdown);
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(ended) = acceptor.connections.join_next() => log_panic(&ended),
                accepted = self.listeners.accept() => match accepted {
                    Ok((socket, _from)) => acceptor.accept(socket),
                    Err(error) => {
                        tracing::warn!(kind = %error.kind(), "cannot accept a connection");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        drop(self.listeners);
        trigger.start();
        tracing::info!(connections = capacity - permits.available_permits(), "stopping; answers may end");
        let all_closed = async {
            while let Some(ended) = acceptor.connections.join_next().await {
                log_panic(&ended);
            }
            // Upgraded connections are in no task of the acceptor, but hold their permits.
            let all = u32::try_from(capacity).unwrap_or(u32::MAX);
            permits.acquire_many(all).await.is_ok()
        };
        if tokio::time::timeout(self.limits.drain, all_closed).await.is_err() {
            tracing::warn!(
                connections = capacity - permits.available_permits(),
                "closing what has not ended"
            );
        }
        trigger.close();
        acceptor.connections.shutdown().await;
    }
}

/// Accepts connections up to the limit.
struct ConnectionAcceptor {
    server: Arc<HttpServer>,
    permits: Arc<Semaphore>,
    shutdown: ShutdownSignal,
    connections: JoinSet<()>,
}

impl ConnectionAcceptor {
    fn accept(&mut self, socket: TcpStream) {
        let Ok(permit) = self.permits.clone().try_acquire_owned() else {
            self.reject(socket);
            return;
        };
        // Events are small and are wanted at once. A socket that cannot do this still works.
        let _slower = socket.set_nodelay(true);
        let state = Arc::new(ConnectionState::default());
        let server = self.server.clone();
        let stream = GuardedStream::new(
            socket,
            state.clone(),
            server.limits.clone(),
            server.metrics.clone(),
            self.shutdown.clone(),
            permit,
        );
        self.connections.spawn(server.serve_connection(stream, state));
    }

    /// Sends the reason, as far as the system takes it without waiting, and closes the connection.
    fn reject(&self, socket: TcpStream) {
        let reason = RefusalReason::TooManyConnections;
        self.server.metrics.refused(reason.code());
        tracing::warn!(reason = reason.code(), "refused a connection");
        let body = reason.error(&self.server.limits).body().to_string();
        let answer = format!(
            "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Retry-After: 1\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        if let Ok(mut socket) = socket.into_std() {
            let _best_effort = socket.write(answer.as_bytes());
        }
    }
}

fn log_panic(ended: &Result<(), JoinError>) {
    if ended.as_ref().is_err_and(JoinError::is_panic) {
        tracing::error!("a connection panicked in the middle of its answer");
    }
}
