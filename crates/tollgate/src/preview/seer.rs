//! The preview as a part of the question: what the engine asks for before and after the yes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::{Foresight, Outlook, RunCancel};
use envelope::Hash;
use toolkit::BoxFuture;

use super::{Preview, Rehearsal, SavedPreview};
use crate::diff::Limits;
use crate::screen::Paint;
use crate::stop::Stop;
use crate::visible::visible;

/// Foresees one plan, and remembers what it told last.
pub(crate) struct Seer {
    rehearsal: Rehearsal,
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    /// What the next preview is compared with.
    before: Option<SavedPreview>,
    /// The preview that a person saw in full before this question.
    seen: Option<Hash>,
    shown: Option<Shown>,
}

/// One outlook in both its forms: the text is the coloured one without its colours.
struct Shown {
    text: String,
    coloured: String,
}

impl Seer {
    /// `previewed` is what the person has seen already, if anything.
    pub(crate) fn new(rehearsal: Rehearsal, previewed: Option<SavedPreview>) -> Seer {
        let seen = previewed.as_ref().map(|saved| saved.fingerprint);
        Seer { rehearsal, last: Mutex::new(Last { before: previewed, seen, shown: None }) }
    }

    /// A text of ours with the last outlook in it, in colours. Only what is exactly the plain form is replaced,
    /// so what is seen says what was hashed.
    pub(crate) fn coloured(&self, text: &str) -> String {
        match &self.last().shown {
            Some(shown) => text.replacen(&shown.text, &shown.coloured, 1),
            None => text.to_owned(),
        }
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn look(&self) -> Outlook {
        match self.rehearsal.perform(Limits::screen(), RunCancel::new()).await {
            Ok(preview) => self.tell(&preview),
            Err(Stop { message, .. }) => Outlook {
                text: format!("What would happen cannot be foreseen: {}", visible(&message)),
                fingerprint: Hash::of(message.as_bytes()),
                differs: Vec::new(),
            },
        }
    }

    fn tell(&self, preview: &Preview) -> Outlook {
        let mut last = self.last();
        let compared = last.before.as_ref().map(|before| self.rehearsal.differences(before, preview));
        let differs = compared.unwrap_or_default();
        last.before = Some(SavedPreview::of(preview));
        let shown = if last.seen == Some(preview.fingerprint) {
            let text = "This would do exactly what was previewed.".to_owned();
            Shown { coloured: text.clone(), text }
        } else {
            Shown { text: preview.plain(), coloured: preview.render(Paint::stderr()).join("\n") }
        };
        let text = shown.text.clone();
        last.shown = Some(shown);
        Outlook { text, fingerprint: preview.fingerprint, differs }
    }
}

impl Foresight for Seer {
    fn foresee(&self) -> BoxFuture<'_, Outlook> {
        Box::pin(self.look())
    }
}
