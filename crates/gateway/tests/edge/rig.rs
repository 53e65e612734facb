//! A server on a free port, and requests as bytes.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use gateway::edge::{Edge, EdgeSettings, Limits, Token};
use gateway::metrics::Metrics;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server that runs until it is told to stop.
pub struct Rig {
    pub address: SocketAddr,
    pub token: String,
    pub metrics: Arc<Metrics>,
    stop: Option<oneshot::Sender<()>>,
    server: JoinHandle<()>,
    _folder: tempfile::TempDir,
}

/// Time enough for a test on any machine.
pub fn patient() -> Limits {
    let long = Duration::from_secs(600);
    Limits {
        first_byte: long,
        head: long,
        body: long,
        idle: long,
        write_stall: long,
        drain: long,
        ..Limits::default()
    }
}

impl Rig {
    pub async fn start(router: Router, change: impl FnOnce(&mut EdgeSettings)) -> Rig {
        let folder = tempfile::tempdir().unwrap();
        let token = Token::load_or_create(&folder.path().join("state/token")).unwrap();
        let mut settings = EdgeSettings::new(token.clone());
        settings.limits = patient();
        change(&mut settings);
        let metrics = Arc::new(Metrics::new());
        let edge =
            Edge::bind(settings, metrics.clone(), SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        let address = edge.address();
        let (stop, stopped) = oneshot::channel();
        let server = tokio::spawn(edge.serve(router, async {
            stopped.await.ok();
        }));
        Rig { address, token: token.reveal().to_owned(), metrics, stop: Some(stop), server, _folder: folder }
    }

    pub fn host(&self) -> String {
        self.address.to_string()
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends the bytes and reads until the server closes.
    pub async fn exchange(&self, request: &str) -> String {
        let mut socket = self.connect().await;
        socket.write_all(request.as_bytes()).await.unwrap();
        read_to_close(&mut socket).await
    }

    /// A request that passes the guard, with headers and a body of one's own.
    pub fn request(&self, line: &str, headers: &str, body: &str) -> String {
        format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n{headers}\r\n{body}",
            self.host(),
            self.token
        )
    }

    pub fn ask_to_stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Stops the server and waits until it is gone.
    pub async fn stop(mut self) {
        if self.stop.is_some() {
            self.ask_to_stop();
        }
        self.server.await.unwrap();
    }
}

pub async fn read_to_close(socket: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    // A reset after the answer is a close as well.
    let _end = socket.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

/// The status of an answer, and its body.
pub fn parted(answer: &str) -> (u16, &str) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, body)
}
