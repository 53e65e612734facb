//! All connections to one server, and those of them that nobody uses.
//!
//! One that is idle is polled by nobody; whether it still lives is found out when it is wanted again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::Uri;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use tokio::time::Instant;
use tower_service::Service;

use super::answer::Answer;
use super::line::{Line, Request, Unsent};
use super::socket::Socket;

/// A connection that nobody uses for so long is not used again.
const IDLE: Duration = Duration::from_secs(60);
const MOST_IDLE: usize = 1_024;

/// What went wrong, for the log: it names the address.
pub(super) type LineError = Box<dyn std::error::Error + Send + Sync>;

pub(super) type Connector = HttpsConnector<HttpConnector>;

pub(super) struct Lines {
    connector: Connector,
    server: Uri,
    idle: Mutex<Vec<(Line, Instant)>>,
}

impl Lines {
    pub(super) fn new(connector: Connector, server: Uri) -> Lines {
        Lines { connector, server, idle: Mutex::default() }
    }

    /// Sends a request. One that an idle connection did not take is sent again on a new one; one that it took is not.
    pub(super) async fn send(self: &Arc<Lines>, request: Request) -> Result<Answer, LineError> {
        while let Some(mut line) = self.take_idle() {
            if !line.is_silent() {
                continue;
            }
            match line.send(request.clone()).await {
                Ok((head, begun)) => return Ok(Answer::new(head, begun, line, self.clone())),
                Err(Unsent::Back) => {}
                Err(Unsent::Lost(error)) => return Err(error),
            }
        }
        // Apart: it is large, needed rarely, and over before the answer begins.
        let mut line = Box::pin(self.connect()).await?;
        match line.send(request).await {
            Ok((head, begun)) => Ok(Answer::new(head, begun, line, self.clone())),
            Err(Unsent::Back) => Err("the server closed the connection at once".into()),
            Err(Unsent::Lost(error)) => Err(error),
        }
    }

    async fn connect(&self) -> Result<Line, LineError> {
        Ok(Line::new(Socket::new(self.connector.clone().call(self.server.clone()).await?)))
    }

    pub(super) fn take_idle(&self) -> Option<Line> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let (line, since) = idle.pop()?;
        if since.elapsed() < IDLE {
            return Some(line);
        }
        // The last is the youngest.
        idle.clear();
        None
    }

    pub(super) fn give_back(&self, line: Line) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push((line, Instant::now()));
        }
    }
}
