//! Decodes bytes as text where possible.

use receipts::families::artifact::PieceEncoding;

/// Replaces one invalid byte. It is one byte itself, so that positions stay the same.
const SUBSTITUTE: char = '\u{1a}';
/// With more than one invalid byte in so many, the bytes are not text.
const BROKEN: usize = 8;

/// Returns text with a substitute for each invalid byte, or hexadecimal if most of it is not text.
pub(super) fn decode_lossy(bytes: &[u8]) -> (String, PieceEncoding) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return (text.to_owned(), PieceEncoding::Utf8);
    }
    let broken: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    if bytes.contains(&0) || broken > bytes.len() / BROKEN {
        return (hex(bytes), PieceEncoding::Hex);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| SUBSTITUTE));
    }
    (text, PieceEncoding::Lossy)
}

/// Returns text or hexadecimal: nothing is replaced. An incomplete character at the end is left to the next page if
/// there is one.
pub(super) fn decode_exact(bytes: &[u8], at_end: bool) -> (String, PieceEncoding, usize) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), PieceEncoding::Utf8, bytes.len()),
        Err(error) => match std::str::from_utf8(&bytes[..error.valid_up_to()]) {
            Ok(text) if !text.is_empty() && !at_end && error.error_len().is_none() => {
                (text.to_owned(), PieceEncoding::Utf8, text.len())
            }
            Ok(_) | Err(_) => (hex(bytes), PieceEncoding::Hex, bytes.len()),
        },
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// Returns the end of the last whole character.
pub(super) fn complete_characters_end(bytes: &[u8]) -> usize {
    let is_first = |byte: u8| byte & 0b1100_0000 != 0b1000_0000;
    let last = bytes.iter().rposition(|byte| is_first(*byte)).filter(|at| bytes.len() - at <= 4);
    match last {
        // A character that continues after the end.
        Some(at)
            if at > 0
                && std::str::from_utf8(&bytes[at..]).is_err_and(|error| error.error_len().is_none()) =>
        {
            at
        }
        Some(_) | None => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use receipts::families::artifact::PieceEncoding;

    use super::{complete_characters_end, decode_exact, decode_lossy};

    #[test]
    fn bytes_are_text_as_far_as_they_are() {
        assert_eq!(decode_lossy("é\n".as_bytes()), ("é\n".to_owned(), PieceEncoding::Utf8));
        assert_eq!(decode_lossy(b"ten bytes \xff!"), ("ten bytes \u{1a}!".to_owned(), PieceEncoding::Lossy));
        assert_eq!(decode_lossy(b"\x89PNG\0\xff"), ("89504e4700ff".to_owned(), PieceEncoding::Hex));
        assert_eq!(decode_exact(b"ab\xc3", false), ("ab".to_owned(), PieceEncoding::Utf8, 2));
        assert_eq!(decode_exact(b"ab\xc3", true), ("6162c3".to_owned(), PieceEncoding::Hex, 3));
        assert_eq!(decode_exact(b"\xc3", false), ("c3".to_owned(), PieceEncoding::Hex, 1));
    }

    #[test]
    fn a_page_ends_between_two_characters() {
        for (bytes, end) in
            [(&b"ab"[..], 2), (b"ab\xc3", 2), (b"ab\xc3\xa9", 4), (b"\xf0\x9f", 2), (b"\xa9\xa9", 2)]
        {
            assert_eq!(complete_characters_end(bytes), end, "{bytes:x?}");
        }
    }
}
