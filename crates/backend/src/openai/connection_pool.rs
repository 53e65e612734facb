//! Pool of connections to one server. An idle connection is polled only when a request wants it, so a task closes the
//! connections that were idle for too long; it ends when none is left.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use http::Uri;
use tokio::time::Instant;

use super::connection::{ConnectionError, HttpConnection, HttpRequest};
use super::connector::Connector;
use super::response_body::ResponseBody;

/// Idle connections are dropped after this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_IDLE: usize = 1_024;

pub(super) struct ConnectionPool {
    connector: Connector,
    server: Uri,
    idle: Mutex<IdleConnections>,
}

#[derive(Default)]
struct IdleConnections {
    /// Oldest first.
    connections: Vec<(HttpConnection, Instant)>,
    /// Whether a task waits to close them.
    has_reaper: bool,
}

impl IdleConnections {
    fn close_expired(&mut self) {
        let expired = self.connections.partition_point(|(_, since)| since.elapsed() >= IDLE_TIMEOUT);
        self.connections.drain(..expired);
    }
}

impl ConnectionPool {
    pub(super) fn new(connector: Connector, server: Uri) -> ConnectionPool {
        ConnectionPool { connector, server, idle: Mutex::default() }
    }

    /// Sends a request. Repeats it on another connection only if an idle connection took none of it.
    pub(super) async fn send(
        self: &Arc<ConnectionPool>,
        mut request: HttpRequest,
    ) -> Result<ResponseBody, ConnectionError> {
        if self.has_idle() {
            // The runtime learns here which idle connections have been closed.
            tokio::task::yield_now().await;
        }
        while let Some(mut connection) = self.take_idle() {
            if !connection.is_idle() {
                continue;
            }
            match connection.send(request).await {
                Ok(response) => return ResponseBody::new(response, connection, self.clone()),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(error.into_error().into()),
                },
            }
        }
        // Boxed: it is large and over before the answer begins.
        let mut connection = Box::pin(self.connect()).await?;
        match connection.send(request).await {
            Ok(response) => ResponseBody::new(response, connection, self.clone()),
            Err(error) => Err(error.into_error().into()),
        }
    }

    async fn connect(&self) -> Result<HttpConnection, ConnectionError> {
        let transport = self.connector.clone().connect(self.server.clone()).await?;
        HttpConnection::open(transport).await
    }

    pub(super) fn has_idle(&self) -> bool {
        !self.idle().connections.is_empty()
    }

    fn idle(&self) -> MutexGuard<'_, IdleConnections> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the connection that was used last.
    fn take_idle(&self) -> Option<HttpConnection> {
        let mut idle = self.idle();
        idle.close_expired();
        idle.connections.pop().map(|(connection, _since)| connection)
    }

    pub(super) fn give_back(self: &Arc<ConnectionPool>, connection: HttpConnection) {
        let mut idle = self.idle();
        if idle.connections.len() < MAX_IDLE {
            idle.connections.push((connection, Instant::now()));
        }
        if !std::mem::replace(&mut idle.has_reaper, true) {
            tokio::spawn(close_idle_connections(Arc::downgrade(self)));
        }
    }
}

/// Closes idle connections when they expire, until none is left or the pool is dropped.
async fn close_idle_connections(pool: Weak<ConnectionPool>) {
    loop {
        let next = {
            let Some(pool) = pool.upgrade() else { return };
            let mut idle = pool.idle();
            idle.close_expired();
            match idle.connections.first() {
                Some((_, since)) => *since + IDLE_TIMEOUT,
                None => {
                    idle.has_reaper = false;
                    return;
                }
            }
        };
        tokio::time::sleep_until(next).await;
    }
}
