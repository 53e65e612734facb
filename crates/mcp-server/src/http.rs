//! The `/mcp` endpoint, behind the edge, which has already checked host, origin and token.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use envelope::ClientId;
use http_body::Body as _;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};

use super::duplicate_key_filter::MessageHead;
use super::duplicate_keys::find_duplicate_key;
use super::http_sessions::{HttpSessions, SessionRequestGuard};
use super::server::{ClientLifetime, McpHandler, McpServer};
use super::shutdown_body::ShutdownBody;
use http_edge::api_error::{ApiError, ErrorType};
use http_edge::{BODY_LIMIT, error_response, read_body};

/// Margin before an unused session expires. Longer than any question, since a session counts as unused while its
/// user reads a question.
const IDLE_SESSION_MARGIN: Duration = Duration::from_secs(300);
/// Limit of open sessions. Each session keeps a handler, whether or not it is used.
const MAX_SESSIONS: usize = 256;

/// Serves the MCP server under `/mcp`.
pub fn mount(router: Router, server: &Arc<McpServer>) -> Router {
    mount_within(router, server, |handler| handler)
}

/// Serves the MCP server under `/mcp` inside another handler that adds features and delegates the rest.
pub fn mount_within<S: ServerHandler>(
    router: Router,
    server: &Arc<McpServer>,
    wrap: impl Fn(McpHandler) -> S + Send + Sync + 'static,
) -> Router {
    let mut manager = LocalSessionManager::default();
    manager.session_config.keep_alive = Some(server.parts.settings.answer_limit + IDLE_SESSION_MARGIN);
    // The edge checks the names that this server is known by; rmcp would only know the usual ones.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        // A stateless response without progress is a single JSON object; with progress it is an event stream.
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_LIMIT);
    let handlers = server.clone();
    let make = move || Ok(wrap(handlers.handler(ClientLifetime::Http)));
    let manager = Arc::new(manager);
    let service = StreamableHttpService::new(make, manager.clone(), config);
    let sessions = Arc::new(HttpSessions::new(manager));
    let endpoint = Arc::new(McpEndpoint { service, sessions, server: server.clone() });
    router.route("/mcp", any(move |request| endpoint.clone().respond(request)))
}

/// The steps between the edge and rmcp, in one function: one layer per step would box and copy each request and
/// response again.
struct McpEndpoint<S> {
    service: StreamableHttpService<S, LocalSessionManager>,
    sessions: Arc<HttpSessions>,
    server: Arc<McpServer>,
}

impl<S: ServerHandler> McpEndpoint<S> {
    async fn respond(self: Arc<Self>, request: Request) -> Response {
        // A body with a declared length above the limit is rejected at once; any other is cut off at the limit.
        if request.body().size_hint().lower() > BODY_LIMIT as u64 {
            return error_response(&body_too_large());
        }
        let session = session_of(request.headers()).map(str::to_owned);
        let client = request.extensions().get::<ClientId>().cloned();
        if session.as_ref().is_some_and(|session| self.sessions.belongs_to_other(session, client.as_ref())) {
            // The same error as for a missing session, so that a client learns nothing about the sessions of
            // others.
            return error_response(&no_such_session());
        }
        // A client that went away without a word leaves its session behind.
        if may_open_session(&request)
            && self.sessions.manager.sessions.read().await.len() >= MAX_SESSIONS
            && !self.sessions.evict_one().await
        {
            return error_response(&too_many_sessions());
        }
        let method = request.method().clone();
        let (request, call) = match reject_duplicate_keys(request, session.is_some()).await {
            Ok(request) => request,
            Err(refused) => return refused,
        };
        let guard = session
            .as_deref()
            .map(|session| SessionRequestGuard::new(&self.sessions, &self.server, session, call));
        let answer = self.service.handle(request).await;
        if guard.is_none()
            && let (Some(session), Some(client)) = (session_of(answer.headers()), client)
        {
            self.sessions.register(session.to_owned(), client).await;
        }
        if method == Method::DELETE && answer.status() == StatusCode::ACCEPTED {
            // The session has ended. Some clients take 202 for a failure.
            return StatusCode::NO_CONTENT.into_response();
        }
        if method == Method::GET {
            // The response to GET is an event stream without an end of its own.
            let stopping = self.server.runs.stopping();
            return answer.map(|body| {
                let body = Body::new(ShutdownBody::new(Body::new(body), stopping));
                match guard {
                    Some(guard) => guard.guard_body(body),
                    None => body,
                }
            });
        }
        match guard {
            Some(guard) => answer.map(|body| guard.guard_body(Body::new(body))),
            None => answer.map(Body::new),
        }
    }
}

/// Returns the request, and within a session the id of its tool call. Returns an error response for a duplicate
/// key.
async fn reject_duplicate_keys(
    request: Request,
    in_session: bool,
) -> Result<(Request, Option<Value>), Response> {
    if request.method() != Method::POST {
        return Ok((request, None));
    }
    let (head, body) = request.into_parts();
    let body = read_body(body, BODY_LIMIT).await.map_err(|error| error_response(&error))?;
    let Some(key) = find_duplicate_key(&body) else {
        let call = if in_session { call_id(&body) } else { None };
        return Ok((Request::from_parts(head, Body::from(body)), call));
    };
    tracing::warn!(key, "a message was rejected: it contains a duplicate key");
    let message = format!("the key `{key}` is duplicated in one object of the message; send it once");
    let error = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": message } });
    let json = [(CONTENT_TYPE, "application/json")];
    Err((StatusCode::BAD_REQUEST, json, error.to_string()).into_response())
}

/// Returns the id of a request that calls a tool.
fn call_id(body: &[u8]) -> Option<Value> {
    let head: MessageHead = serde_json::from_slice(body).ok()?;
    head.id.filter(|_| head.method.as_deref() == Some("tools/call"))
}

/// Returns the session id in the headers of a request or a response.
fn session_of(headers: &HeaderMap) -> Option<&str> {
    headers.get("mcp-session-id").and_then(|session| session.to_str().ok())
}

fn no_such_session() -> ApiError {
    ApiError::not_found(
        "session_not_found",
        "There is no such session; open one with `initialize`.".to_owned(),
    )
}

fn body_too_large() -> ApiError {
    ApiError {
        status: 413,
        kind: ErrorType::InvalidRequest,
        code: "body_too_large",
        message: format!("The body is too large: at most {BODY_LIMIT} bytes are taken."),
        param: None,
        retry_after: None,
    }
}

fn too_many_sessions() -> ApiError {
    ApiError {
        status: 503,
        kind: ErrorType::Server,
        code: "too_many_sessions",
        message: format!("{MAX_SESSIONS} sessions are open and in use; end some of them."),
        param: None,
        retry_after: None,
    }
}

/// First stateless protocol version; versions are dates and sort as such.
const STATELESS_SINCE: &[u8] = b"2026-07-28";

/// Returns true if the request can open a session: stateless requests stand alone, and others name their session.
fn may_open_session(request: &Request) -> bool {
    let headers = request.headers();
    let stands_alone =
        headers.get("mcp-protocol-version").is_some_and(|version| version.as_bytes() >= STATELESS_SINCE);
    !stands_alone && !headers.contains_key("mcp-session-id")
}
