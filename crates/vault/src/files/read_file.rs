//! `vault.readFile`: reads a file, or a part of it, as text or base64.

use std::ops::Range;

use envelope::{Failure, Fault, ReceiptFamily};
use receipts::families::read;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, ProjectedResult, Projection};

use super::maybe_vault::MaybeVault;
use super::path_arg::PathArg;
use super::read_tool::ReadTool;
use crate::file_layer::{FileSlice, IoContext, Vault};
use base64::prelude::{BASE64_STANDARD, Engine as _};

const DEFAULT_MAX_BYTES: u32 = 256 << 10;
const MAX_MAX_BYTES: u32 = 4 << 20;
/// Longest UTF-8 character: with a smaller limit nothing could be returned.
const MIN_MAX_BYTES: u32 = 4;
/// Encoding of content that is not text.
const BASE64: &str = "base64";

pub(crate) struct ReadFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// File, such as `Notes/Inbox.md`.
    path: PathArg,
    /// 4 to 4194304; read on with `range`.
    #[serde(default = "default_max_bytes")]
    #[schemars(range(min = 4, max = 4_194_304))]
    max_bytes: u32,
    /// Part to read, in bytes.
    #[serde(default)]
    range: Option<FileByteRange>,
    /// `base64` for files that are not text.
    #[serde(default, rename = "as")]
    form: ReadEncoding,
}

fn default_max_bytes() -> u32 {
    DEFAULT_MAX_BYTES
}

/// A part of a file in bytes. As text, a character that the part would cut is left out of it as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct FileByteRange {
    /// First byte, from 0.
    start: u64,
    /// Byte after the last.
    end: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ReadEncoding {
    #[default]
    Text,
    Base64,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// The file as it is spelled on disk.
    path: String,
    /// The text, or the bytes in base64.
    content: String,
    /// Hash of the whole file's content: 32 hex digits. Absent for files over 64 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    etag: Option<String>,
    /// When the file was last changed, in milliseconds since 1970 UTC.
    mtime_ms: i64,
    /// True when there is more to read than was returned: read on from `range.end`.
    truncated: bool,
    /// How to read `content`: `utf-8` or `base64`.
    encoding: String,
    /// Size of the whole file.
    size_bytes: u64,
    /// The bytes of the file that `content` holds.
    range: FileByteRange,
}

impl ReadTool for ReadFile {
    const NAME: &'static str = "vault.readFile";
    const SUMMARY: &'static str = "Read a file as text or base64, whole or in part.";
    const FAMILY: ReceiptFamily = ReceiptFamily::Read;

    type Args = Args;
    type Output = Output;

    fn check(args: &Args) -> Result<(), Fault> {
        args.path.existing()?;
        match args.range {
            Some(range) if range.start > range.end => Err(Fault::new(
                Failure::InvalidArguments,
                format!("the range starts at {} and ends before that, at {}", range.start, range.end),
            )
            .hint("give `start` and `end` in bytes with start <= end")),
            Some(_) | None => Ok(()),
        }
    }

    fn path_keys(vault: &MaybeVault, args: &Args) -> PathKeys {
        PathKeys { reads: args.path.path_scopes(vault), writes: Vec::new() }
    }

    fn preview(args: &Args) -> String {
        format!("Read {}", args.path.display())
    }

    fn read(vault: &Vault, args: &Args, io: &dyn IoContext) -> Result<Output, Fault> {
        let path = args.path.existing()?;
        let asked = args.range.map_or(0..u64::MAX, |range| range.start..range.end.max(range.start));
        let max = u64::from(args.max_bytes.clamp(MIN_MAX_BYTES, MAX_MAX_BYTES));
        let window = asked.start..asked.end.min(asked.start.saturating_add(max));
        output(vault.read(path, window, io)?, &asked, args.form)
    }

    fn summary(output: &Output) -> String {
        let FileByteRange { start, end } = output.range;
        if start == 0 && !output.truncated {
            format!("Read {} ({} bytes)", output.path, output.size_bytes)
        } else {
            format!("Read {} (bytes {start} to {end} of {})", output.path, output.size_bytes)
        }
    }

    fn project(output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let encoding = match output.encoding.as_str() {
            BASE64 => read::ContentEncoding::Base64,
            _ => read::ContentEncoding::Utf8,
        };
        let FileByteRange { start, end } = output.range;
        let complete = read::FileRead {
            path: &output.path,
            content: &output.content,
            encoding,
            etag: output.etag.as_deref(),
            size_bytes: output.size_bytes,
            range: read::ContentRange { start, end },
            more: output.truncated,
        };
        read::project(&complete, with)
    }
}

