//! What a run would do, found out before anyone is asked about it.
//!
//! The engine does not know how: whoever starts a run brings something that can foresee it. What was foreseen
//! becomes part of the question, and a yes counts only if the same is still foreseen when it comes.

use envelope::Hash;
use toolkit::BoxFuture;

use crate::catch::catch_panic;

/// What is foreseen at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outlook {
    /// What a person is shown, safe to show. A part of the question, and hashed with it.
    pub text: String,
    /// Of everything that would be done, also of what the text leaves out.
    pub fingerprint: Hash,
    /// In what it differs from the last time, one line each.
    pub differs: Vec<String>,
}

/// Whoever can tell what a run would do.
pub trait Foresight: Send + Sync {
    /// Looks anew at every call. Changes nothing.
    fn foresee(&self) -> BoxFuture<'_, Outlook>;
}

/// Whether an engine acts, or only finds out what would be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Act,
    /// The tools work on something imagined. What no imagination contains, a command, is not called.
    Foresee,
}

/// The outlook, whatever happens to whoever gives it: a question is asked without one rather than not at all.
pub(crate) async fn outlook(foresight: &dyn Foresight) -> Outlook {
    catch_panic(foresight.foresee()).await.unwrap_or_else(|panic| Outlook {
        text: format!("What would happen cannot be foreseen: {panic}"),
        fingerprint: Hash::of(panic.as_bytes()),
        differs: Vec::new(),
    })
}

/// The question with what is foreseen below it.
pub(crate) fn with_outlook(question: &str, outlook: &Outlook) -> String {
    let mut text = question.to_owned();
    if !outlook.differs.is_empty() {
        text.push_str("\nWhat would happen is not what was foreseen before:\n");
        for line in &outlook.differs {
            text.push_str(&format!("  {line}\n"));
        }
    }
    format!("{text}\n{}\nForeseen: {}\n", outlook.text.trim_end(), outlook.fingerprint)
}
