//! Checks before every call that the tool is still approved. A run keeps the tools that it began with, so a revoked
//! approval must take effect at the next call.

use std::sync::Arc;

use envelope::{Failure, Fault};

use crate::ServerPin;

/// Returns the current approval of a server, or why it cannot be read. Called before every call, so it must be
/// fast.
pub type ApprovalLookup = Arc<dyn Fn() -> Result<Option<Arc<ServerPin>>, String> + Send + Sync>;

/// Returns an error if a tool that was approved when its run began has lost its approval, or is approved with
/// another declaration.
pub(crate) fn check_approval(
    server: &str,
    who: &str,
    tool: &str,
    pin: &ServerPin,
    now: &ApprovalLookup,
) -> Result<(), Fault> {
    let approve = || format!("review it with `tollgate servers approve {server}`");
    let blocked = |why: &str, hint: String| {
        Fault::new(Failure::BlockedTool, format!("{who} {why}; nothing was called"))
            .hint(hint)
            .detail("server", server)
    };
    let now = match now() {
        Ok(Some(now)) => now,
        Ok(None) => {
            return Err(blocked(
                "cannot be called, because the approval of its server was revoked",
                approve(),
            ));
        }
        Err(why) => {
            return Err(blocked(&format!("cannot be checked against the approved tools: {why}"), approve()));
        }
    };
    if now.identity != pin.identity || now.find(tool).is_none() {
        return Err(blocked("is no longer among the approved tools of its server", approve()));
    }
    if now.find(tool) != pin.find(tool) {
        let again = "call it in a new run, which uses the current declaration".to_owned();
        return Err(blocked("was approved with another declaration since this run began", again));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use envelope::Hash;
    use expect_test::expect;
    use serde_json::json;

    use super::{ApprovalLookup, check_approval};
    use crate::{ServerPin, ToolDeclaration};

    fn pin(identity: &str, description: &str) -> ServerPin {
        let tool = json!({"name": "t", "description": description, "inputSchema": {"type": "object"}});
        ServerPin {
            identity: Hash::of(identity.as_bytes()),
            tools: vec![ToolDeclaration::parse(&tool).unwrap()],
        }
    }

    #[test]
    fn a_word_that_is_taken_back_counts_at_the_next_call() {
        let none = ServerPin { tools: Vec::new(), ..pin("a", "x") };
        let said: Vec<String> = [
            Ok(Some(pin("a", "x"))),
            Ok(None),
            Ok(Some(pin("b", "x"))),
            Ok(Some(none)),
            Ok(Some(pin("a", "y"))),
            Err("no such disk".to_owned()),
        ]
        .into_iter()
        .map(|now: Result<Option<ServerPin>, String>| {
            let now = now.map(|pin| pin.map(Arc::new));
            let now: ApprovalLookup = Arc::new(move || now.clone());
            match check_approval("s", "mcp.s.t", "t", &pin("a", "x"), &now) {
                Ok(()) => "called".to_owned(),
                Err(fault) => format!("{}: {}\n  {}", fault.failure, fault.message, fault.recovery_hint()),
            }
        })
        .collect();
        expect![[r#"
            called
            blocked_tool: mcp.s.t cannot be called, because the approval of its server was revoked; nothing was called
              review it with `tollgate servers approve s`
            blocked_tool: mcp.s.t is no longer among the approved tools of its server; nothing was called
              review it with `tollgate servers approve s`
            blocked_tool: mcp.s.t is no longer among the approved tools of its server; nothing was called
              review it with `tollgate servers approve s`
            blocked_tool: mcp.s.t was approved with another declaration since this run began; nothing was called
              call it in a new run, which uses the current declaration
            blocked_tool: mcp.s.t cannot be checked against the approved tools: no such disk; nothing was called
              review it with `tollgate servers approve s`"#]].assert_eq(&said.join("\n"));
    }
}
