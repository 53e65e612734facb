//! Whether what a run was given to call is approved still. A run keeps the tools that it began with, so a word that a
//! person takes back meanwhile has to count at the next call.

use std::sync::Arc;

use envelope::{Failure, Fault};

use crate::Pin;

/// What is approved of a server at this moment; or why nobody can tell. Asked before every call, so it has to be quick.
pub type ApprovedNow = Arc<dyn Fn() -> Result<Option<Arc<Pin>>, String> + Send + Sync>;

/// Refuses a tool that was approved when its run began and is not now, or is approved as something else.
pub(crate) fn still_approved(
    server: &str,
    who: &str,
    tool: &str,
    pin: &Pin,
    now: &ApprovedNow,
) -> Result<(), Fault> {
    let approve = || format!("let a person look at it with `tollgate servers approve {server}`");
    let blocked = |why: &str, hint: String| {
        Fault::new(Failure::BlockedTool, format!("{who} {why}; nothing was called"))
            .hint(hint)
            .detail("server", server)
    };
    let now = match now() {
        Ok(Some(now)) => now,
        Ok(None) => {
            return Err(blocked("was called after the approval of its server was taken back", approve()));
        }
        Err(why) => {
            return Err(blocked(&format!("cannot be looked up among what is approved: {why}"), approve()));
        }
    };
    if now.identity != pin.identity || now.find(tool).is_none() {
        return Err(blocked("is not among what is approved of its server now", approve()));
    }
    if now.find(tool) != pin.find(tool) {
        let again = "call it in another run, which is told what it is now".to_owned();
        return Err(blocked("has been approved as something else since this run began", again));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use envelope::Hash;
    use expect_test::expect;
    use serde_json::json;

    use super::{ApprovedNow, still_approved};
    use crate::{Declared, Pin};

    fn pin(identity: &str, description: &str) -> Pin {
        let tool = json!({"name": "t", "description": description, "inputSchema": {"type": "object"}});
        Pin { identity: Hash::of(identity.as_bytes()), tools: vec![Declared::read(&tool).unwrap()] }
    }

    #[test]
    fn a_word_that_is_taken_back_counts_at_the_next_call() {
        let none = Pin { tools: Vec::new(), ..pin("a", "x") };
        let said: Vec<String> = [
            Ok(Some(pin("a", "x"))),
            Ok(None),
            Ok(Some(pin("b", "x"))),
            Ok(Some(none)),
            Ok(Some(pin("a", "y"))),
            Err("no such disk".to_owned()),
        ]
        .into_iter()
        .map(|now: Result<Option<Pin>, String>| {
            let now = now.map(|pin| pin.map(Arc::new));
            let now: ApprovedNow = Arc::new(move || now.clone());
            match still_approved("s", "mcp.s.t", "t", &pin("a", "x"), &now) {
                Ok(()) => "called".to_owned(),
                Err(fault) => format!("{}: {}\n  {}", fault.failure, fault.message, fault.recovery_hint()),
            }
        })
        .collect();
        expect![[r#"
            called
            blocked_tool: mcp.s.t was called after the approval of its server was taken back; nothing was called
              let a person look at it with `tollgate servers approve s`
            blocked_tool: mcp.s.t is not among what is approved of its server now; nothing was called
              let a person look at it with `tollgate servers approve s`
            blocked_tool: mcp.s.t is not among what is approved of its server now; nothing was called
              let a person look at it with `tollgate servers approve s`
            blocked_tool: mcp.s.t has been approved as something else since this run began; nothing was called
              call it in another run, which is told what it is now
            blocked_tool: mcp.s.t cannot be looked up among what is approved: no such disk; nothing was called
              let a person look at it with `tollgate servers approve s`"#]].assert_eq(&said.join("\n"));
    }
}
