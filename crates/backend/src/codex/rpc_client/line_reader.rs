//! Reads lines with a limit. Longer lines are skipped, so that memory does not grow with them.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// A buffer that grew beyond this is given back after the line.
const KEPT_BYTES: usize = 256 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineRead {
    Whole,
    /// Longer than allowed, and passed over.
    TooLong,
    End,
}

/// Reads the next line into `line`, without its end. A last line without an end is torn, and not a line.
pub(super) async fn next_line(
    input: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    limit: usize,
) -> io::Result<LineRead> {
    line.clear();
    line.shrink_to(KEPT_BYTES);
    let mut too_long = false;
    loop {
        let bytes = input.fill_buf().await?;
        if bytes.is_empty() {
            return Ok(LineRead::End);
        }
        let end = memchr::memchr(b'\n', bytes);
        let piece = end.map_or(bytes, |end| &bytes[..end]);
        too_long |= line.len() + piece.len() > limit;
        if !too_long {
            line.extend_from_slice(piece);
        }
        let used = piece.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            return Ok(if too_long { LineRead::TooLong } else { LineRead::Whole });
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use tokio::io::BufReader;

    use super::{LineRead, next_line};

    async fn lines(input: &[u8], buffer: usize) -> String {
        let mut input = BufReader::with_capacity(buffer, input);
        let mut line = Vec::new();
        let mut shown = Vec::new();
        loop {
            let read = next_line(&mut input, &mut line, 8).await.unwrap();
            shown.push(match read {
                LineRead::Whole => format!("`{}`", String::from_utf8_lossy(&line)),
                LineRead::TooLong | LineRead::End => format!("{read:?}"),
            });
            if read == LineRead::End {
                return shown.join(" ");
            }
        }
    }

    #[tokio::test]
    async fn long_and_torn_lines_are_passed_over_however_the_input_is_cut() {
        for buffer in [1, 3, 64] {
            let shown = lines(b"one\n\n12345678\n123456789\ntwo\ntorn", buffer).await;
            expect!["`one` `` `12345678` TooLong `two` End"].assert_eq(&shown);
        }
    }
}
