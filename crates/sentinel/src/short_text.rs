//! Tests all bytes of a short text at once. Most chunks of a stream have a few bytes, and for those the setup of a
//! search costs more than the search.

/// A one in every byte of a word.
pub(super) const ONES: u64 = u64::from_ne_bytes([1; 8]);

/// The longest text that counts as short.
const LONGEST: usize = 16;

/// Whether a test of words finds something in a short text; `None` for a longer one. A byte may be tested twice and
/// at any position.
#[inline]
pub(super) fn any_word(piece: &[u8], finds: impl Fn(u64) -> bool) -> Option<bool> {
    if let (Some(front), Some(back)) = (piece.first_chunk::<8>(), piece.last_chunk::<8>()) {
        return (piece.len() <= LONGEST)
            .then(|| finds(u64::from_le_bytes(*front)) || finds(u64::from_le_bytes(*back)));
    }
    if let (Some(front), Some(back)) = (piece.first_chunk::<4>(), piece.last_chunk::<4>()) {
        let (front, back) = (u32::from_le_bytes(*front), u32::from_le_bytes(*back));
        return Some(finds(u64::from(front) | u64::from(back) << 32));
    }
    let (Some(front), Some(back)) = (piece.first(), piece.last()) else { return Some(false) };
    let middle = piece[piece.len() / 2];
    Some(finds(u64::from_le_bytes([*front, middle, *back, *front, *front, *front, *front, *front])))
}

/// Marks the bytes of a word that are less than a bound of at most 128. The lowest mark is correct; higher ones may
/// be wrong, because a subtraction borrows upwards.
#[inline]
pub(super) fn bytes_below(word: u64, bound: u8) -> u64 {
    word.wrapping_sub(ONES * u64::from(bound)) & !word & (ONES << 7)
}

/// Marks the bytes of a word that equal this one, as [`bytes_below`] does.
#[inline]
pub(super) fn bytes_equal(word: u64, byte: u8) -> u64 {
    bytes_below(word ^ (ONES * u64::from(byte)), 1)
}

#[cfg(test)]
mod tests {
    use super::{any_word, bytes_below, bytes_equal};

    #[test]
    fn every_byte_of_a_short_piece_is_looked_at_and_nothing_else() {
        for length in 0..=16 {
            let mut piece = vec![b'a'; length];
            assert_eq!(
                any_word(&piece, |word| bytes_equal(word, b'b') | bytes_below(word, b'a') != 0),
                Some(false),
                "{length}"
            );
            for at in 0..length {
                for byte in [b'b', 0, b'A'] {
                    piece[at] = byte;
                    let found =
                        any_word(&piece, |word| bytes_equal(word, b'b') | bytes_below(word, b'a') != 0);
                    assert_eq!(found, Some(true), "{byte} at {at} of {length}");
                }
                piece[at] = 0xC3;
                assert_eq!(
                    any_word(&piece, |word| bytes_equal(word, b'C') | bytes_below(word, 0x80) != 0),
                    Some(length > 1)
                );
                piece[at] = b'a';
            }
        }
        assert_eq!(any_word(&[b'a'; 17], |_| true), None);
    }
}
