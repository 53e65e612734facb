//! Names and ids as types, so that a step id can never be passed where a call id is meant.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The reason why a text is not a valid id or name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{raw}` is not a {what}: {rule}")]
pub struct BadId {
    pub what: &'static str,
    pub raw: String,
    pub rule: &'static str,
}

/// Defines an id type: shared, immutable text with a parsing constructor. Cloning costs a reference count.
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $pattern:literal, $rule:literal, $valid:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Parses untrusted text; afterwards the type guarantees validity.
            pub fn parse(raw: &str) -> Result<$name, BadId> {
                let valid: fn(&str) -> bool = $valid;
                if valid(raw) {
                    Ok($name(raw.into()))
                } else {
                    Err(BadId { what: $what, raw: raw.to_owned(), rule: $rule })
                }
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(raw: String) -> Result<$name, BadId> {
                $name::parse(&raw)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    };
}

/// A letter, then letters, digits, `_` or `-`: a name that a reference such as `$steps.<id>.path` can spell.
fn is_name(raw: &str) -> bool {
    raw.len() <= 64
        && raw.starts_with(|c: char| c.is_ascii_alphabetic())
        && raw.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Any printable text that fits on a log line.
fn is_opaque(raw: &str) -> bool {
    !raw.is_empty() && raw.len() <= 128 && raw.bytes().all(|b| b.is_ascii_graphic())
}

/// Words of letters, digits, `_` and `-`, joined by single dots.
fn is_tool_name(raw: &str) -> bool {
    raw.len() <= 128
        && raw.starts_with(|c: char| c.is_ascii_alphabetic())
        && raw.split('.').all(|word| {
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        })
}

/// A name of letters, digits, `.`, `_` or `-`, optionally followed by `/` and a serial of the same
/// characters.
fn is_client_id(raw: &str) -> bool {
    let is_part = |part: &str| {
        (1..=64).contains(&part.len())
            && part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    match raw.split_once('/') {
        Some((name, serial)) => is_part(name) && is_part(serial),
        None => is_part(raw),
    }
}

text_id!(
    /// The identity of a client: the name of its token with a serial, or its connection. Assigned by the
    /// server that accepts the client, never taken from the client's own claims.
    ClientId, "client id", "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(/[A-Za-z0-9][A-Za-z0-9._-]{0,63})?$",
    "start with a letter or digit, then use letters, digits, `.`, `_` or `-`, at most 64", is_client_id
);
text_id!(
    /// One execution of one plan.
    RunId, "run id", "^[!-~]{1,128}$", "use 1 to 128 printable ASCII characters without spaces", is_opaque
);
text_id!(
    /// A group of runs that are undone together: the single calls and the plans of one client over one connection or in
    /// one conversation.
    SessionId, "session id", "^[!-~]{1,128}$", "use 1 to 128 printable ASCII characters without spaces", is_opaque
);
text_id!(
    /// One attempt at one call; unique within its run.
    CallId, "call id", "^[!-~]{1,128}$", "use 1 to 128 printable ASCII characters without spaces", is_opaque
);
text_id!(
    /// One answer of the user to one question.
    ConfirmationId, "confirmation id", "^[!-~]{1,128}$",
    "use 1 to 128 printable ASCII characters without spaces", is_opaque
);
text_id!(
    /// A step of a plan.
    StepId, "step id", "^[A-Za-z][A-Za-z0-9_-]{0,63}$",
    "start with a letter, then use letters, digits, `_` or `-`, at most 64 in all", is_name
);
text_id!(
    /// A variable of a plan: a key of `vars`, a `captureAs`, or the item or index name of a foreach.
    VarName, "variable name", "^[A-Za-z][A-Za-z0-9_-]{0,63}$",
    "start with a letter, then use letters, digits, `_` or `-`, at most 64 in all", is_name
);
text_id!(
    /// The name a tool is registered under, in its own spelling (`vault.createFile`).
    ToolName, "tool name", "^[A-Za-z][A-Za-z0-9_-]*(\\.[A-Za-z0-9_-]+)*$",
    "use words of letters, digits, `_` or `-`, joined by single dots, such as `vault.readFile`", is_tool_name
);

impl RunId {
    pub fn from_uuid(id: Uuid) -> RunId {
        RunId(id.to_string().into())
    }

    /// Returns the milliseconds since 1970 in a time-ordered id (UUID version 7); `None` for any other id.
    pub fn millis(&self) -> Option<u64> {
        let id = Uuid::try_parse(self.as_str()).ok().filter(|id| id.get_version_num() == 7)?;
        let (seconds, nanos) = id.get_timestamp()?.to_unix();
        Some(seconds * 1_000 + u64::from(nanos) / 1_000_000)
    }
}

impl ClientId {
    /// The client with the server's own token.
    pub const DEFAULT: &str = "default";
    /// Local use of Tollgate on this machine, without a token.
    pub const LOCAL: &str = "local";
    /// Clients that are connected through pipes.
    pub const STDIO: &str = "stdio";

    /// Returns the id of the client with the server's own token.
    pub fn default_token() -> ClientId {
        ClientId(ClientId::DEFAULT.into())
    }

    /// Returns the id for local use without a token.
    pub fn local() -> ClientId {
        ClientId(ClientId::LOCAL.into())
    }

    /// Returns the id of a client connected through pipes. The last letters and digits of `serial`
    /// distinguish it from other such clients.
    pub fn stdio(serial: &str) -> ClientId {
        const LETTERS: usize = 12;
        let usable: Vec<char> = serial.chars().filter(char::is_ascii_alphanumeric).collect();
        let serial: String = usable[usable.len().saturating_sub(LETTERS)..].iter().collect();
        ClientId(format!("{}/{serial}", ClientId::STDIO).into())
    }

    /// Returns the part that users know: the name of the token.
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&*self.0, |(name, _serial)| name)
    }
}

