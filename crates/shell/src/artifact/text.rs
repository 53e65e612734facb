//! Bytes as text, where they are text.

use toolkit::families::artifact::Encoding;

/// Stands for one byte that is no UTF-8. One byte itself, so that places still count.
const SUBSTITUTE: char = '\u{1a}';
/// Where more than one in so many bytes is no UTF-8, it is no text.
const BROKEN: usize = 8;

/// Text, with a substitute for each byte that is none; digits where most of it is none.
pub(super) fn lenient(bytes: &[u8]) -> (String, Encoding) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return (text.to_owned(), Encoding::Utf8);
    }
    let broken: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    if bytes.contains(&0) || broken > bytes.len() / BROKEN {
        return (hex(bytes), Encoding::Hex);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| SUBSTITUTE));
    }
    (text, Encoding::Lossy)
}

/// Text, or digits: nothing is replaced. Half a character at the end is left to the next page if there is one.
pub(super) fn exact(bytes: &[u8], at_end: bool) -> (String, Encoding, usize) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), Encoding::Utf8, bytes.len()),
        Err(error) => match std::str::from_utf8(&bytes[..error.valid_up_to()]) {
            Ok(text) if !text.is_empty() && !at_end && error.error_len().is_none() => {
                (text.to_owned(), Encoding::Utf8, text.len())
            }
            Ok(_) | Err(_) => (hex(bytes), Encoding::Hex, bytes.len()),
        },
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// The end of the last whole character.
pub(super) fn whole_characters(bytes: &[u8]) -> usize {
    let is_first = |byte: u8| byte & 0b1100_0000 != 0b1000_0000;
    let last = bytes.iter().rposition(|byte| is_first(*byte)).filter(|at| bytes.len() - at <= 4);
    match last {
        // A character that goes on behind the end.
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
    use toolkit::families::artifact::Encoding;

    use super::{exact, lenient, whole_characters};

    #[test]
    fn bytes_are_text_as_far_as_they_are() {
        assert_eq!(lenient("é\n".as_bytes()), ("é\n".to_owned(), Encoding::Utf8));
        assert_eq!(lenient(b"ten bytes \xff!"), ("ten bytes \u{1a}!".to_owned(), Encoding::Lossy));
        assert_eq!(lenient(b"\x89PNG\0\xff"), ("89504e4700ff".to_owned(), Encoding::Hex));
        assert_eq!(exact(b"ab\xc3", false), ("ab".to_owned(), Encoding::Utf8, 2));
        assert_eq!(exact(b"ab\xc3", true), ("6162c3".to_owned(), Encoding::Hex, 3));
        assert_eq!(exact(b"\xc3", false), ("c3".to_owned(), Encoding::Hex, 1));
    }

    #[test]
    fn a_page_ends_between_two_characters() {
        for (bytes, end) in
            [(&b"ab"[..], 2), (b"ab\xc3", 2), (b"ab\xc3\xa9", 4), (b"\xf0\x9f", 2), (b"\xa9\xa9", 2)]
        {
            assert_eq!(whole_characters(bytes), end, "{bytes:x?}");
        }
    }
}
