//! Where the body of an answer ends, and which of its bytes are the body.
//!
//! Bytes are handed on where they lie; nothing is copied. What is not exactly a body in chunks is an error and no guess:
//! the connection is used again, and a reader that is off by a byte would take one answer for another.

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// So many bytes are still to come.
    Length(u64),
    Chunked(Chunks),
    /// It ends with the connection.
    UntilClose,
}

/// Between which bytes of a body in chunks the reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunks {
    Size {
        value: u64,
        digits: u8,
    },
    Extension {
        value: u64,
        seen: u16,
    },
    SizeEnd {
        value: u64,
    },
    Data {
        left: u64,
    },
    DataReturn,
    DataEnd,
    /// After the last chunk; so many bytes of trailers were seen.
    Trailers {
        seen: u16,
    },
    Trailer {
        seen: u16,
    },
    TrailerEnd {
        seen: u16,
    },
    LastEnd,
}

/// Extensions and trailers mean nothing here. More of them is no answer.
const MOST_IGNORED: u16 = 16 * 1024;
/// No length has more.
const MOST_DIGITS: u8 = 16;

/// The chunks of a body are malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the chunks of the answer are malformed")]
pub(super) struct BadChunks;

/// How far some bytes went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Went {
    /// All belong to the body, which goes on.
    On,
    /// The body is over; so many bytes were used.
    End(usize),
}

impl Framing {
    /// For a body of chunks that begins here.
    pub(super) const CHUNKED: Framing = Framing::Chunked(Chunks::Size { value: 0, digits: 0 });

    /// Calls `take` with what is data in `bytes`, which follow those of the last call.
    pub(super) fn read(&mut self, bytes: &[u8], take: &mut impl FnMut(&[u8])) -> Result<Went, BadChunks> {
        match self {
            Framing::Length(left) => {
                let used = least(*left, bytes.len());
                if used > 0 {
                    take(&bytes[..used]);
                }
                *left -= used as u64;
                Ok(if *left == 0 { Went::End(used) } else { Went::On })
            }
            Framing::Chunked(chunks) => chunks.read(bytes, take),
            Framing::UntilClose => {
                if !bytes.is_empty() {
                    take(bytes);
                }
                Ok(Went::On)
            }
        }
    }
}

impl Chunks {
    fn read(&mut self, bytes: &[u8], take: &mut impl FnMut(&[u8])) -> Result<Went, BadChunks> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if let Chunks::Data { left } = self {
                let used = least(*left, bytes.len() - at);
                take(&bytes[at..at + used]);
                at += used;
                *left -= used as u64;
                if *left == 0 {
                    *self = Chunks::DataReturn;
                }
                continue;
            }
            // What nearly always stands between two chunks, if it is there as a whole.
            match self {
                Chunks::DataReturn if bytes[at..].starts_with(b"\r\n") => {
                    at += 2;
                    *self = Chunks::Size { value: 0, digits: 0 };
                    continue;
                }
                Chunks::Size { digits: 0, .. } => {
                    if let Some((left, used)) = plain_size(&bytes[at..]) {
                        at += used;
                        *self = Chunks::Data { left };
                        continue;
                    }
                }
                Chunks::Size { .. }
                | Chunks::Extension { .. }
                | Chunks::SizeEnd { .. }
                | Chunks::Data { .. }
                | Chunks::DataReturn
                | Chunks::DataEnd
                | Chunks::Trailers { .. }
                | Chunks::Trailer { .. }
                | Chunks::TrailerEnd { .. }
                | Chunks::LastEnd => {}
            }
            at += 1;
            match self.step(byte)? {
                Some(next) => *self = next,
                None => return Ok(Went::End(at)),
            }
        }
        Ok(Went::On)
    }

    /// Where one byte outside of the data leads; nowhere if it was the last.
    fn step(self, byte: u8) -> Result<Option<Chunks>, BadChunks> {
        Ok(Some(match (self, byte) {
            (Chunks::Size { value, digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F')
                if digits < MOST_DIGITS =>
            {
                let digit = char::from(byte).to_digit(16).ok_or(BadChunks)?;
                Chunks::Size { value: (value << 4) | u64::from(digit), digits: digits + 1 }
            }
            (Chunks::Size { value, digits: 1.. }, b'\r') => Chunks::SizeEnd { value },
            (Chunks::Size { value, digits: 1.. }, b';' | b' ' | b'\t') => {
                Chunks::Extension { value, seen: 0 }
            }
            (Chunks::Extension { value, .. }, b'\r') => Chunks::SizeEnd { value },
            (Chunks::Extension { value, seen }, _) if byte != b'\n' && seen < MOST_IGNORED => {
                Chunks::Extension { value, seen: seen + 1 }
            }
            (Chunks::SizeEnd { value: 0 }, b'\n') => Chunks::Trailers { seen: 0 },
            (Chunks::SizeEnd { value }, b'\n') => Chunks::Data { left: value },
            (Chunks::DataReturn, b'\r') => Chunks::DataEnd,
            (Chunks::DataEnd, b'\n') => Chunks::Size { value: 0, digits: 0 },
            (Chunks::Trailers { .. }, b'\r') => Chunks::LastEnd,
            (Chunks::Trailer { seen }, b'\r') => Chunks::TrailerEnd { seen },
            (Chunks::Trailers { seen } | Chunks::Trailer { seen }, _)
                if byte != b'\n' && seen < MOST_IGNORED =>
            {
                Chunks::Trailer { seen: seen + 1 }
            }
            (Chunks::TrailerEnd { seen }, b'\n') => Chunks::Trailers { seen },
            (Chunks::LastEnd, b'\n') => return Ok(None),
            (
                Chunks::Size { .. }
                | Chunks::Extension { .. }
                | Chunks::SizeEnd { .. }
                | Chunks::Data { .. }
                | Chunks::DataReturn
                | Chunks::DataEnd
                | Chunks::Trailers { .. }
                | Chunks::Trailer { .. }
                | Chunks::TrailerEnd { .. }
                | Chunks::LastEnd,
                _,
            ) => return Err(BadChunks),
        }))
    }
}

/// The size of a chunk with data, and how long the line is that says it. None if the line is not there as a whole or has
/// more to say.
fn plain_size(bytes: &[u8]) -> Option<(u64, usize)> {
    const DIGITS: usize = 8;
    let mut value = 0;
    for (digits, &byte) in bytes.iter().take(DIGITS + 1).enumerate() {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            b'\r' if value > 0 && bytes.get(digits + 1) == Some(&b'\n') => return Some((value, digits + 2)),
            _ => return None,
        };
        value = (value << 4) | u64::from(digit);
    }
    None
}

