//! Stdio transport for a server process: one message per line, each line bounded while it is read.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::Mutex;

/// Largest number of unsent messages. A server that sends more requests without reading the answers is
/// disconnected.
const MAX_WAITING: usize = 256;

/// Reason why the client closed the connection.
#[derive(Debug, Default)]
pub(crate) struct DisconnectCause {
    pub(crate) oversized: AtomicBool,
    pub(crate) flooded: AtomicBool,
}

/// A transport over two pipes.
pub(crate) struct StdioTransport {
    input: BufReader<Receiver>,
    line: Vec<u8>,
    longest: usize,
    output: Arc<Mutex<Option<Sender>>>,
    waiting: Arc<AtomicUsize>,
    cut: Arc<DisconnectCause>,
}

impl StdioTransport {
    /// Creates a transport. A line longer than `longest` bytes closes the connection.
    pub(crate) fn new(
        stdin: OwnedFd,
        stdout: OwnedFd,
        longest: usize,
        cut: Arc<DisconnectCause>,
    ) -> std::io::Result<StdioTransport> {
        Ok(StdioTransport {
            input: BufReader::with_capacity(64 * 1024, Receiver::from_owned_fd(stdout)?),
            line: Vec::new(),
            longest,
            output: Arc::new(Mutex::new(Some(Sender::from_owned_fd(stdin)?))),
            waiting: Arc::default(),
            cut,
        })
    }

    /// Reads until `self.line` holds a complete line; returns false at the end of input. Cancel-safe: a partial
    /// line stays in `self.line`, and the next call continues it.
    async fn read_line(&mut self) -> bool {
        loop {
            let (taken, whole) = {
                let Ok(ahead) = self.input.fill_buf().await else { return false };
                if ahead.is_empty() {
                    return false;
                }
                let end = ahead.iter().position(|byte| *byte == b'\n');
                let taken = end.map_or(ahead.len(), |end| end + 1);
                if self.line.len() + taken > self.longest {
                    self.cut.oversized.store(true, Ordering::Relaxed);
                    return false;
                }
                self.line.extend_from_slice(&ahead[..taken]);
                (taken, end.is_some())
            };
            self.input.consume(taken);
            if whole {
                return true;
            }
        }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), std::io::Error>> + Send + 'static {
        let (output, waiting) = (Arc::clone(&self.output), Arc::clone(&self.waiting));
        waiting.fetch_add(1, Ordering::Relaxed);
        async move {
            let sent = write(&output, &message).await;
            waiting.fetch_sub(1, Ordering::Relaxed);
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if self.waiting.load(Ordering::Relaxed) > MAX_WAITING {
                self.cut.flooded.store(true, Ordering::Relaxed);
                return None;
            }
            if !self.read_line().await {
                return None;
            }
            let message = serde_json::from_slice(&self.line);
            self.line.clear();
            // Other lines are skipped: many programs print a greeting to standard output.
            if let Ok(message) = message {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), std::io::Error> {
        self.output.lock().await.take();
        Ok(())
    }
}

async fn write(
    output: &Mutex<Option<Sender>>,
    message: &TxJsonRpcMessage<RoleClient>,
) -> Result<(), std::io::Error> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    // Held while a line is written, so that two lines cannot mix.
    let mut output = output.lock().await;
    match output.as_mut() {
        Some(output) => output.write_all(&line).await,
        None => Err(std::io::ErrorKind::NotConnected.into()),
    }
}
