//! Compares two lines except for their numbers.
//!
//! Both are compared by shape: a number with its unit is one symbol, and repeated punctuation or spaces count once.
//! So times, percentages, sizes, durations and progress bars do not matter, while every word does.

/// Returns true if `a` and `b` have the same shape.
pub(super) fn same_shape(a: &str, b: &str) -> bool {
    LineShape::of(a).eq(LineShape::of(b))
}

/// Returns true if the line contains words besides numbers. A column of numbers is data and not a repetition.
pub(super) fn has_words(line: &str) -> bool {
    line.contains('%') || line.bytes().filter(u8::is_ascii_alphabetic).take(3).count() == 3
}

struct LineShape<'a> {
    bytes: &'a [u8],
    before: u8,
}

impl<'a> LineShape<'a> {
    fn of(line: &'a str) -> LineShape<'a> {
        LineShape { bytes: line.as_bytes(), before: 0 }
    }

    /// Skips a number and its unit.
    fn skip_number(&mut self) {
        let end = self.bytes.iter().position(|&byte| !is_numeric(byte)).unwrap_or(self.bytes.len());
        self.bytes = &self.bytes[end..];
        let spaced = self.bytes.strip_prefix(b" ").unwrap_or(self.bytes);
        let letters = spaced.iter().position(|&byte| !is_unit_letter(byte)).unwrap_or(spaced.len());
        if UNITS.iter().any(|unit| unit.as_bytes() == &spaced[..letters]) {
            self.bytes = &spaced[letters..];
        }
    }
}

const UNITS: [&str; 19] = [
    "ns", "µs", "us", "ms", "s", "sec", "m", "min", "h", "B", "kB", "KB", "MB", "GB", "KiB", "MiB", "GiB",
    "k", "M",
];

impl Iterator for LineShape<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        loop {
            let &byte = self.bytes.first()?;
            if byte.is_ascii_digit() {
                self.skip_number();
                self.before = b'0';
                return Some(b'0');
            }
            self.bytes = &self.bytes[1..];
            let byte = if byte == b'\t' { b' ' } else { byte };
            if byte == self.before && byte.is_ascii() && !byte.is_ascii_alphanumeric() {
                continue;
            }
            self.before = byte;
            return Some(byte);
        }
    }
}

/// Digits and the separators in a time, an amount or a version.
fn is_numeric(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b':')
}

fn is_unit_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, 0xc2 | 0xb5)
}

#[cfg(test)]
mod tests {
    use super::same_shape;

    #[test]
    fn numbers_times_units_and_bars_make_no_difference_and_words_do() {
        for (a, b) in [
            ("12:03:11.5 poll 3 took 350ms", "12:04:00.1 poll 14 took 1.2s"),
            ("[==>       ]  20%", "[======>   ]  60%"),
            ("read 10 MB of 2 GB", "read 900 KB of 2 GB"),
        ] {
            assert!(same_shape(a, b), "{a} | {b}");
        }
        for (a, b) in [("user 1 in", "user 1 out"), ("a 1", "a"), ("", "0")] {
            assert!(!same_shape(a, b), "{a} | {b}");
        }
    }
}
