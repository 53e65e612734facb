//! The two streams a person sees. Answers go to standard output, everything else to standard error.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use envelope::escape_json;
use serde::Serialize;

/// Why a part of the answer did not get out. Kept here, since every line of an answer is said on its own.
static LOST: OnceLock<String> = OnceLock::new();

/// One line of the answer.
pub(crate) fn say(line: impl Display) {
    said(writeln!(io::stdout().lock(), "{line}"));
}

/// Takes note of whether a part of the answer got out. A reader that went away (`| head`) is no error of ours.
pub(crate) fn said(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        LOST.get_or_init(|| error.to_string());
    }
}

/// Why the answer is not all there, if it is not. To be asked at the end.
pub(crate) fn lost() -> Option<&'static str> {
    said(io::stdout().flush());
    LOST.get().map(String::as_str)
}

/// One line about the answer: progress, questions, errors.
pub(crate) fn note(line: impl Display) {
    let _gone = writeln!(io::stderr().lock(), "{line}");
}

/// The answer as one JSON value: indented for a person, on one line for a program, and safe to print for both.
pub(crate) fn json(value: &impl Serialize) {
    let stdout = io::stdout();
    let text =
        if stdout.is_terminal() { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    match text {
        Ok(text) => say(escape_json(&text)),
        Err(error) => {
            LOST.get_or_init(|| format!("it has no JSON form: {error}"));
        }
    }
}

/// Colours, or none where nobody would see them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    pub(crate) fn stdout() -> Paint {
        Paint { on: io::stdout().is_terminal() && wanted() }
    }

    pub(crate) fn stderr() -> Paint {
        Paint { on: io::stderr().is_terminal() && wanted() }
    }

    /// No colours, whoever reads it: for text that is hashed or kept.
    pub(crate) fn plain() -> Paint {
        Paint { on: false }
    }

    #[cfg(test)]
    pub(crate) fn coloured() -> Paint {
        Paint { on: true }
    }

    pub(crate) fn good(self, text: impl Display) -> String {
        self.wrap("32", text)
    }

    pub(crate) fn bad(self, text: impl Display) -> String {
        self.wrap("31;1", text)
    }

    pub(crate) fn odd(self, text: impl Display) -> String {
        self.wrap("33", text)
    }

    pub(crate) fn dim(self, text: impl Display) -> String {
        self.wrap("2", text)
    }

    pub(crate) fn bold(self, text: impl Display) -> String {
        self.wrap("1", text)
    }

    pub(crate) fn removed(self, text: impl Display) -> String {
        self.wrap("31", text)
    }

    pub(crate) fn added(self, text: impl Display) -> String {
        self.wrap("32", text)
    }

    /// The words of a line that go. Without colours they are marked as git marks them.
    pub(crate) fn removed_word(self, text: impl Display) -> String {
        if self.on { self.wrap("31;7", text) } else { format!("[-{text}-]") }
    }

    /// The words of a line that come.
    pub(crate) fn added_word(self, text: impl Display) -> String {
        if self.on { self.wrap("32;7", text) } else { format!("{{+{text}+}}") }
    }

    fn wrap(self, code: &str, text: impl Display) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_string() }
    }
}

/// <https://no-color.org>: any value but the empty one turns colours off.
fn wanted() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
