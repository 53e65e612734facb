//! Where plans and arguments come from: a file, or standard input.

use std::io::Read;
use std::path::Path;

use crate::stop::Stop;

/// No plan that a person confirms is larger; more is a mistake, such as the wrong file.
const MAX_BYTES: u64 = 64 << 20;

/// Reads a file, or standard input for `-`. `what` is what ought to be in it.
pub(crate) fn read(source: &str, what: &str) -> Result<String, Stop> {
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
            return Stop::bad_input("unreadable", format!("`{name}` cannot be read: {error}"));
        }
        Stop::bad_input("no_file", format!("there is no file `{name}`"))
            .hint(format!("give the path of a file with the {what}, or `-` to read standard input"))
    })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Stop::bad_input("too_large", format!("`{name}` is larger than 64 MiB")));
    }
    String::from_utf8(bytes).map_err(|error| {
        Stop::bad_input(
            "not_text",
            format!("`{name}` is not UTF-8 text (byte {})", error.utf8_error().valid_up_to()),
        )
    })
}
