//! The face over a pair of pipes: one client, from its first line to the end of its input.

use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite};

use super::face::McpHandler;

/// Serves one client until it closes its side or `stop` comes. Fails only where nobody can be served any more.
pub async fn serve_stdio(
    handler: McpHandler,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), String> {
    let opening = handler.serve((input, output));
    let mut stop = std::pin::pin!(stop);
    let running = tokio::select! {
        opened = opening => match opened {
            Ok(running) => running,
            // A client that goes away before it has said anything was only looking.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(format!("the client does not speak MCP as it should: {error}")),
        },
        () = &mut stop => return Ok(()),
    };
    let ended = running.cancellation_token();
    let mut waiting = std::pin::pin!(running.waiting());
    let quit = tokio::select! {
        quit = &mut waiting => quit,
        () = &mut stop => {
            ended.cancel();
            waiting.await
        }
    };
    match quit {
        Ok(QuitReason::Closed | QuitReason::Cancelled) => Ok(()),
        Ok(other) => Err(format!("the connection ended badly: {other:?}")),
        Err(error) => Err(format!("the connection crashed: {error}")),
    }
}