fn least(left: u64, here: usize) -> usize {
    usize::try_from(left).unwrap_or(usize::MAX).min(here)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    use super::{Framing, Went};

    /// The data of a body that arrives in pieces of a size, and what is left behind its end.
    fn read(mut framing: Framing, bytes: &[u8], size: usize) -> Result<(Vec<u8>, Option<usize>), String> {
        let mut data = Vec::new();
        let mut before = 0;
        for piece in bytes.chunks(size.max(1)) {
            match framing.read(piece, &mut |part| data.extend_from_slice(part)) {
                Ok(Went::On) => before += piece.len(),
                Ok(Went::End(used)) => return Ok((data, Some(bytes.len() - before - used))),
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok((data, None))
    }

    #[test]
    fn chunks_are_the_same_however_they_arrive() {
        let body = b"5\r\nHello\r\n00A ; a=b\r\n, \r\n\xc3\xa4 you\r\n0\r\nx-trailer: 1\r\ny: 2\r\n\r\nHTTP";
        for size in 1..=body.len() {
            let expected = ("Hello, \r\n\u{e4} you".as_bytes().to_vec(), Some(4));
            assert_eq!(read(Framing::CHUNKED, body, size).unwrap(), expected, "in pieces of {size}");
        }
    }

    #[test]
    fn a_length_is_taken_at_its_word() {
        assert_eq!(read(Framing::Length(3), b"abcd", 2).unwrap(), (b"abc".to_vec(), Some(1)));
        assert_eq!(read(Framing::Length(9), b"abcd", 2).unwrap(), (b"abcd".to_vec(), None));
        assert_eq!(read(Framing::UntilClose, b"abcd", 3).unwrap(), (b"abcd".to_vec(), None));
    }

    #[test]
    fn what_is_no_chunk_is_an_error() {
        let endless = "a".repeat(20_000);
        for body in [
            "\r\n",
            ";x\r\n",
            "g\r\n",
            "-1\r\n",
            "5\n",
            "5\rx",
            "5;x\n",
            "11111111111111111\r\n",
            "1\r\nab",
            "1\r\na\n",
            "1\r\na\rb",
            "0\r\n\n",
            "0\r\n\rx",
            "0\r\nx: 1\n\r\n",
            "0\r\nx: 1\ry: 2\r\n\r\n",
            &format!("0;{endless}"),
            &format!("0\r\n{endless}"),
        ] {
            assert!(read(Framing::CHUNKED, body.as_bytes(), 7).is_err(), "{}", &body[..body.len().min(30)]);
        }
    }

    proptest! {
        #[test]
        fn what_was_written_in_chunks_is_read(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..6),
            size in 1_usize..50,
        ) {
            let mut body = Vec::new();
            for part in &parts {
                body.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
                body.extend_from_slice(part);
                body.extend_from_slice(b"\r\n");
            }
            body.extend_from_slice(b"0\r\n\r\n");
            prop_assert_eq!(read(Framing::CHUNKED, &body, size).unwrap(), (parts.concat(), Some(0)));
        }

        #[test]
        fn whatever_arrives_is_cut_the_same(body in "(0|1|2|a|;|\r\n|\r|\n| ){0,40}", size in 1_usize..9) {
            let (pieces, whole) = (read(Framing::CHUNKED, body.as_bytes(), size), read(Framing::CHUNKED, body.as_bytes(), usize::MAX));
            prop_assert_eq!(&pieces, &whole);
            if let Ok((data, _)) = whole {
                prop_assert!(data.len() <= body.len());
            }
        }
    }
}
