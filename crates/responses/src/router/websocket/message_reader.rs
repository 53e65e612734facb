//! Reads the messages of a connection, with limits for every wait and every queue.
//!
//! Only complete messages arrive here. A frame that drips in leaves pings unanswered, since a pong cannot interrupt a frame,
//! and a message that drips in as many frames reaches the idle timeout. The HTTP edge disconnects a client that does not
//! read.

use std::collections::VecDeque;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use bytes::Bytes;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout, timeout_at};

use http_edge::BODY_LIMIT;

/// Timeout for sending the close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Limits of one connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessageLimits {
    /// The most requests that wait while one is answered, and their bytes together.
    pub(super) waiting: usize,
    pub(super) waiting_bytes: usize,
    /// The time between two pings. A client that has answered neither of two is disconnected when the third is due.
    pub(super) ping: Duration,
    /// The idle timeout, without a message or an answer.
    pub(super) idle: Duration,
}

impl MessageLimits {
    pub(super) const DEFAULT: MessageLimits = MessageLimits {
        waiting: 16,
        waiting_bytes: BODY_LIMIT,
        ping: Duration::from_secs(30),
        idle: Duration::from_secs(600),
    };
}

/// The most unanswered pings.
const UNANSWERED_PINGS: u8 = 2;

pub(super) struct MessageReader {
    socket: WebSocket,
    limits: MessageLimits,
    waiting: VecDeque<String>,
    waiting_bytes: usize,
    pings: Interval,
    /// Pings since the last message of the client.
    unanswered: u8,
    /// When the last message came or the last answer ended.
    idle_since: Instant,
}

pub(super) enum ClientMessage {
    Text(String),
    Binary,
}

/// The connection is closed: with a close frame unless the client is gone.
pub(super) struct ConnectionClosed(Option<CloseFrame>);

impl ConnectionClosed {
    pub(super) const GONE: ConnectionClosed = ConnectionClosed(None);

    pub(super) fn because(code: u16, reason: &str) -> ConnectionClosed {
        ConnectionClosed(Some(CloseFrame { code, reason: reason.into() }))
    }
}

impl MessageReader {
    pub(super) fn new(socket: WebSocket, limits: MessageLimits) -> MessageReader {
        let now = Instant::now();
        let mut pings = interval_at(now + limits.ping, limits.ping);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        MessageReader {
            socket,
            limits,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            pings,
            unanswered: 0,
            idle_since: now,
        }
    }

    /// Returns the next message that arrived while another was answered.
    pub(super) fn take_waiting(&mut self) -> Option<String> {
        let text = self.waiting.pop_front()?;
        self.waiting_bytes -= text.len();
        Some(text)
    }

    /// Restarts the idle timeout after an answer.
    pub(super) fn restart_idle_timer(&mut self) {
        self.idle_since = Instant::now();
    }

    /// Waits for the next message. Fails after the idle timeout.
    pub(super) async fn next(&mut self) -> Result<ClientMessage, ConnectionClosed> {
        let deadline = self.idle_since + self.limits.idle;
        let message = timeout_at(deadline, self.receive()).await.unwrap_or_else(|_elapsed| {
            Err(ConnectionClosed::because(close_code::AWAY, "no request came for too long; connect again"))
        })?;
        self.restart_idle_timer();
        Ok(message)
    }

    /// Does some work and queues messages meanwhile. The work is dropped if the client disconnects.
    pub(super) async fn read_during<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, ConnectionClosed> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                // A client that has disconnected already is noticed before any work starts.
                biased;
                queued = self.queue_next() => queued?,
                done = &mut work => return Ok(done),
            }
        }
    }

    /// Reads one message and queues it. Cancel-safe.
    pub(super) async fn queue_next(&mut self) -> Result<(), ConnectionClosed> {
        let ClientMessage::Text(text) = self.receive().await? else {
            return Err(ConnectionClosed::because(close_code::UNSUPPORTED, "messages are JSON texts"));
        };
        let MessageLimits { waiting, waiting_bytes, .. } = self.limits;
        if self.waiting.len() == waiting || text.len() > waiting_bytes - self.waiting_bytes {
            return Err(ConnectionClosed::because(
                close_code::POLICY,
                "more requests are waiting than are kept; wait for answers, or open more connections",
            ));
        }
        self.waiting_bytes += text.len();
        self.waiting.push_back(text);
        Ok(())
    }

    async fn receive(&mut self) -> Result<ClientMessage, ConnectionClosed> {
        loop {
            let message = tokio::select! {
                // Any message answers the pings sent before it.
                biased;
                message = self.socket.recv() => message,
                _ = self.pings.tick() => {
                    self.ping().await?;
                    continue;
                }
            };
            self.unanswered = 0;
            match message {
                Some(Ok(Message::Text(text))) => return Ok(ClientMessage::Text(text.as_str().to_owned())),
                Some(Ok(Message::Binary(_))) => return Ok(ClientMessage::Binary),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(ConnectionClosed::GONE),
            }
        }
    }

    async fn ping(&mut self) -> Result<(), ConnectionClosed> {
        if self.unanswered == UNANSWERED_PINGS {
            let reason = "two pings were not answered, or a message takes too long; connect again";
            return Err(ConnectionClosed::because(close_code::POLICY, reason));
        }
        self.unanswered += 1;
        self.socket.send(Message::Ping(Bytes::new())).await.map_err(|_gone| ConnectionClosed::GONE)
    }

    /// Sends each line as a message.
    pub(super) async fn send(&mut self, lines: &Bytes) -> Result<(), ConnectionClosed> {
        let text = std::str::from_utf8(lines).map_err(|_impossible| ConnectionClosed::GONE)?;
        for line in text.lines().filter(|line| !line.is_empty()) {
            self.socket.send(Message::text(line)).await.map_err(|_gone| ConnectionClosed::GONE)?;
        }
        Ok(())
    }

    /// Sends the close frame, if there is one.
    pub(super) async fn close(mut self, closed: ConnectionClosed) {
        if let ConnectionClosed(Some(frame)) = closed {
            let _best_effort = timeout(CLOSE_TIMEOUT, self.socket.send(Message::Close(Some(frame)))).await;
        }
    }
}