impl ConfirmationId {
    pub fn from_uuid(id: Uuid) -> ConfirmationId {
        ConfirmationId(id.to_string().into())
    }
}

impl StepId {
    /// Returns the step id of a call without a plan: `call-1`, `call-2`.
    pub fn of_call(number: u64) -> StepId {
        StepId(format!("call-{number}").into())
    }

    /// Returns the number of a call without a plan.
    pub fn call_number(&self) -> Option<u64> {
        let digits = self.0.strip_prefix("call-")?;
        let number: u64 = digits.parse().ok()?;
        // `call-01` is a different name from `call-1`.
        (itoa::Buffer::new().format(number) == digits).then_some(number)
    }
}

impl CallId {
    /// Derives the id of one attempt: a name-based UUID of run, step, index and attempt.
    ///
    /// Derived instead of random, so that a call that is dispatched again after a crash keeps its id and a
    /// tool can use it as an idempotency key.
    pub fn derive(run: &RunId, step: &StepId, index: Option<u64>, attempt: u32) -> CallId {
        // An absent index is spelled out as well: step `a` and item 0 of step `a` are different calls.
        let (mut number, mut count) = (itoa::Buffer::new(), itoa::Buffer::new());
        let index = index.map_or("-", |index| number.format(index));
        let name =
            ["tollgate:", run.as_str(), "/", step.as_str(), "/", index, "/", count.format(attempt)].concat();
        let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
        let id: &str =
            Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).hyphenated().encode_lower(&mut text);
        CallId(id.into())
    }
}

#[cfg(test)]
mod tests {
    use super::{CallId, ClientId, RunId, StepId, ToolName};

    #[test]
    fn a_client_id_is_a_name_with_or_without_a_serial() {
        for (raw, name) in [("default", "default"), ("laptop/3f2a91bc", "laptop"), ("stdio/7", "stdio")] {
            assert_eq!(ClientId::parse(raw).unwrap().name(), name);
        }
        for bad in ["", "/", "a/", "/b", "a b", "a/b/c", "-a", "a\u{1b}", &"x".repeat(65)] {
            assert!(ClientId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_ids_that_calls_without_a_plan_have_are_numbers() {
        for number in [1, 20, u64::MAX] {
            assert_eq!(StepId::of_call(number).call_number(), Some(number));
        }
        for other in ["call-01", "call-", "call-x", "read", "call-99999999999999999999", "call-+1"] {
            assert_eq!(StepId(other.into()).call_number(), None, "{other}");
        }
    }

    // Conformance: envelope 3.1
    #[test]
    fn call_ids_differ_by_every_part_and_repeat_for_equal_parts() {
        let run = RunId::parse("run").unwrap();
        let (a, b) = (StepId::parse("a").unwrap(), StepId::parse("b").unwrap());
        let ids = [
            CallId::derive(&run, &a, None, 1),
            CallId::derive(&run, &a, None, 2),
            CallId::derive(&run, &a, Some(0), 1),
            CallId::derive(&run, &a, Some(1), 1),
            CallId::derive(&run, &b, None, 1),
        ];
        let distinct: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len());
        assert_eq!(ids[3], CallId::derive(&run, &a, Some(1), 1));
        // Existing records contain these ids.
        assert_eq!(ids[0].as_str(), "9fc34c76-7ba6-5b1a-8aab-97a2b5f118ca");
        assert_eq!(CallId::derive(&run, &a, Some(12), 3).as_str(), "1dd5b182-2000-5682-8b60-fe91be24b2f4");
    }

    #[test]
    fn names_are_parsed_at_the_border() {
        assert!(StepId::parse("read-inbox_2").is_ok());
        for bad in ["", "2a", "a.b", "a b", "ä", &"x".repeat(65)] {
            assert!(StepId::parse(bad).is_err(), "{bad:?}");
        }
        assert!(ToolName::parse("vault.createFile").is_ok());
        assert!(ToolName::parse("ExecCommand").is_ok());
        for bad in ["", ".a", "a.", "a..b", "a b", "vault/createFile"] {
            assert!(ToolName::parse(bad).is_err(), "{bad:?}");
        }
    }
}
