//! What is shown of a long line: the part around what matches.

use std::ops::Range;

/// A part of at most `most` bytes, from a little before `at`.
pub(super) fn window(line: &[u8], at: usize, most: usize) -> Range<usize> {
    if line.len() <= most {
        return 0..line.len();
    }
    let start = at.saturating_sub(most / 4).min(line.len() - most);
    boundary(line, start)..boundary(line, start + most)
}

/// The next place at which a character can begin.
fn boundary(line: &[u8], at: usize) -> usize {
    let goes_on = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    at + line[at..].iter().take(3).take_while(|byte| goes_on(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::window;

    #[test]
    fn a_long_line_is_shown_around_the_match() {
        let line = "é".repeat(50);
        assert_eq!(window(line.as_bytes(), 60, 200), 0..100);
        assert_eq!(window(line.as_bytes(), 0, 20), 0..20);
        assert_eq!(window(line.as_bytes(), 60, 21), 56..76);
        assert_eq!(window(line.as_bytes(), 99, 20), 80..100);
    }
}
