//! The face over HTTP, behind the edge: it has checked host, origin and token before anything comes here.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::face::{Lasting, McpFace, McpHandler};
use crate::edge::BODY_LIMIT;

/// A session of the older era that nobody uses. Longer than any question may wait, since a session counts as unused
/// while its client's person thinks.
const SPARE: Duration = Duration::from_secs(300);

/// Serves a face under `/mcp`.
pub fn mount(router: Router, face: &Arc<McpFace>) -> Router {
    mount_within(router, face, |handler| handler)
}

/// Serves a face under `/mcp` within another server, which has more to offer and leaves the rest to it.
pub fn mount_within<S: ServerHandler>(
    router: Router,
    face: &Arc<McpFace>,
    within: impl Fn(McpHandler) -> S + Send + Sync + 'static,
) -> Router {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(face.parts.settings.answer_limit + SPARE);
    // The edge stands in front of every face and knows the names that this server goes by; rmcp would only know
    // the usual ones.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(BODY_LIMIT);
    let face = face.clone();
    let make = move || Ok(within(face.handler(Lasting::Http)));
    router.route_service("/mcp", StreamableHttpService::new(make, Arc::new(sessions), config))
}
