//! HTTP transport for a remote server: streamable HTTP on the workspace's HTTP client.

mod client;
mod events;

use std::sync::Arc;

use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

pub use client::HttpClient;
pub(crate) use client::{error_text, is_too_long};

/// Number of retries after an event stream breaks off.
const MAX_STREAM_RETRIES: usize = 5;

/// Returns a transport to the server at `url`. A message longer than `longest` bytes is an error.
pub fn transport(
    url: &str,
    token: Option<&str>,
    longest: usize,
) -> Result<StreamableHttpClientTransport<HttpClient>, String> {
    let client = HttpClient::new(longest)?;
    let mut retries = ExponentialBackoff::default();
    retries.max_times = Some(MAX_STREAM_RETRIES);
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).max_sse_event_size(longest);
    config.retry_config = Arc::new(retries);
    if let Some(token) = token {
        config = config.auth_header(token);
    }
    Ok(StreamableHttpClientTransport::with_client(client, config))
}
