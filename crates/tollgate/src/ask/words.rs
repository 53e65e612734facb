//! Questions in words, whole and safe to show.

use engine::{ApprovalRequest, Remembering};

use crate::screen::Paint;
use crate::visible::one_line;

/// The question about one call, whole: what is too long for the dialog of a client is asked here. `shown` is its text,
/// in colours where there are any.
pub(super) fn about_call(request: &ApprovalRequest, shown: &str, paint: Paint) -> String {
    format!(
        "{}{shown}\n{}",
        from(request.client.as_deref(), paint),
        paint.bold(format!("May this call run? {}", choices(request.remembering, ""))),
    )
}

/// A line about who asks, in its own words, if anyone said so.
pub(super) fn from(client: Option<&str>, paint: Paint) -> String {
    client.map(|client| format!("{}\n", paint.dim(format!("from {}", one_line(client))))).unwrap_or_default()
}

/// What may be typed about one call.
pub(crate) fn choices(remembering: Remembering, lasts: &str) -> String {
    let always = match remembering {
        Remembering::Reasons => "for this reason",
        Remembering::Exactly(_) => "for exactly this command",
        Remembering::Nothing => return "[y]es once, [N]o".to_owned(),
    };
    format!("[y]es once, [a]lways {always}{lasts}, [N]o")
}

#[cfg(test)]
mod tests {
    use engine::{ApprovalRequest, Remembering};
    use envelope::{CallId, ClientId, Hash, Risk, RunId, StepId, ToolName};
    use expect_test::expect;
    use gateway::FrontEnd;
    use serde_json::json;

    use super::{about_call, choices};
    use crate::ask::Reason;
    use crate::screen::Paint;

    fn request() -> ApprovalRequest {
        ApprovalRequest {
            run_id: RunId::parse("01890000-0000-7000-8000-000000000001").unwrap(),
            step_id: StepId::parse("call").unwrap(),
            call_id: CallId::parse("01890000-0000-7000-8000-000000000002").unwrap(),
            tool: ToolName::parse("vault.createFile").unwrap(),
            risk: Risk::Writes,
            text: "Creates 1 note: a.md.".to_owned(),
            differs: false,
            covered_by_plan: true,
            preview: "Create a.md".to_owned(),
            input: json!({}),
            exact: Hash::of(b""),
            why: "rule 1".to_owned(),
            remembering: Remembering::Reasons,
            client: Some("a client 1.0".to_owned()),
            policy: Hash::of(b"policy"),
        }
    }

    #[test]
    fn a_question_says_how_long_always_is() {
        let server = " until the server stops";
        assert_eq!(
            choices(Remembering::Reasons, server),
            "[y]es once, [a]lways for this reason until the server stops, [N]o"
        );
        assert_eq!(choices(Remembering::Reasons, ""), "[y]es once, [a]lways for this reason, [N]o");
        assert_eq!(choices(Remembering::Nothing, server), "[y]es once, [N]o");
    }

    #[test]
    fn a_question_is_shown_whole_with_who_asks_and_forges_no_line() {
        let long = "x".repeat(100_000);
        let client = Some("a client\nMay this call run?".to_owned());
        let text = format!("Creates 1 note: a.md.\nInput: {{\"content\":\"{long}, then rm\"}}");
        let request = ApprovalRequest { text, client, ..request() };
        expect![[r#"
            from a client\nMay this call run?
            Creates 1 note: a.md.
            Input: {"content":"LONG, then rm"}
            May this call run? [y]es once, [a]lways for this reason, [N]o"#]]
        .assert_eq(&about_call(&request, &request.text, Paint::plain()).replace(&long, "LONG"));
    }

    #[test]
    fn always_is_for_the_same_client_and_the_same_policy_alone() {
        let (client, other_client) = (ClientId::local(), ClientId::default_token());
        let change: [fn(&mut ApprovalRequest); 4] = [
            |request| request.policy = Hash::of(b"another rule 1"),
            |request| request.why.push('.'),
            |request| request.tool = ToolName::parse("vault.writeFile").unwrap(),
            |request| request.remembering = Remembering::Exactly(Hash::of(b"")),
        ];
        for (number, change) in change.into_iter().enumerate() {
            let mut other = request();
            change(&mut other);
            assert_ne!(
                Reason::of(&other, &client, FrontEnd::Mcp),
                Reason::of(&request(), &client, FrontEnd::Mcp),
                "{number}"
            );
        }
        assert_ne!(
            Reason::of(&request(), &other_client, FrontEnd::Mcp),
            Reason::of(&request(), &client, FrontEnd::Mcp)
        );
        assert_ne!(
            Reason::of(&request(), &client, FrontEnd::Responses),
            Reason::of(&request(), &client, FrontEnd::Mcp)
        );
        // What a client calls itself makes no difference, in either direction.
        let says = Some("another name".to_owned());
        let same = ApprovalRequest { input: json!(1), exact: Hash::of(b"1"), client: says, ..request() };
        assert_eq!(Reason::of(&same, &client, FrontEnd::Mcp), Reason::of(&request(), &client, FrontEnd::Mcp));
    }
}
