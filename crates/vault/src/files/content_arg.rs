//! The content of a file in the arguments of a tool: text, or bytes in base64.

use std::borrow::Cow;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use envelope::{Failure, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most bytes in base64. Arguments are kept in memory and in the record.
const MAX_BYTES: usize = 16 << 20;
/// Longest base64 text: four characters for three bytes, and the line breaks of the usual encoders.
const MAX_ENCODED: usize = MAX_BYTES / 3 * 4 + MAX_BYTES / 16;

// Names as in the output of `vault.readFile`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) enum ContentEncoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

impl ContentEncoding {
    /// Returns the bytes that `content` means. Fails for text that is not base64, and for too much of it.
    pub(super) fn decode(self, content: &str) -> Result<Cow<'_, [u8]>, Fault> {
        match self {
            ContentEncoding::Utf8 => Ok(Cow::Borrowed(content.as_bytes())),
            ContentEncoding::Base64 => decode_base64(content).map(Cow::Owned),
        }
    }
}

fn decode_base64(content: &str) -> Result<Vec<u8>, Fault> {
    if content.len() > MAX_ENCODED {
        return Err(too_large());
    }
    // Encoders break lines.
    let encoded: Cow<'_, str> = if content.contains(['\n', '\r']) {
        Cow::Owned(content.replace(['\n', '\r'], ""))
    } else {
        Cow::Borrowed(content)
    };
    let bytes = BASE64_STANDARD.decode(encoded.as_bytes()).map_err(|error| {
        Fault::new(Failure::InvalidArguments, format!("`content` is not base64: {error}")).hint(
            "give the bytes in base64 with its padding (`=`), without `data:` before them; leave `encoding` out for text",
        )
    })?;
    if bytes.len() > MAX_BYTES { Err(too_large()) } else { Ok(bytes) }
}

fn too_large() -> Fault {
    Fault::new(
        Failure::InvalidArguments,
        format!("`content` has more than {} MiB, the most that base64 may have", MAX_BYTES >> 20),
    )
    .hint("copy such a file into the vault with another program")
    .detail("limit", MAX_BYTES)
}

#[cfg(test)]
mod tests {
    use envelope::Failure;

    use super::{ContentEncoding, MAX_BYTES, MAX_ENCODED};

    #[test]
    fn base64_is_read_strictly_and_within_bounds() {
        let decode = |text: &str| ContentEncoding::Base64.decode(text).map(std::borrow::Cow::into_owned);
        assert_eq!(decode("AP/+\r\nAA==\n").unwrap(), [0, 255, 254, 0]);
        assert!(decode("").unwrap().is_empty());
        for wrong in ["AP/", "AP/=", "A A=", "AP_-", "data:image/png;base64,AA==", "AA==AA=="] {
            let fault = decode(wrong).unwrap_err();
            assert_eq!(fault.failure, Failure::InvalidArguments, "{wrong}");
            assert!(fault.message.starts_with("`content` is not base64: "), "{}", fault.message);
        }
        assert_eq!(decode(&"AAAA".repeat(MAX_BYTES / 3)).unwrap().len(), MAX_BYTES / 3 * 3);
        for length in [(MAX_BYTES / 3 + 1) * 4, MAX_ENCODED + 1] {
            let fault = decode(&"A".repeat(length)).unwrap_err();
            assert!(fault.message.contains("more than 16 MiB"), "{}", fault.message);
        }
    }
}
