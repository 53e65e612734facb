//! Braces that are text: which belong together, and which look meant otherwise.

use super::NoteKind;
use crate::reference::Spelled;
use crate::{Reference, Scope};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opened {
    Single,
    Double,
}

/// The braces of one string that are text: which are open, and which doubled ones look meant otherwise.
#[derive(Default)]
pub(super) struct Braces {
    open: Vec<Opened>,
    /// The first word that stood between doubled braces.
    doubled_word: Option<String>,
    stray_close: bool,
}

impl Braces {
    pub(super) fn open_single(&mut self) {
        self.open.push(Opened::Single);
    }

    pub(super) fn open_double(&mut self, after: &str) {
        self.open.push(Opened::Double);
        if self.doubled_word.is_some() {
            return;
        }
        let window = after.as_bytes().get(..256).unwrap_or(after.as_bytes());
        let end = window.iter().position(|b| matches!(b, b'{' | b'}' | b'\n'));
        let Some(inner) = end.filter(|end| after[*end..].starts_with("}}")).map(|end| &after[..end]) else {
            return;
        };
        if !matches!(Reference::read(inner.trim(), &Scope::default()), Spelled::Other) {
            self.doubled_word = Some(inner.to_owned());
        }
    }

    /// Takes what follows a `}`; gives back what is left once a second one that belongs to it is gone.
    pub(super) fn close<'t>(&mut self, after: &'t str) -> &'t str {
        let Some(after_double) = after.strip_prefix('}') else {
            if self.open.last() == Some(&Opened::Single) {
                self.open.pop();
            }
            return after;
        };
        match self.open.pop() {
            Some(Opened::Single) => after,
            Some(Opened::Double) => after_double,
            None => {
                self.stray_close = true;
                after_double
            }
        }
    }

    pub(super) fn report(self, note: &mut dyn FnMut(NoteKind)) {
        if let Some(word) = self.doubled_word {
            note(NoteKind::DoubledBraces { text: format!("{{{{{word}}}}}"), becomes: format!("{{{word}}}") });
        } else if self.open.contains(&Opened::Double) {
            note(NoteKind::DoubledBraces { text: "{{".to_owned(), becomes: "{".to_owned() });
        } else if self.stray_close {
            note(NoteKind::DoubledBraces { text: "}}".to_owned(), becomes: "}".to_owned() });
        }
    }
}
