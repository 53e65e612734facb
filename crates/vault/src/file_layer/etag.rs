//! The etag of a file: a hash of its content only.
//!
//! It is the first 16 bytes of BLAKE3 as 32 lower-case hex digits. Half of the hash keeps results short for
//! models, and makes an accidental or crafted match infeasible. File times are not part of it: a sync that
//! touches a file without changing it is not an edit.

/// Returns the etag of content in memory.
pub fn etag_of(bytes: &[u8]) -> String {
    hex_prefix(&blake3::hash(bytes))
}

/// Returns the etag of content that was hashed in chunks.
pub(super) fn etag_from(hasher: &blake3::Hasher) -> String {
    hex_prefix(&hasher.finalize())
}

fn hex_prefix(hash: &blake3::Hash) -> String {
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
