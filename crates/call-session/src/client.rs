//! Clients that send calls, and the approvers for them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use engine::Approver;
use envelope::{ClientId, is_invisible};

/// Makes the approver of one client. Remembered approvals and limits belong to that client alone.
pub type ApproverFactory = Arc<dyn Fn(&ClientId, FrontEnd) -> Arc<dyn Approver> + Send + Sync>;

/// How a client reaches the tools: over MCP, through the Responses API, or from the command line. A new variant also needs a
/// router in `ServerBuilder::build` of the binary (`serving/server_builder.rs`). Distinguishes programs that share a token: an approval for an agent over MCP does not
/// cover every model behind the Responses API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrontEnd {
    Mcp,
    Responses,
    Cli,
}

/// A client: its identity, and the name that it gives itself. Decisions use only the identity.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientIdentity {
    pub id: ClientId,
    /// Name that the client gives itself. Bounded, without control characters.
    pub self_reported_name: String,
}

impl fmt::Display for ClientIdentity {
    /// Writes the client as questions and records show it. The identity comes first and has no spaces, so that a name cannot
    /// pass for one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (says it is {})", self.id, self.self_reported_name)
    }
}

/// Returns the beginning of a text, without characters that a terminal would act on.
pub fn printable(text: &str) -> Cow<'_, str> {
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