fn output(content: FileSlice, asked: &Range<u64>, form: ReadEncoding) -> Result<Output, Fault> {
    let FileSlice { path, bytes, start, size, etag, mtime_ms } = content;
    if asked.start > size {
        return Err(Fault::new(
            Failure::InvalidArguments,
            format!("the range starts at {}, but `{path}` has {size} bytes", asked.start),
        )
        .detail("sizeBytes", size)
        .hint(format!("give a range that starts between 0 and {size}")));
    }
    let (content, range, encoding) = match form {
        ReadEncoding::Base64 => {
            (BASE64_STANDARD.encode(&bytes), FileByteRange { start, end: start + bytes.len() as u64 }, BASE64)
        }
        ReadEncoding::Text => {
            let (text, kept) = whole_characters(&bytes, start == 0, start + bytes.len() as u64 == size)
                .ok_or_else(|| not_text(path.as_str(), &bytes))?;
            let range = FileByteRange { start: start + kept.start as u64, end: start + kept.end as u64 };
            (text.to_owned(), range, "utf-8")
        }
    };
    Ok(Output {
        path: path.to_string(),
        content,
        etag,
        mtime_ms,
        truncated: range.end < asked.end.min(size),
        encoding: encoding.to_owned(),
        size_bytes: size,
        range,
    })
}

/// Returns the text in `bytes` without incomplete characters at the ends, and the range of its bytes. Returns
/// `None` if the bytes are not UTF-8.
fn whole_characters(bytes: &[u8], at_start: bool, at_end: bool) -> Option<(&str, Range<usize>)> {
    let is_tail = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    let skipped = if at_start { 0 } else { bytes.iter().take(3).take_while(|byte| is_tail(byte)).count() };
    let rest = &bytes[skipped..];
    let kept = match std::str::from_utf8(rest) {
        Ok(text) => text,
        // An error without a length is a character that continues after the last byte.
        Err(error) if error.error_len().is_none() && !at_end => {
            std::str::from_utf8(&rest[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    Some((kept, skipped..skipped + kept.len()))
}

fn not_text(path: &str, bytes: &[u8]) -> Fault {
    let guess = match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "; it looks like UTF-16",
        [0x89, b'P', b'N', b'G', ..] => "; it looks like a PNG image",
        [b'%', b'P', b'D', b'F', ..] => "; it looks like a PDF",
        _ => "",
    };
    Fault::new(Failure::PreconditionFailed, format!("`{path}` is not UTF-8 text{guess}"))
        .hint("read it with as: \"base64\"")
}

#[cfg(test)]
mod tests {
    use base64::prelude::{BASE64_STANDARD, Engine as _};

    use super::whole_characters;

    #[test]
    fn a_part_never_splits_a_character() {
        let bytes = "aé€😀z".as_bytes();
        for start in 0..=bytes.len() {
            for end in start..=bytes.len() {
                let part = &bytes[start..end];
                let (text, kept) = whole_characters(part, start == 0, end == bytes.len()).unwrap();
                assert_eq!(text.as_bytes(), &part[kept.clone()]);
                assert!(kept.start <= 3 && part.len() - kept.end <= 3, "{start}..{end} kept {kept:?}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_told_from_cut_characters() {
        assert_eq!(whole_characters(b"ab\xff", true, true), None);
        assert_eq!(whole_characters(b"ab\xff", true, false), None);
        assert_eq!(whole_characters(b"ab\xc3", true, true), None);
        assert_eq!(whole_characters(b"ab\xc3", true, false), Some(("ab", 0..2)));
        assert_eq!(whole_characters(b"\xa9b", true, true), None);
        assert_eq!(whole_characters(b"\xa9b", false, true), Some(("b", 1..2)));
    }

    #[test]
    fn the_vectors_of_rfc_4648_come_out() {
        let encode = |bytes: &[u8]| BASE64_STANDARD.encode(bytes);
        let words = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let coded = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (word, coded) in words.iter().zip(coded) {
            assert_eq!(encode(word.as_bytes()), coded);
        }
        assert_eq!(encode(&[0xfb, 0xff, 0xfe]), "+//+");
    }
}
