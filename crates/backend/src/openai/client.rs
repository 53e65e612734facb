//! HTTP client of one model server.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, PROXY_AUTHORIZATION};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::Full;

use super::api_key::ApiKey;
use super::connection_pool::ConnectionPool;
use super::connector::Connector;
use super::response_body::ResponseBody;
use super::{BadAddress, server_error};
use crate::{BackendError, BackendErrorKind};

/// Limit of a list of models or an error.
const BODY_LIMIT: usize = 4 << 20;

pub(super) struct OpenAiClient {
    pool: Arc<ConnectionPool>,
    /// Start of every request target; ends with a slash. A whole address if a proxy takes the requests.
    base: String,
    host: String,
    headers: HeaderMap,
    key: ApiKey,
}

impl OpenAiClient {
    pub(super) fn new(
        server: Uri,
        key: Option<&str>,
        connector: Connector,
    ) -> Result<OpenAiClient, BadAddress> {
        let not_an_address = || BadAddress::NotAnAddress(server.to_string());
        let authority = server.authority().ok_or_else(not_an_address)?;
        let host = match authority.port() {
            Some(port) => format!("{}:{port}", authority.host()),
            None => authority.host().to_owned(),
        };
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(&host).map_err(|_unprintable| not_an_address())?);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = key {
            let mut value =
                HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_unprintable| BadAddress::BadKey)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let path = server.path().trim_end_matches('/');
        let base = match &connector {
            Connector::Direct(_) | Connector::Tunnel(_) => format!("{path}/"),
            Connector::Forward { auth, .. } => {
                if let Some(auth) = auth {
                    headers.insert(PROXY_AUTHORIZATION, auth.clone());
                }
                format!("http://{host}{path}/")
            }
        };
        let pool = Arc::new(ConnectionPool::new(connector, server));
        Ok(OpenAiClient { pool, base, host, headers, key: ApiKey::new(key) })
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn key(&self) -> ApiKey {
        self.key.clone()
    }

    #[cfg(test)]
    pub(super) fn has_idle_connection(&self) -> bool {
        self.pool.has_idle()
    }

    pub(super) async fn get(&self, path: &str) -> Result<Bytes, BackendError> {
        collect(self.send(Method::GET, path, "application/json", Bytes::new()).await?).await
    }

    /// Returns the body of the response as it arrives. Fails unless the status is 200.
    pub(super) async fn post(&self, path: &str, body: Bytes) -> Result<ResponseBody, BackendError> {
        self.send(Method::POST, path, "text/event-stream", body).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        accept: &'static str,
        body: Bytes,
    ) -> Result<ResponseBody, BackendError> {
        let target: Uri =
            format!("{}{path}", self.base).parse().map_err(|_unreadable| unreachable_server())?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = target;
        *request.headers_mut() = self.headers.clone();
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accept));
        let response = self.pool.send(request).await.map_err(|error| {
            // It names the address, so it goes to the log and not to the client.
            tracing::warn!(%error, "the model's server cannot be reached");
            unreachable_server()
        })?;
        match response.status() {
            StatusCode::OK => Ok(response),
            status => {
                let retry_after = response.retry_after();
                let body = collect(response).await.unwrap_or_default();
                let error = server_error::from_status(status, &body, &self.key);
                Err(BackendError { retry_after, ..error })
            }
        }
    }
}

async fn collect(mut response: ResponseBody) -> Result<Bytes, BackendError> {
    const BROKEN: &str = "the model's server broke off its answer, or it is too long";
    let broken = || BackendError::new(BackendErrorKind::Protocol, BROKEN);
    let mut whole = BytesMut::new();
    while let Some(chunk) = std::future::poll_fn(|cx| response.poll_chunk(cx)).await {
        whole.extend_from_slice(&chunk.map_err(|_broken_off| broken())?);
        if whole.len() > BODY_LIMIT {
            return Err(broken());
        }
    }
    Ok(whole.freeze())
}

fn unreachable_server() -> BackendError {
    BackendError::new(
        BackendErrorKind::Unavailable,
        "the model's server cannot be reached; start it, or look at the address that tollgate was started with",
    )
}
