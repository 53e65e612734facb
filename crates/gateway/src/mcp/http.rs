//! The face over HTTP, behind the edge: it has checked host, origin and token before anything comes here.

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
use serde::Deserialize;
use serde_json::{Value, json};

use super::doubled_keys::doubled_key;
use super::face::{Lasting, McpFace, McpHandler};
use super::presence::{Connected, Presence};
use super::until_stop::UntilStop;
use crate::api_error::{ApiError, ErrorType};
use crate::edge::{BODY_LIMIT, Faces, error_response, read_body};

/// A session of the older era that nobody uses. Longer than any question may wait, since a session counts as unused
/// while its client's person thinks.
const SPARE: Duration = Duration::from_secs(300);
/// Sessions of the older era that may be open at once. Each keeps a server of its own, whether or not anybody uses it.
const MOST_SESSIONS: usize = 256;

/// Serves a face under `/mcp`.
pub fn mount(faces: impl Into<Faces>, face: &Arc<McpFace>) -> Faces {
    mount_within(faces, face, |handler| handler)
}

/// Serves a face under `/mcp` within another server, which has more to offer and leaves the rest to it.
pub fn mount_within<S: ServerHandler>(
    faces: impl Into<Faces>,
    face: &Arc<McpFace>,
    within: impl Fn(McpHandler) -> S + Send + Sync + 'static,
) -> Faces {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(face.parts.settings.answer_limit + SPARE);
    // The edge stands in front of every face and knows the names that this server goes by; rmcp would only know
    // the usual ones.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        // In the newer era an answer that comes alone is one object, written at once. With progress before it, it is a
        // stream.
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_LIMIT);
    let (served_face, face) = (face.clone(), face.clone());
    let make = move || Ok(within(face.handler(Lasting::Http)));
    let sessions = Arc::new(sessions);
    let served = StreamableHttpService::new(make, sessions.clone(), config);
    let presence = Arc::new(Presence::new(sessions));
    let door = Arc::new(Door { served, presence, face: served_face });
    let routed = door.clone();
    let routes = Router::new().route("/mcp", any(move |request| routed.clone().answer(request)));
    faces
        .into()
        .merge(routes)
        .straight(Method::POST, "/mcp", move |request, _arrival| Box::pin(door.clone().answer(request)))
}

/// What stands between the edge and rmcp. One function instead of a layer for each of its concerns: every layer would
/// box and copy each request and its answer once more.
struct Door<S> {
    served: StreamableHttpService<S, LocalSessionManager>,
    presence: Arc<Presence>,
    face: Arc<McpFace>,
}

impl<S: ServerHandler> Door<S> {
    async fn answer(self: Arc<Self>, request: Request) -> Response {
        // A body that says it is too long is not waited for. One that does not say so is cut off at the limit.
        if request.body().size_hint().lower() > BODY_LIMIT as u64 {
            return error_response(&too_long());
        }
        let session = session_of(request.headers()).map(str::to_owned);
        let client = request.extensions().get::<ClientId>().cloned();
        if session.as_ref().is_some_and(|session| self.presence.is_of_another(session, client.as_ref())) {
            // As if there were none: whose session it is, is nobody else's business.
            return error_response(&no_such_session());
        }
        // A client that opens session after session gets no more of them; those that are open go on.
        if may_open_session(&request) && self.presence.sessions.sessions.read().await.len() >= MOST_SESSIONS {
            return error_response(&too_many());
        }
        let method = request.method().clone();
        let (request, call) = match unambiguous(request, session.is_some()).await {
            Ok(request) => request,
            Err(refused) => return refused,
        };
        let connected =
            session.as_deref().map(|session| Connected::new(&self.presence, &self.face, session, call));
        let answer = self.served.handle(request).await;
        if connected.is_none()
            && let (Some(session), Some(client)) = (session_of(answer.headers()), client)
        {
            self.presence.opened(session.to_owned(), client).await;
        }
        if method == Method::DELETE && answer.status() == StatusCode::ACCEPTED {
            // A session that its client ends is over. Some clients take the promise that it will be for a failure.
            return StatusCode::NO_CONTENT.into_response();
        }
        if method == Method::GET {
            // What is asked for with GET is a stream of news, which has no end of its own.
            let stopping = self.face.runs.stopping();
            return answer.map(|body| {
                let body = Body::new(UntilStop::new(Body::new(body), stopping));
                match connected {
                    Some(connected) => connected.around(body),
                    None => body,
                }
            });
        }
        match connected {
            Some(connected) => answer.map(|body| connected.around(Body::new(body))),
            None => answer.map(Body::new),
        }
    }
}

/// The same request, unless a key stands twice in its message; in a session with the id of the call that it makes.
async fn unambiguous(request: Request, in_session: bool) -> Result<(Request, Option<Value>), Response> {
    if request.method() != Method::POST {
        return Ok((request, None));
    }
    let (head, body) = request.into_parts();
    let body = read_body(body, BODY_LIMIT).await.map_err(|error| error_response(&error))?;
    let Some(key) = doubled_key(&body) else {
        let call = if in_session { call_id(&body) } else { None };
        return Ok((Request::from_parts(head, Body::from(body)), call));
    };
    tracing::warn!(key, "a message was refused: a key stands twice in it");
    let message = format!("the key `{key}` stands twice in one object of the message; send it once");
    let error = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": message } });
    let json = [(CONTENT_TYPE, "application/json")];
    Err((StatusCode::BAD_REQUEST, json, error.to_string()).into_response())
}

/// The id of a request that calls a tool.
fn call_id(body: &[u8]) -> Option<Value> {
    #[derive(Deserialize)]
    struct Head {
        id: Option<Value>,
        method: Option<String>,
    }
    let head: Head = serde_json::from_slice(body).ok()?;
    head.id.filter(|_| head.method.as_deref() == Some("tools/call"))
}

/// The session that a request is in, or that an answer opens.
fn session_of(headers: &HeaderMap) -> Option<&str> {
    headers.get("mcp-session-id").and_then(|session| session.to_str().ok())
}

fn no_such_session() -> ApiError {
    ApiError::not_found(
        "session_not_found",
        "There is no such session; open one with `initialize`.".to_owned(),
    )
}

fn too_long() -> ApiError {
    ApiError {
        status: 413,
        kind: ErrorType::InvalidRequest,
        code: "body_too_large",
        message: format!("The body is too large: at most {BODY_LIMIT} bytes are taken."),
        param: None,
    }
}

fn too_many() -> ApiError {
    ApiError {
        status: 503,
        kind: ErrorType::Server,
        code: "too_many_sessions",
        message: format!("{MOST_SESSIONS} sessions are open; end some of them, or wait until they expire."),
        param: None,
    }
}

/// The version with which the newer era begins; versions are dates, so that a later one sorts behind it.
const NEWER: &[u8] = b"2026-07-28";

/// Requests of the newer era stand alone, and those of a session name it.
fn may_open_session(request: &Request) -> bool {
    let headers = request.headers();
    let stands_alone = headers.get("mcp-protocol-version").is_some_and(|version| version.as_bytes() >= NEWER);
    !stands_alone && !headers.contains_key("mcp-session-id")
}
