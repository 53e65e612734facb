//! The one content hash of Tollgate: BLAKE3, printed as `b3:` and 64 hex digits.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const PREFIX: &str = "b3:";

/// A BLAKE3 hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

/// A text that is not a valid hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a hash: expected `b3:` and 64 lower-case hex digits")]
pub struct BadHash(pub String);

impl Hash {
    /// Length of the printed form in bytes.
    pub const TEXT_LEN: usize = PREFIX.len() + 64;

    pub fn of(bytes: &[u8]) -> Hash {
        Hash(*blake3::hash(bytes).as_bytes())
    }

    /// Hashes several parts as if they were concatenated.
    pub fn of_parts(parts: &[&[u8]]) -> Hash {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(part);
        }
        Hash(*hasher.finalize().as_bytes())
    }

    pub fn parse(text: &str) -> Result<Hash, BadHash> {
        let bad = || BadHash(text.to_owned());
        let hex = text.strip_prefix(PREFIX).ok_or_else(bad)?;
        // Upper case would be a second spelling of the same hash, and a changed byte that stays undetected.
        if hex.len() != 64 || !hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(bad());
        }
        let hash = blake3::Hash::from_hex(hex).map_err(|_| bad())?;
        Ok(Hash(*hash.as_bytes()))
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub fn from_bytes(bytes: [u8; 32]) -> Hash {
        Hash(bytes)
    }

    /// Appends the printed form to a line.
    pub fn write_to(&self, line: &mut Vec<u8>) {
        line.extend_from_slice(&self.printed());
    }

    fn printed(&self) -> [u8; Hash::TEXT_LEN] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; Hash::TEXT_LEN];
        let (prefix, digits) = text.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX.as_bytes());
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        text
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.printed()).unwrap_or_default())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(&self.printed()).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Hash::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::Hash;

    #[test]
    fn the_printed_form_is_the_only_spelling() {
        let hash = Hash::of(b"tollgate");
        let text = hash.to_string();
        assert_eq!(text.len(), Hash::TEXT_LEN);
        assert_eq!(Hash::parse(&text), Ok(hash));
        assert!(Hash::parse(&text.to_uppercase()).is_err());
        assert!(Hash::parse(&text[3..]).is_err());
        assert_eq!(Hash::of_parts(&[b"toll", b"gate"]), hash);
    }
}
