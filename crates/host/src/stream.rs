//! Hosts over a stream of bytes: one JSON message a line.
//!
//! For front ends that serve hosts; the binary has no caller of it. Pass the one registry of the server, which
//! `app::live_settings::ReloadableVault::hosts` returns. A transport of messages does the same with a [`RemoteHost`].

use std::sync::Arc;
use std::time::Duration;

use envelope::Failure;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;

use crate::protocol::{HostError, HostHello, HostMessage, PROTOCOL_VERSION, ServerMessage};
use crate::registry::{HostAttachment, HostRegistry};
use crate::remote::{OUTGOING_MESSAGES, RemoteHost};

/// Longest line of a host. A note is text of a few megabytes at most.
const MAX_LINE_BYTES: usize = 64 << 20;

/// Attaches the host at the other end of a stream and carries messages until it leaves.
///
/// Returns when either side has detached or the stream ends. Fails if the host is refused or breaks the
/// protocol, after telling the host why, and if it does not read a message within the deadline of a request.
pub async fn serve_stream(
    hosts: &HostRegistry,
    reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) -> Result<(), HostError> {
    let mut reader = BufReader::new(reader);
    let (sender, mut outgoing) = mpsc::channel(OUTGOING_MESSAGES);
    let (host, limit) = (RemoteHost::new(sender), hosts.deadline());
    let attached = match tokio::time::timeout(limit, read_hello(&mut reader)).await {
        Ok(Ok(hello)) => hosts.attach(hello, host.clone()),
        Ok(Err(error)) => Err(error),
        Err(_late) => Err(HostError::new(Failure::Timeout, "the host did not say hello in time")),
    };
    let attachment = match attached {
        Ok(attachment) => attachment,
        Err(error) => {
            write_message(&mut writer, &ServerMessage::Refused { error: error.clone() }, limit).await?;
            return Err(error);
        }
    };
    let deadline_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    let welcome = ServerMessage::Welcome { version: PROTOCOL_VERSION, deadline_ms };
    write_message(&mut writer, &welcome, limit).await?;
    let mut writing = std::pin::pin!(write_messages(&mut writer, &mut outgoing, limit));
    let read = tokio::select! {
        read = read_messages(&mut reader, &host, &attachment) => read,
        () = attachment.wait_until_detached() => Ok(StreamEnd::Detached),
        written = &mut writing => return written,
    };
    if let Err(error) = &read {
        attachment.detach(&error.message);
    }
    // Other calls do not wait for the detach message.
    drop(attachment);
    match read {
        Ok(StreamEnd::HostLeft) => Ok(()),
        Ok(StreamEnd::Detached) => {
            tokio::time::timeout(limit, writing).await.unwrap_or_else(|_| Err(not_reading()))
        }
        Err(error) => {
            let _detach_sent = tokio::time::timeout(limit, writing).await;
            Err(error)
        }
    }
}

/// Why no more messages are read.
enum StreamEnd {
    HostLeft,
    Detached,
}

async fn read_hello(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<HostHello, HostError> {
    match read_message(reader).await? {
        Some(HostMessage::Hello(hello)) => Ok(hello),
        Some(HostMessage::Reply(_) | HostMessage::Event { .. } | HostMessage::Detach { .. }) => {
            Err(broken("the first message of a host is `hello`"))
        }
        None => Err(broken("the connection ended before `hello`")),
    }
}

/// Hands on what the host sends until it leaves.
async fn read_messages(
    reader: &mut (impl AsyncBufRead + Unpin),
    host: &Arc<RemoteHost>,
    attachment: &HostAttachment,
) -> Result<StreamEnd, HostError> {
    loop {
        match read_message(reader).await? {
            Some(HostMessage::Reply(reply)) => host.receive_reply(reply),
            Some(HostMessage::Event { event }) => attachment.receive_event(event),
            Some(HostMessage::Hello(_)) => return Err(broken("`hello` came twice")),
            Some(HostMessage::Detach { .. }) | None => return Ok(StreamEnd::HostLeft),
        }
    }
}

/// Sends messages until one of them ends the connection, or the host is detached and none is left.
async fn write_messages(
    writer: &mut (impl AsyncWrite + Unpin),
    outgoing: &mut mpsc::Receiver<ServerMessage>,
    limit: Duration,
) -> Result<(), HostError> {
    while let Some(message) = outgoing.recv().await {
        write_message(writer, &message, limit).await?;
        if matches!(message, ServerMessage::Detach { .. }) {
            return Ok(());
        }
    }
    Ok(())
}

/// Writes one message. Fails if the host does not read it within `limit`.
async fn write_message(
    writer: &mut (impl AsyncWrite + Unpin),
    message: &ServerMessage,
    limit: Duration,
) -> Result<(), HostError> {
    let mut line = serde_json::to_vec(message).map_err(|error| broken(&error.to_string()))?;
    line.push(b'\n');
    let written = async {
        writer.write_all(&line).await?;
        writer.flush().await
    };
    match tokio::time::timeout(limit, written).await {
        Ok(written) => {
            written.map_err(|error| HostError::new(Failure::DependencyUnavailable, error.to_string()))
        }
        Err(_late) => Err(not_reading()),
    }
}

fn not_reading() -> HostError {
    HostError::new(Failure::Timeout, "the host does not read its messages")
}

/// Reads one message, or `None` at the end of the stream.
async fn read_message(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<HostMessage>, HostError> {
    let mut line = Vec::new();
    loop {
        let read = reader.fill_buf().await;
        let read = read.map_err(|error| HostError::new(Failure::DependencyUnavailable, error.to_string()))?;
        if read.is_empty() {
            return Ok(None);
        }
        let (part, is_whole) = match read.iter().position(|byte| *byte == b'\n') {
            Some(end) => (&read[..end], true),
            None => (read, false),
        };
        line.extend_from_slice(part);
        let used = part.len() + usize::from(is_whole);
        reader.consume(used);
        if line.len() > MAX_LINE_BYTES {
            return Err(broken("a message is too long"));
        }
        if is_whole {
            return serde_json::from_slice(&line).map(Some).map_err(|error| broken(&error.to_string()));
        }
    }
}

fn broken(why: &str) -> HostError {
    HostError::new(Failure::InvalidArguments, format!("the host broke the protocol: {why}"))
}
