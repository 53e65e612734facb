//! One pool of connections to one server.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::HttpConnector;

use super::line::{LineBody, Lines};
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
    host_header: HeaderValue,
    authorization: Option<HeaderValue>,
    secret: Secret,
}

impl Client {
    pub(super) fn new(url: &str, key: Option<&str>, connect: Duration) -> Result<Client, BadAddress> {
        let uri: Uri = url.parse().map_err(|_unreadable| BadAddress::NotAnAddress(url.to_owned()))?;
        let (Some("http" | "https"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(BadAddress::NotAnAddress(url.to_owned()));
        };
        let host = match authority.port() {
            Some(port) => format!("{}:{port}", authority.host()),
            None => authority.host().to_owned(),
        };
        let authorization = match key {
            Some(key) => {
                let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
                    .map_err(|_unprintable| BadAddress::BadKey)?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(connect));
        let connector = HttpsConnectorBuilder::new()
            .with_webpki_roots()
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let base = format!("{}/", uri.path().trim_end_matches('/'));
        let host_header =
            HeaderValue::from_str(&host).map_err(|_unprintable| BadAddress::NotAnAddress(url.to_owned()))?;
        let lines = Arc::new(Lines::new(connector, uri));
        Ok(Client { lines, base, host, host_header, authorization, secret: Secret::new(key) })
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn secret(&self) -> Secret {
        self.secret.clone()
    }

    pub(super) async fn get(&self, path: &str) -> Result<Bytes, BackendError> {
        let response = self.send(Method::GET, path, Bytes::new()).await?;
        collect(response.into_body()).await
    }

    /// The body of the answer, as it arrives.
    pub(super) async fn post(&self, path: &str, body: Bytes) -> Result<LineBody, BackendError> {
        Ok(self.send(Method::POST, path, body).await?.into_body())
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Response<LineBody>, BackendError> {
        let accept = if method == Method::POST { "text/event-stream" } else { "application/json" };
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() =
            format!("{}{path}", self.base).parse().map_err(|_impossible| unreachable_server())?;
        let headers = request.headers_mut();
        headers.insert(HOST, self.host_header.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        let response = self.lines.send(request).await.map_err(|error| {
            // It names the address, so it goes to the log and not to the client.
            tracing::warn!(%error, "the model's server cannot be reached");
            unreachable_server()
        })?;
        match response.status() {
            StatusCode::OK => Ok(response),
            status => {
                let body = collect(response.into_body()).await.unwrap_or_default();
                Err(failure::of_status(status, &body, &self.secret))
            }
        }
    }
}

async fn collect(body: LineBody) -> Result<Bytes, BackendError> {
    let whole = Limited::new(body, ANSWER_LIMIT).collect().await;
    whole.map(http_body_util::Collected::to_bytes).map_err(|_broken| {
        BackendError::new(ErrorKind::Protocol, "the model's server broke off its answer, or it is too long")
    })
}

fn unreachable_server() -> BackendError {
    BackendError::new(
        ErrorKind::Unavailable,
        "the model's server cannot be reached; start it, or look at the address that tollgate was started with",
    )
}
