//! Contents of an artifact, up to the size limit of one response.

use std::fs::File;
use std::io::{self, Read};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::ResourceContents;

/// Size limit. The rest of a longer artifact can be read with `artifact.read`.
const MOST: u64 = 1024 * 1024;

/// Returns text as text and anything else as a blob, with a note on how to read the rest of a truncated artifact.
pub(super) fn contents(
    uri: &str,
    run: &str,
    path: &str,
    mut file: File,
) -> io::Result<Vec<ResourceContents>> {
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.by_ref().take(MOST).read_to_end(&mut bytes)?;
    let read = bytes.len() as u64;
    let cut = read == MOST && size > MOST;
    let mut contents = vec![match text(bytes, cut) {
        Ok(text) => ResourceContents::text(text, uri).with_mime_type("text/plain"),
        Err(bytes) => {
            ResourceContents::blob(STANDARD.encode(bytes), uri).with_mime_type("application/octet-stream")
        }
    }];
    if cut {
        let note = format!(
            "The first {read} of {size} bytes. The tool artifact_read reads on: \
             {{\"run\":\"{run}\",\"path\":\"{path}\",\"bytes\":{{\"start\":{read},\"count\":65536}}}}; it also takes lines, head, tail and grep."
        );
        contents.push(ResourceContents::text(note, uri).with_mime_type("text/plain"));
    }
    Ok(contents)
}

/// Decodes the bytes. A truncated text may end within a character, which is left out.
fn text(bytes: Vec<u8>, cut: bool) -> Result<String, Vec<u8>> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) if cut && error.utf8_error().error_len().is_none() => {
            let valid = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(valid);
            String::from_utf8(bytes).map_err(|error| error.into_bytes())
        }
        Err(error) => Err(error.into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn half_a_character_at_a_cut_does_not_make_a_text_a_blob() {
        let bytes = "grün".as_bytes();
        assert_eq!(text(bytes.to_vec(), false), Ok("grün".to_owned()));
        assert_eq!(text(bytes[..3].to_vec(), true), Ok("gr".to_owned()));
        assert_eq!(text(bytes[..3].to_vec(), false), Err(bytes[..3].to_vec()));
        assert_eq!(text(vec![0xff, b'a'], true), Err(vec![0xff, b'a']));
    }
}
