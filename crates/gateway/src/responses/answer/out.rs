//! Where the bytes of an answer go, one write at a time.
//!
//! An answer and whoever sends it on are polled by the same task. The channel between them holds one write, so an
//! answer never runs ahead of its reader.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::mpsc;

/// The answer's end.
pub struct Out(Option<mpsc::Sender<Bytes>>);

/// The reader's end.
pub struct Outlet(mpsc::Receiver<Bytes>);

/// Nobody reads any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gone;

pub fn outlet() -> (Out, Outlet) {
    let (sender, receiver) = mpsc::channel(1);
    (Out(Some(sender)), Outlet(receiver))
}

impl Out {
    /// For an answer that is sent as one object.
    pub fn nobody() -> Out {
        Out(None)
    }

    pub(super) async fn send(&self, bytes: Bytes) -> Result<(), Gone> {
        match &self.0 {
            Some(sender) if !bytes.is_empty() => sender.send(bytes).await.map_err(|_closed| Gone),
            Some(_) | None => Ok(()),
        }
    }
}

impl Outlet {
    pub async fn next(&mut self) -> Option<Bytes> {
        self.0.recv().await
    }

    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        Pin::new(&mut self.0).poll_recv(cx)
    }
}
