//! Standard output for answers, standard error for everything else.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

pub(crate) use app::TextStyle;
use envelope::escape_json;
use serde::Serialize;

/// The first error of standard output. Kept here, since each line of an answer is printed on its own.
static FIRST_WRITE_ERROR: OnceLock<String> = OnceLock::new();

/// Prints one line of the answer.
pub(crate) fn print(line: impl Display) {
    note_write(writeln!(io::stdout().lock(), "{line}"));
}

/// Records whether a write succeeded. A reader that has closed the pipe (`| head`) is not an error.
pub(crate) fn note_write(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        FIRST_WRITE_ERROR.get_or_init(|| error.to_string());
    }
}

/// Flushes standard output and returns the first write error. Called at the end.
pub(crate) fn write_error() -> Option<&'static str> {
    note_write(io::stdout().flush());
    FIRST_WRITE_ERROR.get().map(String::as_str)
}

/// Prints one line beside the answer: progress, questions, errors.
pub(crate) fn notice(line: impl Display) {
    let _gone = writeln!(io::stderr().lock(), "{line}");
}

/// Prints the answer as one JSON value: indented on a terminal, on one line otherwise, without control characters.
pub(crate) fn json(value: &impl Serialize) {
    let stdout = io::stdout();
    let text =
        if stdout.is_terminal() { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    match text {
        Ok(text) => print(escape_json(&text)),
        Err(error) => {
            FIRST_WRITE_ERROR.get_or_init(|| format!("it has no JSON form: {error}"));
        }
    }
}

/// The colours of standard output; none if it is not a terminal.
pub(crate) fn stdout_paint() -> TextStyle {
    paint(io::stdout().is_terminal())
}

/// The colours of standard error; none if it is not a terminal.
pub(crate) fn stderr_paint() -> TextStyle {
    paint(io::stderr().is_terminal())
}

fn paint(is_terminal: bool) -> TextStyle {
    if is_terminal && colours_enabled() { TextStyle::coloured() } else { TextStyle::plain() }
}

/// <https://no-color.org>: any value except the empty one turns colours off.
fn colours_enabled() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
