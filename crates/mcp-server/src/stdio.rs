//! Serves one client over a pair of streams, from its first line to the end of its input.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use toolkit::{CancelCause, CancelToken};

use super::duplicate_key_filter::DuplicateKeyFilter;
use super::server::McpHandler;

/// Serves one client until it closes its side or `stop` completes. Fails only if the connection cannot continue.
pub async fn serve_stdio(
    handler: McpHandler,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), String> {
    let input = DuplicateKeyFilter::new(EofNotifier { input, gone: handler.gone_signal().clone() });
    let opening = handler.serve((input, output));
    let mut stop = std::pin::pin!(stop);
    let running = tokio::select! {
        opened = opening => match opened {
            Ok(running) => running,
            // The client disconnected before its first message.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(format!("the client violates the MCP protocol: {error}")),
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

/// Input stream that reports its end immediately. Calls in progress still get some time to be answered, but no
/// client is left to answer a question or to listen, so waiting for that would only delay the end.
struct EofNotifier<R> {
    input: R,
    gone: CancelToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for EofNotifier<R> {
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
