//! The text of questions.

use app::approval_queue::choices;
use engine::ApprovalRequest;

use crate::screen::TextStyle;
use app::display_text::escape_line;

/// The question about one call, in full: a client's dialog may have cut it. `shown` is its text, with colours if there
/// are any.
pub(super) fn call_question(request: &ApprovalRequest, shown: &str, paint: TextStyle) -> String {
    format!(
        "{}{shown}\n{}",
        client_line(request.client.as_deref(), paint),
        paint.bold(format!("May this call run? {}", choices(request.remembering, ""))),
    )
}

/// A line with the client's name for itself, if it sent one.
pub(super) fn client_line(client: Option<&str>, paint: TextStyle) -> String {
    client
        .map(|client| format!("{}\n", paint.dim(format!("from {}", escape_line(client)))))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use engine::{ApprovalRequest, RememberScope};
    use envelope::{CallId, ClientId, Hash, Risk, RunId, StepId, ToolName};
    use expect_test::expect;
    use serde_json::json;

    use super::{call_question, choices};
    use crate::screen::TextStyle;
    use app::approvals::{ApprovalReason, FrontEnd};

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
            remembering: RememberScope::Reasons,
            client: Some("a client 1.0".to_owned()),
            policy: Hash::of(b"policy"),
        }
    }

    #[test]
    fn a_question_says_how_long_always_is() {
        let server = " until the server stops";
        assert_eq!(
            choices(RememberScope::Reasons, server),
            "[y]es once, [a]lways for this reason until the server stops, [N]o"
        );
        assert_eq!(choices(RememberScope::Reasons, ""), "[y]es once, [a]lways for this reason, [N]o");
        assert_eq!(choices(RememberScope::Nothing, server), "[y]es once, [N]o");
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
        .assert_eq(&call_question(&request, &request.text, TextStyle::plain()).replace(&long, "LONG"));
    }

    #[test]
    fn always_is_for_the_same_client_and_the_same_policy_alone() {
        let (client, other_client) = (ClientId::local(), ClientId::default_token());
        let change: [fn(&mut ApprovalRequest); 4] = [
            |request| request.policy = Hash::of(b"another rule 1"),
            |request| request.why.push('.'),
            |request| request.tool = ToolName::parse("vault.writeFile").unwrap(),
            |request| request.remembering = RememberScope::Exactly(Hash::of(b"")),
        ];
        for (number, change) in change.into_iter().enumerate() {
            let mut other = request();
            change(&mut other);
            assert_ne!(
                ApprovalReason::of(&other, &client, FrontEnd::Mcp),
                ApprovalReason::of(&request(), &client, FrontEnd::Mcp),
                "{number}"
            );
        }
        assert_ne!(
            ApprovalReason::of(&request(), &other_client, FrontEnd::Mcp),
            ApprovalReason::of(&request(), &client, FrontEnd::Mcp)
        );
        assert_ne!(
            ApprovalReason::of(&request(), &client, FrontEnd::Responses),
            ApprovalReason::of(&request(), &client, FrontEnd::Mcp)
        );
        // The client's name for itself makes no difference, in either direction.
        let says = Some("another name".to_owned());
        let same = ApprovalRequest { input: json!(1), exact: Hash::of(b"1"), client: says, ..request() };
        assert_eq!(
            ApprovalReason::of(&same, &client, FrontEnd::Mcp),
            ApprovalReason::of(&request(), &client, FrontEnd::Mcp)
        );
    }
}
