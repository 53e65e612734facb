//! HTTP requests of the protocol. Every response is bounded while it is read.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};

use super::events::{SseEvents, events};
use crate::escape;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest part of an error response that is read.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// Reason why a request failed. Never contains the token.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("the request cannot be written: {0}")]
    Unwritable(String),
    #[error("its answer cannot be read: {0}")]
    Unreadable(String),
    #[error("its answer is longer than {0} bytes")]
    TooLong(usize),
}

type TransportError = StreamableHttpError<HttpError>;

/// HTTP client for one connection. Redirects are not followed: a token is only for the address that it was given
/// for.
#[derive(Clone)]
pub struct HttpClient {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    longest: usize,
}

/// Headers of a request.
struct RequestHeaders {
    session: Option<Arc<str>>,
    token: Option<String>,
    more: HashMap<HeaderName, HeaderValue>,
}

impl HttpClient {
    /// Creates a client. A response longer than `longest` bytes is an error.
    pub fn new(longest: usize) -> Result<HttpClient, String> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let connector = HttpsConnectorBuilder::new()
            .with_webpki_roots()
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        Ok(HttpClient { client: Client::builder(TokioExecutor::new()).build(connector), longest })
    }

    async fn send(
        &self,
        method: Method,
        uri: &str,
        body: Bytes,
        about: RequestHeaders,
        resume_after: Option<String>,
    ) -> Result<Response<Incoming>, TransportError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri.parse().map_err(|error: http::uri::InvalidUri| unwritable(&error))?;
        let headers = request.headers_mut();
        headers.extend(about.more);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON_MIME_TYPE));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        insert(headers, HEADER_SESSION_ID, about.session.as_deref())?;
        insert(headers, HEADER_LAST_EVENT_ID, resume_after.as_deref())?;
        if let Some(token) = about.token {
            let mut value =
                HeaderValue::from_str(&format!("Bearer {token}")).map_err(|error| unwritable(&error))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        self.client.request(request).await.map_err(|error| {
            let why =
                std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            StreamableHttpError::Client(HttpError::Unreachable(why))
        })
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        more: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, TransportError> {
        let body = serde_json::to_vec(&message)?;
        let in_session = session.is_some();
        let about = RequestHeaders { session, token, more };
        let response = self.send(Method::POST, &uri, body.into(), about, None).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && in_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            return refusal_response(&message, in_session, response).await;
        }
        let session =
            response.headers().get(HEADER_SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
        match media_type(response.headers()) {
            EVENT_STREAM_MIME_TYPE => {
                Ok(StreamableHttpPostResponse::Sse(events(response.into_body(), self.longest), session))
            }
            JSON_MIME_TYPE => match serde_json::from_slice(&collect(response, self.longest).await?) {
                Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
                // Some servers answer messages that need no answer.
                Err(_) if !is_request(&message) => Ok(StreamableHttpPostResponse::Accepted),
                Err(error) => Err(StreamableHttpError::Deserialize(error)),
            },
            _ if !is_request(&message) => Ok(StreamableHttpPostResponse::Accepted),
            other => Err(StreamableHttpError::UnexpectedContentType(Some(escape::one_line(other, 100)))),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        more: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), TransportError> {
        let about = RequestHeaders { session: Some(session), token, more };
        // The response does not matter: for this client the session is over.
        self.send(Method::DELETE, &uri, Bytes::new(), about, None).await.map(|_answer| ())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        more: HashMap<HeaderName, HeaderValue>,
    ) -> Result<SseEvents, TransportError> {
        let about = RequestHeaders { session, token, more };
        let response = self.send(Method::GET, &uri, Bytes::new(), about, last_event).await?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND => {
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            }
            status if !status.is_success() => Err(status_error(status, &response)),
            _ if media_type(response.headers()) != EVENT_STREAM_MIME_TYPE => {
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            }
            _ => Ok(events(response.into_body(), self.longest)),
        }
    }
}

/// Handles an error status. An error for a `discover` request is an answer: the server is an older one.
async fn refusal_response(
    message: &ClientJsonRpcMessage,
    in_session: bool,
    response: Response<Incoming>,
) -> Result<StreamableHttpPostResponse, TransportError> {
    let status = response.status();
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) || !status.is_client_error() {
        return Err(status_error(status, &response));
    }
    let body = collect(response, MAX_REFUSAL_BYTES).await.unwrap_or_default();
    let ClientJsonRpcMessage::Request(request) = message else {
        return Err(unexpected(status));
    };
    let reported = match serde_json::from_slice(&body) {
        Ok(ServerJsonRpcMessage::Error(error)) => Some(error.error),
        _ => None,
    };
    let is_question = matches!(request.request, ClientRequest::DiscoverRequest(_)) && !in_session;
    let error = match reported {
        Some(error) => error,
        None if is_question => ErrorData::invalid_request(format!("refused with {status}"), None),
        None => return Err(unexpected(status)),
    };
    Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(error, Some(request.id.clone())), None))
}

fn status_error(status: StatusCode, response: &Response<Incoming>) -> TransportError {
    let challenge = response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    match (status, challenge) {
        (StatusCode::UNAUTHORIZED, Some(challenge)) => {
            StreamableHttpError::AuthRequired(AuthRequiredError::new(escape::one_line(challenge, 200)))
        }
        (_, _) => unexpected(status),
    }
}

fn unexpected(status: StatusCode) -> TransportError {
    StreamableHttpError::UnexpectedServerResponse(format!("it answers with {status}").into())
}

async fn collect(response: Response<Incoming>, longest: usize) -> Result<Bytes, TransportError> {
    let whole = Limited::new(response.into_body(), longest).collect().await;
    whole.map(http_body_util::Collected::to_bytes).map_err(|error| {
        StreamableHttpError::Client(match error.is::<LengthLimitError>() {
            true => HttpError::TooLong(longest),
            false => HttpError::Unreadable(error.to_string()),
        })
    })
}

/// Returns the message of a transport error without type names.
#[allow(clippy::wildcard_enum_match_arm, reason = "the others say it in their own words")]
pub(crate) fn error_text(error: &(dyn std::error::Error + 'static)) -> String {
    match error.downcast_ref::<TransportError>() {
        Some(StreamableHttpError::Client(failed)) => failed.to_string(),
        Some(StreamableHttpError::UnexpectedServerResponse(said)) => said.to_string(),
        _ => error.to_string(),
    }
}

/// Returns true if a response was dropped because of its length.
pub(crate) fn is_too_long(error: &(dyn std::error::Error + 'static)) -> bool {
    matches!(error.downcast_ref::<TransportError>(), Some(StreamableHttpError::Client(HttpError::TooLong(_))))
}

fn is_request(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, ClientJsonRpcMessage::Request(_))
}

/// Returns the content type without its parameters.
fn media_type(headers: &HeaderMap) -> &str {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

fn insert(headers: &mut HeaderMap, name: &'static str, value: Option<&str>) -> Result<(), TransportError> {
    if let Some(value) = value {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| unwritable(&error))?;
        headers.insert(name, HeaderValue::from_str(value).map_err(|error| unwritable(&error))?);
    }
    Ok(())
}

fn unwritable(error: &dyn std::error::Error) -> TransportError {
    StreamableHttpError::Client(HttpError::Unwritable(error.to_string()))
}
