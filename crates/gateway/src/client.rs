//! Who sent a call, and who is asked about it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use engine::Approver;
use envelope::{ClientId, is_invisible};

/// Makes the approver that asks on behalf of one client: what it remembers and limits, it does for that client alone.
pub type ApproverOf = Arc<dyn Fn(&ClientId, FrontEnd) -> Arc<dyn Approver> + Send + Sync>;

/// How a client came in. Programs that share a token are still told apart by it: what you allow an agent over MCP you
/// have not allowed every model that is asked over the Responses API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrontEnd {
    Mcp,
    Responses,
    /// Whoever is at the command line.
    Local,
}

/// A client: its identity, and what it says of itself. Only the identity decides anything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Client {
    pub(crate) id: ClientId,
    /// What it calls itself. Bounded, without control characters.
    pub(crate) says: String,
}

impl fmt::Display for Client {
    /// As questions and records show it. The identity comes first and has no spaces, so that no name passes for one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (says it is {})", self.id, self.says)
    }
}

/// The beginning of a text, without what a terminal would act on.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    const CHARS: usize = 60;
    if text.len() <= CHARS && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| !is_invisible(*c)).take(CHARS).collect())
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn what_a_client_calls_itself_is_short_and_acts_on_nothing() {
        let long = "é".repeat(100);
        for (text, shown) in [
            ("codex", "codex"),
            ("a\u{1b}[31m\u{9b}b\n\u{e0041}", "a[31mb"),
            (&long, &*"é".repeat(60)),
            ("", ""),
        ] {
            assert_eq!(printable(text), shown);
        }
        assert_eq!(printable(&"x".repeat(61)).len(), 60);
    }
}
