//! HTTP and server-sent events, as far as these tests need them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// Nothing that is waited for takes as long, on however busy a machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// One event of a stream. The last line of a stream is one, too, without data.
#[derive(Debug)]
pub(crate) struct StreamEvent {
    pub(crate) kind: String,
    pub(crate) data: Value,
}

pub(crate) const DONE: &str = "[DONE]";

/// An answer whose head has been read.
pub(crate) struct RawResponse {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    body: BufReader<RawBody>,
}

/// Sends a request on a connection of its own.
pub(crate) fn send(address: &str, token: &str, line: &str, body: &str) -> TcpStream {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    let head = format!(
        "{line} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n"
    );
    socket.write_all((head + body).as_bytes()).unwrap();
    socket
}

impl RawResponse {
    pub(crate) fn of(socket: TcpStream) -> RawResponse {
        let mut socket = BufReader::new(socket);
        let first = line(&mut socket);
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {first:?}"));
        let mut headers = Vec::new();
        loop {
            let header = line(&mut socket);
            let Some((name, value)) = header.split_once(": ") else { break };
            headers.push((name.to_owned(), value.to_owned()));
        }
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let body = match length {
            Some((_, length)) => RawBody::Counted(socket.take(length.parse().unwrap())),
            None => RawBody::Chunked { socket, left: 0, over: false },
        };
        RawResponse { status, headers, body: BufReader::new(body) }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(mut self) -> String {
        let mut text = String::new();
        self.body.read_to_string(&mut text).unwrap();
        text
    }

    #[track_caller]
    pub(crate) fn json(self) -> Value {
        let text = self.text();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The next event; nothing after the end of the body, which must be a proper one.
    pub(crate) fn event(&mut self) -> Option<StreamEvent> {
        let mut kind = None;
        loop {
            let mut text = String::new();
            if self.body.read_line(&mut text).unwrap() == 0 {
                assert_eq!(kind, None, "an event broke off");
                return None;
            }
            let text = text.strip_suffix('\n').unwrap();
            if let Some(named) = text.strip_prefix("event: ") {
                kind = Some(named.to_owned());
            } else if text == "data: [DONE]" {
                return Some(StreamEvent { kind: DONE.to_owned(), data: Value::Null });
            } else if let Some(data) = text.strip_prefix("data: ") {
                let data: Value = serde_json::from_str(data).unwrap();
                let kind = kind.unwrap();
                assert_eq!(data["type"], kind.as_str());
                return Some(StreamEvent { kind, data });
            } else {
                assert!(text.is_empty() || text.starts_with(':'), "no line of a stream: {text:?}");
            }
        }
    }

    /// Reads on until an event of this kind.
    #[track_caller]
    pub(crate) fn until(&mut self, kind: &str) -> StreamEvent {
        loop {
            let event = self.event().unwrap_or_else(|| panic!("the stream ended without {kind}"));
            if event.kind == kind {
                return event;
            }
        }
    }

    /// All that is left.
    pub(crate) fn rest(mut self) -> Vec<StreamEvent> {
        std::iter::from_fn(|| self.event()).collect()
    }
}

pub(crate) fn kinds(events: &[StreamEvent]) -> Vec<&str> {
    events.iter().map(|event| event.kind.as_str()).collect()
}

/// A line of a head, without its end.
pub(crate) fn line(reader: &mut impl BufRead) -> String {
    let mut text = String::new();
    reader.read_line(&mut text).unwrap();
    text.trim_end_matches(['\r', '\n']).to_owned()
}

enum RawBody {
    Counted(std::io::Take<BufReader<TcpStream>>),
    Chunked {
        socket: BufReader<TcpStream>,
        /// Of the chunk that is being read.
        left: usize,
        over: bool,
    },
}

impl Read for RawBody {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            RawBody::Counted(socket) => socket.read(buffer),
            RawBody::Chunked { over: true, .. } => Ok(0),
            RawBody::Chunked { socket, left, over } => {
                if *left == 0 {
                    *left = chunk(socket)?;
                    *over = *left == 0;
                }
                let room = buffer.len().min(*left);
                let count = socket.read(&mut buffer[..room])?;
                *left -= count;
                if *left == 0 {
                    // What follows every chunk, the last one too.
                    socket.read_exact(&mut [0; 2])?;
                }
                Ok(count)
            }
        }
    }
}

fn chunk(socket: &mut impl BufRead) -> std::io::Result<usize> {
    let mut size = String::new();
    socket.read_line(&mut size)?;
    usize::from_str_radix(size.trim_end(), 16)
        .map_err(|_broken_off| std::io::Error::other(format!("the answer broke off: {size:?}")))
}
