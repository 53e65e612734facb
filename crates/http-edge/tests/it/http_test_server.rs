//! A server on a free port, and requests as bytes.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use http_edge::metrics::Metrics;
use http_edge::{ConnectionLimits, EdgeSettings, HttpListener, Token};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server that runs until it is stopped.
pub(crate) struct HttpTestServer {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    pub(crate) metrics: Arc<Metrics>,
    stop: Option<oneshot::Sender<()>>,
    server: JoinHandle<()>,
    _folder: tempfile::TempDir,
}

/// Time enough for a test on any machine.
pub(crate) fn patient() -> ConnectionLimits {
    let long = Duration::from_secs(600);
    ConnectionLimits {
        first_byte: long,
        head: long,
        body: long,
        idle: long,
        write_stall: long,
        drain: long,
        ..ConnectionLimits::default()
    }
}

impl HttpTestServer {
    pub(crate) async fn start(router: Router, change: impl FnOnce(&mut EdgeSettings)) -> HttpTestServer {
        let folder = tempfile::tempdir().unwrap();
        let token = Token::load_or_create(&folder.path().join("state/token")).unwrap();
        let mut settings = EdgeSettings::new(token.clone());
        settings.limits = patient();
        change(&mut settings);
        let metrics = Arc::new(Metrics::new());
        let edge = HttpListener::bind(settings, metrics.clone(), SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .await
            .unwrap();
        let address = edge.address();
        let (stop, stopped) = oneshot::channel();
        let server = tokio::spawn(edge.serve(router, async {
            stopped.await.ok();
        }));
        HttpTestServer {
            address,
            token: token.reveal().to_owned(),
            metrics,
            stop: Some(stop),
            server,
            _folder: folder,
        }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends the bytes and reads until the server closes.
    pub(crate) async fn exchange(&self, request: impl AsRef<[u8]>) -> String {
        let mut socket = self.connect().await;
        socket.write_all(request.as_ref()).await.unwrap();
        read_to_close(&mut socket).await
    }

    /// A request that passes the guard, with headers and a body of its own, after which the connection stays open.
    pub(crate) fn request(&self, line: &str, headers: &str, body: &str) -> String {
        let HttpTestServer { address, token, .. } = self;
        format!("{line} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n{headers}\r\n{body}")
    }

    /// The same with a JSON body.
    pub(crate) fn post(&self, path: &str, headers: &str, body: &str) -> String {
        let length = body.len();
        let typed = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n{headers}");
        self.request(&format!("POST {path}"), &typed, body)
    }

    pub(crate) fn ask_to_stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Stops the server and waits until it is gone.
    pub(crate) async fn stop(mut self) {
        if self.stop.is_some() {
            self.ask_to_stop();
        }
        self.server.await.unwrap();
    }
}

/// Asks that the connection be closed after the answer.
pub(crate) const CLOSE: &str = "Connection: close\r\n";

pub(crate) async fn read_to_close(socket: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    // A reset after the answer is a close as well.
    let _end = socket.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

/// Reads until the text has come in.
pub(crate) async fn read_until(socket: &mut TcpStream, text: &str) -> String {
    let mut answer = Vec::new();
    loop {
        let byte = socket.read_u8().await.unwrap();
        answer.push(byte);
        if answer.ends_with(text.as_bytes()) {
            return String::from_utf8(answer).unwrap();
        }
    }
}

/// The status of an answer, and its body.
pub(crate) fn parted(answer: &str) -> (u16, &str) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, body)
}

/// Returns `400 bad_line_ending` for an error, `200` for anything else, `closed` without an answer.
pub(crate) fn verdict(answer: &str) -> String {
    let (status, body) = parted(answer);
    let code = body.split_once("\"code\":\"").and_then(|(_, rest)| rest.split('"').next());
    match (status, code) {
        (0, _) => "closed".to_owned(),
        (status, Some(code)) => format!("{status} {code}"),
        (status, None) => status.to_string(),
    }
}

/// An answer without what differs from run to run.
pub(crate) fn undated(answer: &str) -> String {
    let changing = ["date: ", "x-request-id: "];
    let lines = answer.split("\r\n").filter(|line| !changing.iter().any(|start| line.starts_with(start)));
    lines.map(|line| format!("{line}\n")).collect()
}

/// One counter of the metrics, by the start of its line.
pub(crate) fn counted(metrics: &Metrics, name: &str) -> u64 {
    let text = metrics.render();
    let line = text.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.rsplit(' ').next()).map_or(0, |count| count.parse().unwrap())
}
