//! Reads plans and arguments from a file or from standard input.

use std::io::Read;
use std::path::Path;

use crate::cli_error::CliError;

/// A larger input is a mistake, such as the wrong file.
const MAX_BYTES: u64 = 64 << 20;

/// Reads a file, or standard input for `-`. `what` names the expected content in errors.
pub(crate) fn read_input(source: &str, what: &str) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let read = if source == "-" {
        std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(Path::new(source))
            .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
    };
    let name = if source == "-" { "standard input" } else { source };
    read.map_err(|error| {
        if error.kind() != std::io::ErrorKind::NotFound {
            return CliError::bad_input("unreadable", format!("`{name}` cannot be read: {error}"));
        }
        CliError::bad_input("no_file", format!("there is no file `{name}`"))
            .hint(format!("give the path of a file with the {what}, or `-` to read standard input"))
    })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(CliError::bad_input("too_large", format!("`{name}` is larger than 64 MiB")));
    }
    String::from_utf8(bytes).map_err(|error| {
        CliError::bad_input(
            "not_text",
            format!("`{name}` is not UTF-8 text (byte {})", error.utf8_error().valid_up_to()),
        )
    })
}
