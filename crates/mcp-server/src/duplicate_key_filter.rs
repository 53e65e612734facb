//! Input filter that removes messages with duplicate keys.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rmcp::transport::async_rw::DEFAULT_MAX_LINE_LENGTH;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, ReadBuf};

use super::duplicate_keys::find_duplicate_key;

/// Method of the request that replaces a rejected one.
pub(super) const REFUSED: &str = "tollgate/doubledKey";
/// Read buffer size.
const CHUNK: usize = 16 * 1024;

/// The fields of a JSON-RPC message that identify it.
#[derive(Deserialize)]
pub(super) struct MessageHead {
    pub(super) id: Option<Value>,
    pub(super) method: Option<String>,
}

/// Passes complete lines on. A message with a duplicate key is replaced by one that causes an error: a request is
/// answered with an error, and an answer becomes an error answer.
pub(super) struct DuplicateKeyFilter<R> {
    input: R,
    /// Bytes of an incomplete line.
    partial: Vec<u8>,
    /// Lines to pass on, starting at `passed`.
    ready: Vec<u8>,
    passed: usize,
    /// The line exceeds the limit of rmcp, which discards it, so it is passed on unchanged.
    is_oversized: bool,
}

impl<R> DuplicateKeyFilter<R> {
    pub(super) fn new(input: R) -> DuplicateKeyFilter<R> {
        DuplicateKeyFilter { input, partial: Vec::new(), ready: Vec::new(), passed: 0, is_oversized: false }
    }

    fn take(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_end = piece.ends_with(b"\n");
            if self.is_oversized {
                self.ready.extend_from_slice(piece);
                self.is_oversized = !is_end;
                continue;
            }
            self.partial.extend_from_slice(piece);
            if is_end {
                let line = std::mem::take(&mut self.partial);
                match find_duplicate_key(&line) {
                    None => self.ready.extend_from_slice(&line),
                    Some(key) => self.ready.extend_from_slice(&replacement_message(&line, &key)),
                }
            } else if self.partial.len() > DEFAULT_MAX_LINE_LENGTH {
                self.is_oversized = true;
                self.ready.append(&mut self.partial);
            }
        }
    }
}

/// Returns the replacement for a message; empty if no answer is expected.
fn replacement_message(line: &[u8], key: &str) -> Vec<u8> {
    tracing::warn!(key, "a message was rejected: it contains a duplicate key");
    // Fails if the id or the method itself is duplicated; then no replacement is possible.
    let Ok(MessageHead { id: Some(id @ (Value::String(_) | Value::Number(_))), method }) =
        serde_json::from_slice(line)
    else {
        return Vec::new();
    };
    let message = match method {
        Some(_) => json!({ "jsonrpc": "2.0", "id": id, "method": REFUSED, "params": { "key": key } }),
        None => json!({
            "jsonrpc": "2.0", "id": id,
            "error": { "code": -32700, "message": format!("the key `{key}` is duplicated in the answer") },
        }),
    };
    format!("{message}\n").into_bytes()
}

impl<R: AsyncRead + Unpin> AsyncRead for DuplicateKeyFilter<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.passed == self.ready.len() {
            self.ready.clear();
            self.passed = 0;
            let mut bytes = [0; CHUNK];
            let mut chunk = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.input).poll_read(cx, &mut chunk))?;
            if chunk.filled().is_empty() {
                // End of input. An incomplete line is not a message.
                return Poll::Ready(Ok(()));
            }
            self.take(chunk.filled());
        }
        let count = buffer.remaining().min(self.ready.len() - self.passed);
        let (from, to) = (self.passed, self.passed + count);
        buffer.put_slice(&self.ready[from..to]);
        self.passed = to;
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::{DEFAULT_MAX_LINE_LENGTH, DuplicateKeyFilter};

    async fn passed(input: &[u8]) -> String {
        let mut text = String::new();
        DuplicateKeyFilter::new(input).read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn only_messages_that_can_be_read_in_one_way_are_passed_on() {
        let fine = "{\"id\":1,\"method\":\"ping\"}\nnot json\n\n";
        assert_eq!(passed(fine.as_bytes()).await, fine);
        let answer = r#"{"id":7,"result":{"action":"accept","content":{"decision":"no","decision":"once"}}}"#;
        let output = passed(format!("{answer}\n").as_bytes()).await;
        assert!(
            output.contains("\"id\":7") && output.contains("-32700") && !output.contains("once"),
            "{output}"
        );
        let request =
            passed(b"{\"id\":\"x\",\"method\":\"tools/call\",\"params\":{\"a\":1,\"a\":2}}\n").await;
        assert!(request.contains("\"id\":\"x\"") && request.contains(super::REFUSED), "{request}");
        assert_eq!(passed(b"{\"method\":\"n\",\"params\":{\"a\":1,\"a\":2}}\n").await, "");
        assert_eq!(passed(b"{\"id\":1,\"id\":2,\"result\":{}}\n").await, "");
        assert_eq!(passed(b"{\"id\":1}").await, "", "a line without an end is no message");
    }

    #[tokio::test]
    async fn a_line_that_nobody_takes_is_passed_on_as_it_is() {
        let long =
            format!("{}\n{{\"a\":1,\"a\":2}}\n{{\"b\":1}}\n", "x".repeat(DEFAULT_MAX_LINE_LENGTH + CHUNKS));
        let output = passed(long.as_bytes()).await;
        assert!(output.ends_with("x\n{\"b\":1}\n"), "{}", &output[output.len() - 40..]);
    }

    const CHUNKS: usize = 2 * super::CHUNK;
}
