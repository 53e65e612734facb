//! The wire to a server that runs elsewhere: streamable HTTP over the client that the workspace has.

mod client;
mod events;

use std::sync::Arc;

use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

pub use client::HttpClient;
pub(crate) use client::{is_too_long, words};

/// How often a stream that broke off is asked for again.
const RESUMED: usize = 5;

/// A connection to the server at `url`. No message of it may be longer than `longest` bytes.
pub fn transport(
    url: &str,
    token: Option<&str>,
    longest: usize,
) -> Result<StreamableHttpClientTransport<HttpClient>, String> {
    let client = HttpClient::new(longest)?;
    let mut retries = ExponentialBackoff::default();
    retries.max_times = Some(RESUMED);
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).max_sse_event_size(longest);
    config.retry_config = Arc::new(retries);
    if let Some(token) = token {
        config = config.auth_header(token);
    }
    Ok(StreamableHttpClientTransport::with_client(client, config))
}
