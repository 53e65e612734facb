//! Colours of rendered text, or none. Pure: the caller decides.

use std::fmt::Display;

/// Adds colours to text, or leaves it plain.
#[derive(Debug, Clone, Copy)]
pub struct TextStyle {
    on: bool,
}

impl TextStyle {
    /// Returns the style without colours: for text that is hashed, stored, or read by a program.
    pub fn plain() -> TextStyle {
        TextStyle { on: false }
    }

    /// Returns the style with ANSI colours, for a terminal.
    pub fn coloured() -> TextStyle {
        TextStyle { on: true }
    }

    pub fn good(self, text: impl Display) -> String {
        self.wrap("32", text)
    }

    pub fn bad(self, text: impl Display) -> String {
        self.wrap("31;1", text)
    }

    pub fn odd(self, text: impl Display) -> String {
        self.wrap("33", text)
    }

    pub fn dim(self, text: impl Display) -> String {
        self.wrap("2", text)
    }

    pub fn bold(self, text: impl Display) -> String {
        self.wrap("1", text)
    }

    pub fn removed(self, text: impl Display) -> String {
        self.wrap("31", text)
    }

    pub fn added(self, text: impl Display) -> String {
        self.wrap("32", text)
    }

    /// Marks removed words of a line. Without colours, as git does.
    pub fn removed_word(self, text: impl Display) -> String {
        if self.on { self.wrap("31;7", text) } else { format!("[-{text}-]") }
    }

    /// Marks added words of a line.
    pub fn added_word(self, text: impl Display) -> String {
        if self.on { self.wrap("32;7", text) } else { format!("{{+{text}+}}") }
    }

    fn wrap(self, code: &str, text: impl Display) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_string() }
    }
}
