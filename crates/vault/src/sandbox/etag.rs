//! The etag of a file: a hash of its content and of nothing else.
//!
//! The first 16 bytes of BLAKE3 as 32 lower-case hex digits. Half of the hash keeps results short for
//! models and still makes an accidental match, or one that somebody can construct, out of reach. File
//! times are not part of it: a sync that touches a file without changing it must not look like an edit.

/// The etag of content that is in memory.
pub fn etag_of(bytes: &[u8]) -> String {
    printed(&blake3::hash(bytes))
}

/// The etag of content that passes by in pieces.
pub(super) fn etag_from(hasher: &blake3::Hasher) -> String {
    printed(&hasher.finalize())
}

fn printed(hash: &blake3::Hash) -> String {
    let mut text = hash.to_hex().to_string();
    text.truncate(32);
    text
}

#[cfg(test)]
mod tests {
    use super::{etag_from, etag_of};

    #[test]
    fn the_etag_is_the_start_of_the_content_hash() {
        let full = envelope::Hash::of(b"note").to_string();
        assert_eq!(etag_of(b"note"), full[3..35]);
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"no").update(b"te");
        assert_eq!(etag_from(&hasher), etag_of(b"note"));
    }
}
