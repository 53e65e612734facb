//! The head of an answer: what its status is, and how its body ends.

use http::StatusCode;

use super::framing::Framing;

/// A head that is larger is none of a model's server.
pub(super) const HEAD_LIMIT: usize = 64 * 1024;
const MOST_HEADERS: usize = 100;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) framing: Framing,
    /// Another request may follow on the same connection.
    pub(super) keeps: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadHead {
    #[error("the answer has no head that can be read")]
    Unreadable,
    #[error("the head of the answer is too large")]
    TooLarge,
    #[error("the answer says in two ways how long it is, or in one that is not known")]
    Framing,
    #[error("the server wants to speak another protocol")]
    Upgrade,
}

/// Reads a head that arrives in pieces. Its beginning is not parsed again for each of them, so that a server that sends it
/// byte by byte costs no more than one that sends it at once.
#[derive(Default)]
pub(super) struct HeadReader {
    held: Vec<u8>,
    /// In so much of it no head ends.
    looked_at: usize,
    /// It is parsed at this length even if no end is in sight: what is no head should be told before it is over.
    due: usize,
    /// How long the words were that the server is still working (1xx). They are not the answer and are passed over.
    passed: usize,
}

impl HeadReader {
    /// Whether nothing has come.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty() && self.passed == 0
    }

    /// Takes more bytes. The head and what came behind it; nothing while the head is not complete.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<Option<(Head, Vec<u8>)>, BadHead> {
        // Nearly every head comes as a whole, and what is behind it is copied once.
        if self.is_empty()
            && let Ok(Some((length, Some(head)))) = parse(bytes)
            && length <= HEAD_LIMIT
        {
            return Ok(Some((head, bytes[length..].to_vec())));
        }
        self.held.extend_from_slice(bytes);
        while self.is_worth_parsing() {
            match parse(&self.held)? {
                Some((length, _)) if self.passed + length > HEAD_LIMIT => return Err(BadHead::TooLarge),
                // What is behind it has the size that it needs, which is none for a head that comes alone.
                Some((length, Some(head))) => return Ok(Some((head, self.held.split_off(length)))),
                Some((length, None)) => {
                    self.held.drain(..length);
                    self.passed += length;
                    (self.looked_at, self.due) = (0, 0);
                }
                None if self.is_full() => return Err(BadHead::TooLarge),
                None => self.due = self.held.len() * 2,
            }
        }
        Ok(None)
    }

    fn is_full(&self) -> bool {
        self.passed + self.held.len() >= HEAD_LIMIT
    }

    fn is_worth_parsing(&mut self) -> bool {
        // The blank line may have begun in what came before.
        let from = self.looked_at.saturating_sub(2);
        self.looked_at = self.held.len();
        let fresh = self.held.get(from..).unwrap_or_default();
        let ends = memchr::memchr_iter(b'\n', fresh).any(|at| {
            let next = &fresh[at + 1..];
            next.starts_with(b"\n") || next.starts_with(b"\r\n")
        });
        !self.held.is_empty() && (ends || self.is_full() || self.held.len() >= self.due)
    }
}

/// Parses what begins here, and says how long it is; nothing while it is not complete. A word that the server is still
/// working has a length and is no head.
fn parse(held: &[u8]) -> Result<Option<(usize, Option<Head>)>, BadHead> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let length = match response.parse(held) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(BadHead::TooLarge),
        Err(_) => return Err(BadHead::Unreadable),
    };
    let status = response.code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or(BadHead::Unreadable)?;
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(BadHead::Upgrade);
    }
    if status.is_informational() {
        return Ok(Some((length, None)));
    }
    let newest = response.version == Some(1);
    of(status, newest, response.headers).map(|head| Some((length, Some(head))))
}

fn of(status: StatusCode, newest: bool, headers: &[httparse::Header<'_>]) -> Result<Head, BadHead> {
    let mut length = None;
    let mut chunked = false;
    let mut closes = !newest;
    for header in headers {
        let value = header.value.trim_ascii();
        if header.name.eq_ignore_ascii_case("content-length") {
            let said = digits(value).ok_or(BadHead::Framing)?;
            if length.replace(said).is_some_and(|before| before != said) {
                return Err(BadHead::Framing);
            }
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            if chunked || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(BadHead::Framing);
            }
            chunked = true;
        } else if header.name.eq_ignore_ascii_case("connection") {
            let mut words = value.split(|byte| *byte == b',');
            closes |= words.any(|word| word.trim_ascii().eq_ignore_ascii_case(b"close"));
        }
    }
    let framing = match (chunked, length) {
        _ if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) => Framing::Length(0),
        (true, _) => Framing::CHUNKED,
        (false, Some(length)) => Framing::Length(length),
        (false, None) => Framing::UntilClose,
    };
    // Whoever says both has a reader in between that may have believed the other.
    let ambiguous = chunked && length.is_some();
    Ok(Head { status, framing, keeps: !closes && !ambiguous && framing != Framing::UntilClose })
}

