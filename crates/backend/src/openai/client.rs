//! One pool of connections to one server.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, StatusCode, Uri};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::HttpConnector;

use super::answer::Answer;
use super::line::Request;
use super::lines::{Connector, Lines};
use super::secret::Secret;
use super::{BadAddress, failure};
use crate::{BackendError, ErrorKind};

/// A list of models or an error is never larger.
const ANSWER_LIMIT: usize = 4 << 20;

pub(super) struct Client {
    lines: Arc<Lines>,
    /// The path that every request begins with; ends with a slash.
    base: String,
    host: String,
    /// The headers that every request has, as they are sent.
    headers: Vec<u8>,
    secret: Secret,
}

impl Client {
    pub(super) fn new(url: &str, key: Option<&str>, connector: Connector) -> Result<Client, BadAddress> {
        let uri: Uri = url.parse().map_err(|_unreadable| BadAddress::NotAnAddress(url.to_owned()))?;
        let (Some("http" | "https"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(BadAddress::NotAnAddress(url.to_owned()));
        };
        let host = match authority.port() {
            Some(port) => format!("{}:{port}", authority.host()),
            None => authority.host().to_owned(),
        };
        let mut headers = Vec::new();
        let not_an_address = |_unprintable| BadAddress::NotAnAddress(url.to_owned());
        push_header(&mut headers, "host", &HeaderValue::from_str(&host).map_err(not_an_address)?);
        push_header(&mut headers, "content-type", &HeaderValue::from_static("application/json"));
        if let Some(key) = key {
            let value =
                HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_unprintable| BadAddress::BadKey)?;
            push_header(&mut headers, "authorization", &value);
        }
        let base = format!("{}/", uri.path().trim_end_matches('/'));
        let lines = Arc::new(Lines::new(connector, uri));
        Ok(Client { lines, base, host, headers, secret: Secret::new(key) })
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn secret(&self) -> Secret {
        self.secret.clone()
    }

    pub(super) async fn get(&self, path: &str) -> Result<Bytes, BackendError> {
        let head = self.head("GET", path, &["accept: application/json"]);
        collect(self.send(Request { head, body: Bytes::new() }).await?).await
    }

    /// The answer, as it arrives.
    pub(super) async fn post(&self, path: &str, body: Bytes) -> Result<Answer, BackendError> {
        let length = format!("content-length: {}", body.len());
        let head = self.head("POST", path, &["accept: text/event-stream", &length]);
        self.send(Request { head, body }).await
    }

    fn head(&self, method: &str, path: &str, headers: &[&str]) -> Bytes {
        let mut head = Vec::with_capacity(256);
        for part in [method, " ", &self.base, path, " HTTP/1.1\r\n"] {
            head.extend_from_slice(part.as_bytes());
        }
        head.extend_from_slice(&self.headers);
        for header in headers {
            head.extend_from_slice(header.as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        head.into()
    }

    async fn send(&self, request: Request) -> Result<Answer, BackendError> {
        let answer = self.lines.send(request).await.map_err(|error| {
            // It names the address, so it goes to the log and not to the client.
            tracing::warn!(%error, "the model's server cannot be reached");
            unreachable_server()
        })?;
        match answer.status() {
            StatusCode::OK => Ok(answer),
            status => {
                let body = collect(answer).await.unwrap_or_default();
                Err(failure::of_status(status, &body, &self.secret))
            }
        }
    }
}

/// Trusts the roots that browsers trust, and has so much time for a connection.
pub(super) fn connector(limit: Duration) -> Connector {
    HttpsConnectorBuilder::new()
        .with_webpki_roots()
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp_connector(limit))
}

pub(super) fn tcp_connector(limit: Duration) -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(limit));
    tcp
}

fn push_header(headers: &mut Vec<u8>, name: &str, value: &HeaderValue) {
    for part in [name.as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
        headers.extend_from_slice(part);
    }
}

async fn collect(mut answer: Answer) -> Result<Bytes, BackendError> {
    const BROKEN: &str = "the model's server broke off its answer, or it is too long";
    let broken = || BackendError::new(ErrorKind::Protocol, BROKEN);
    let mut whole = Vec::new();
    loop {
        let more = std::future::poll_fn(|cx| answer.poll_more(cx, |part| whole.extend_from_slice(part)));
        let more = more.await.map_err(|_broken_off| broken())?;
        if whole.len() > ANSWER_LIMIT {
            return Err(broken());
        }
        if !more {
            return Ok(whole.into());
        }
    }
}

fn unreachable_server() -> BackendError {
    BackendError::new(
        ErrorKind::Unavailable,
        "the model's server cannot be reached; start it, or look at the address that tollgate was started with",
    )
}
