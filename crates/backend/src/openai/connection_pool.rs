//! Pool of connections to one server. An idle connection is polled only when a request wants it.

use std::sync::{Arc, Mutex, PoisonError};
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
    idle: Mutex<Vec<(HttpConnection, Instant)>>,
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
        !self.idle.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn take_idle(&self) -> Option<HttpConnection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let (connection, since) = idle.pop()?;
        if since.elapsed() < IDLE_TIMEOUT {
            return Some(connection);
        }
        // The last is the youngest.
        idle.clear();
        None
    }

    pub(super) fn give_back(&self, connection: HttpConnection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.push((connection, Instant::now()));
        }
    }
}