fn digits(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{BadHead, Head, HeadReader};

    /// How long the head is that arrives in pieces of a size, and what it says.
    fn read(bytes: &[u8], size: usize) -> Result<Option<(usize, Head)>, BadHead> {
        let mut reader = HeadReader::default();
        let mut came = 0;
        for piece in bytes.chunks(size) {
            came += piece.len();
            if let Some((head, behind)) = reader.read(piece)? {
                assert!(behind.capacity() <= behind.len(), "no room is kept that nothing needs");
                return Ok(Some((came - behind.len(), head)));
            }
        }
        Ok(None)
    }

    fn told(heads: &[&str]) -> String {
        let line = |head: &&str| {
            let whole = read(head.as_bytes(), usize::MAX);
            for size in [1, 2, 3, 7, 1_000] {
                assert_eq!(read(head.as_bytes(), size), whole, "in pieces of {size}");
            }
            match whole {
                Ok(Some((length, head))) => format!("{length} {head:?}\n"),
                Ok(None) => "more is needed\n".to_owned(),
                Err(error) => format!("{error}\n"),
            }
        };
        heads.iter().map(line).collect()
    }

    #[test]
    fn a_head_says_how_its_body_ends_and_whether_another_may_follow() {
        expect![[r#"
            47 Head { status: 200, framing: Chunked(Size { value: 0, digits: 0 }), keeps: true }
            38 Head { status: 200, framing: Length(12), keeps: true }
            60 Head { status: 401, framing: Length(7), keeps: false }
            19 Head { status: 200, framing: UntilClose, keeps: false }
            38 Head { status: 200, framing: Length(12), keeps: false }
            66 Head { status: 200, framing: Chunked(Size { value: 0, digits: 0 }), keeps: false }
            27 Head { status: 204, framing: Length(0), keeps: true }
            63 Head { status: 200, framing: Length(1), keeps: true }
            35 Head { status: 200, framing: Length(2), keeps: true }
        "#]]
        .assert_eq(&told(&[
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length:12\r\n\r\n",
            "HTTP/1.1 401 No\r\ncontent-length: 7\r\nconnection: x, Close\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.0 200 OK\r\ncontent-length:12\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n",
            "HTTP/1.1 200 OK\ncontent-length: 2\n\nok",
        ]));
    }

    #[test]
    fn a_head_that_can_be_read_in_two_ways_is_none() {
        let large = format!("HTTP/1.1 200 OK\r\nx: {}", "a".repeat(70_000));
        let working = "HTTP/1.1 102 Processing\r\n\r\n".repeat(3_000);
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(101));
        expect![[r"
            more is needed
            more is needed
            the answer says in two ways how long it is, or in one that is not known
            the answer says in two ways how long it is, or in one that is not known
            the answer says in two ways how long it is, or in one that is not known
            the answer says in two ways how long it is, or in one that is not known
            the server wants to speak another protocol
            the answer has no head that can be read
            the answer has no head that can be read
            the head of the answer is too large
            the head of the answer is too large
            the head of the answer is too large
        "]]
        .assert_eq(&told(&[
            "",
            "HTTP/1.1 200 OK\r\nconte",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: +1\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 1, 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
            "HTTP/1.1 101 Go\r\nupgrade: x\r\n\r\n",
            "nonsense\r\n\r\n",
            "HTTP/1.1 2x0 OK\r\n\r\n",
            &large,
            &many,
            &working,
        ]));
    }

    #[test]
    fn what_is_no_head_is_told_before_it_ends() {
        assert_eq!(read(b"SSH-2.0-OpenSSH_9.6\r\n", usize::MAX), Err(BadHead::Unreadable));
        assert_eq!(read(b"SSH-2.0-OpenSSH_9.6\r\n", 1), Err(BadHead::Unreadable));
    }
}
