//! Standard output for answers, standard error for everything else.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;

pub(crate) use app::TextStyle;
use envelope::escape_json;
use rustix::termios::tcgetwinsize;
use serde::Serialize;

use crate::line_wrap::wrap_lines;

/// The first error of standard output. Kept here, since each line of an answer is printed on its own.
static FIRST_WRITE_ERROR: OnceLock<String> = OnceLock::new();

/// Prints one line of the answer; at a terminal, wrapped to its width.
pub(crate) fn print(line: impl Display) {
    match terminal_width(&io::stdout()) {
        Some(width) => print_unwrapped(wrap_lines(&line.to_string(), width)),
        None => print_unwrapped(line),
    }
}

/// Prints a line as it is: a command to copy, text that a tool returned, JSON.
pub(crate) fn print_unwrapped(line: impl Display) {
    note_write(writeln!(io::stdout().lock(), "{line}"));
}

/// Returns the columns of a terminal; `None` if the stream is not one, or does not know.
fn terminal_width(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Returns the lines of the terminal on standard output; `None` if it is not one.
pub(crate) fn terminal_lines() -> Option<usize> {
    let stdout = io::stdout();
    let size = stdout.is_terminal().then(|| tcgetwinsize(&stdout).ok()).flatten()?;
    Some(usize::from(size.ws_row)).filter(|lines| *lines > 0)
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

/// Prints one line beside the answer: progress, questions, errors. At a terminal, wrapped to its width.
pub(crate) fn notice(line: impl Display) {
    let line = wrap_for_stderr(&line.to_string());
    let _gone = writeln!(io::stderr().lock(), "{line}");
}

/// Returns a text as [`notice`] prints it.
pub(crate) fn wrap_for_stderr(text: &str) -> String {
    match terminal_width(&io::stderr()) {
        Some(width) => wrap_lines(text, width),
        None => text.to_owned(),
    }
}

/// Prints the answer as one JSON value: indented on a terminal, on one line otherwise, without control characters.
pub(crate) fn json(value: &impl Serialize) {
    let stdout = io::stdout();
    let text =
        if stdout.is_terminal() { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    match text {
        Ok(text) => print_unwrapped(escape_json(&text)),
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
