//! What a connection hears, with every wait and everything that waits bounded.
//!
//! Only whole messages can be seen here. A frame that drips in leaves pings unanswered, since nothing may stand
//! inside of a frame, and a message that drips in as many frames is cut by the time without a message. A client
//! that takes nothing of what it is sent is the edge's business.

use std::collections::VecDeque;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use bytes::Bytes;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout, timeout_at};

use crate::edge::BODY_LIMIT;

/// For a last word to be taken.
const GOODBYE: Duration = Duration::from_secs(5);

/// How much and how long, for one connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// Requests that may wait while one is answered, and their bytes together.
    pub(super) waiting: usize,
    pub(super) waiting_bytes: usize,
    /// Between two pings. A client that has answered neither of two is gone when the third is due.
    pub(super) ping: Duration,
    /// With neither a message nor an answer.
    pub(super) idle: Duration,
}

impl Patience {
    pub(super) const USUAL: Patience = Patience {
        waiting: 16,
        waiting_bytes: BODY_LIMIT,
        ping: Duration::from_secs(30),
        idle: Duration::from_secs(600),
    };
}

/// Pings that may go unanswered.
const UNANSWERED: u8 = 2;

pub(super) struct Ears {
    socket: WebSocket,
    patience: Patience,
    waiting: VecDeque<String>,
    waiting_bytes: usize,
    pings: Interval,
    /// Pings since the client was last heard.
    unanswered: u8,
    /// When the last message came or the last answer ended.
    quiet_since: Instant,
}

pub(super) enum Heard {
    Text(String),
    Binary,
}

/// The connection is over: without a word if the client is gone, else with the reason.
pub(super) struct Over(Option<CloseFrame>);

impl Over {
    pub(super) const GONE: Over = Over(None);

    pub(super) fn because(code: u16, reason: &str) -> Over {
        Over(Some(CloseFrame { code, reason: reason.into() }))
    }
}

impl Ears {
    pub(super) fn new(socket: WebSocket, patience: Patience) -> Ears {
        let now = Instant::now();
        let mut pings = interval_at(now + patience.ping, patience.ping);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ears {
            socket,
            patience,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            pings,
            unanswered: 0,
            quiet_since: now,
        }
    }

    /// The next message that came in while another was answered.
    pub(super) fn take_waiting(&mut self) -> Option<String> {
        let text = self.waiting.pop_front()?;
        self.waiting_bytes -= text.len();
        Some(text)
    }

    /// An answer has ended: from here on, silence is idleness.
    pub(super) fn rest(&mut self) {
        self.quiet_since = Instant::now();
    }

    /// The next message, for as long as it is worth waiting for one.
    pub(super) async fn hear(&mut self) -> Result<Heard, Over> {
        let deadline = self.quiet_since + self.patience.idle;
        let heard = timeout_at(deadline, self.listen()).await.unwrap_or_else(|_elapsed| {
            Err(Over::because(close_code::AWAY, "no request came for too long; connect again"))
        })?;
        self.rest();
        Ok(heard)
    }

    /// Does some work and hears what comes in meanwhile. A client that leaves ends the work: it is dropped.
    pub(super) async fn hear_during<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Over> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                // Whoever has left already is noticed before anything is begun.
                biased;
                kept = self.keep_next() => kept?,
                done = &mut work => return Ok(done),
            }
        }
    }

    /// Hears one message and keeps it for later. It can be dropped and called again.
    pub(super) async fn keep_next(&mut self) -> Result<(), Over> {
        let Heard::Text(text) = self.listen().await? else {
            return Err(Over::because(close_code::UNSUPPORTED, "messages are JSON texts"));
        };
        let Patience { waiting, waiting_bytes, .. } = self.patience;
        if self.waiting.len() == waiting || text.len() > waiting_bytes - self.waiting_bytes {
            return Err(Over::because(
                close_code::POLICY,
                "more requests are waiting than are kept; wait for answers, or open more connections",
            ));
        }
        self.waiting_bytes += text.len();
        self.waiting.push_back(text);
        Ok(())
    }

    async fn listen(&mut self) -> Result<Heard, Over> {
        loop {
            let message = tokio::select! {
                // What has come in answers the pings that were sent before.
                biased;
                message = self.socket.recv() => message,
                _ = self.pings.tick() => {
                    self.ping().await?;
                    continue;
                }
            };
            self.unanswered = 0;
            match message {
                Some(Ok(Message::Text(text))) => return Ok(Heard::Text(text.as_str().to_owned())),
                Some(Ok(Message::Binary(_))) => return Ok(Heard::Binary),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(Over::GONE),
            }
        }
    }

    async fn ping(&mut self) -> Result<(), Over> {
        if self.unanswered == UNANSWERED {
            let reason = "two pings were not answered, or a message takes too long; connect again";
            return Err(Over::because(close_code::POLICY, reason));
        }
        self.unanswered += 1;
        self.socket.send(Message::Ping(Bytes::new())).await.map_err(|_gone| Over::GONE)
    }

    /// Sends each line as a message.
    pub(super) async fn send(&mut self, lines: &Bytes) -> Result<(), Over> {
        let text = std::str::from_utf8(lines).map_err(|_impossible| Over::GONE)?;
        for line in text.lines().filter(|line| !line.is_empty()) {
            self.socket.send(Message::text(line)).await.map_err(|_gone| Over::GONE)?;
        }
        Ok(())
    }

    pub(super) async fn say_goodbye(mut self, over: Over) {
        if let Over(Some(frame)) = over {
            // Whoever is gone needs no goodbye.
            let _unheard = timeout(GOODBYE, self.socket.send(Message::Close(Some(frame)))).await;
        }
    }
}
