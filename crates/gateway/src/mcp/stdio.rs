//! The face over a pair of pipes: one client, from its first line to the end of its input.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use toolkit::{CancelCause, CancelToken};

use super::face::McpHandler;
use super::strict_lines::StrictLines;

/// Serves one client until it closes its side or `stop` comes. Fails only where nobody can be served any more.
pub async fn serve_stdio(
    handler: McpHandler,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), String> {
    let input = StrictLines::new(Noticed { input, gone: handler.gone().clone() });
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

/// Input whose end is noticed at once. What still runs gets a while to be answered; but nobody is there any more to
/// answer a question or to listen, and waiting for that would only make the end late.
struct Noticed<R> {
    input: R,
    gone: CancelToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for Noticed<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (before, had_room) = (buffer.filled().len(), buffer.remaining() > 0);
        let polled = Pin::new(&mut self.input).poll_read(cx, buffer);
        let ended = match &polled {
            Poll::Ready(Ok(())) => had_room && buffer.filled().len() == before,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if ended {
            self.gone.cancel(CancelCause::Run);
        }
        polled
    }
}
