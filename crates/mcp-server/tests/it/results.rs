//! Lists and results for clients: pages, hints, and two forms of a result that are both sufficient and bounded.

use engine::Policy;
use envelope::{ReceiptFamily, is_invisible};
use expect_test::expect;
use mcp_server::OutputSchemas;
use proptest::prelude::{ProptestConfig, prop_oneof, proptest};
use receipts::preview::tokenizer::estimate;
use serde_json::{Value, json};
use toolkit::CompiledSchema;

use crate::client::{Client, Era, text, yes};
use crate::test_server::TestServer;

async fn listed(client: &mut Client) -> Vec<Value> {
    client.request("tools/list", json!({})).await["tools"].as_array().unwrap().clone()
}

#[tokio::test]
async fn every_tool_has_a_name_that_clients_take_a_title_all_hints_and_both_schemas() {
    let server = TestServer::with(|options| options.settings.output_schemas = OutputSchemas::Listed);
    let mut client = Client::open(&server, Era::New).await;
    let tools = listed(&mut client).await;
    let mut told = String::new();
    for tool in &tools {
        let hints = &tool["annotations"];
        told += &format!(
            "{} ({}): reads {}, destroys {}, idempotent {}, open {}\n",
            tool["name"].as_str().unwrap(),
            tool["title"].as_str().unwrap(),
            hints["readOnlyHint"],
            hints["destructiveHint"],
            hints["idempotentHint"],
            hints["openWorldHint"]
        );
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert_eq!(tool["outputSchema"]["type"], "object");
    }
    expect![[r#"
        test_leave (Leave (test)): reads true, destroys false, idempotent true, open false
        test_look (Look (test)): reads true, destroys false, idempotent true, open false
        test_note (Note (test)): reads false, destroys true, idempotent false, open false
        test_wait (Wait (test)): reads true, destroys false, idempotent true, open false
        plan_check (Check (plan)): reads true, destroys false, idempotent true, open false
        plan_preview (Preview (plan)): reads true, destroys false, idempotent true, open false
        plan_run (Run (plan)): reads false, destroys true, idempotent false, open true
        run_undo (Undo (run)): reads false, destroys true, idempotent false, open true
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn data_fits_its_schema_and_errors_have_none() {
    for era in [Era::Old, Era::New] {
        let server = TestServer::with(|options| options.settings.output_schemas = OutputSchemas::Listed);
        let mut client = Client::open(&server, era).await;
        let tools = listed(&mut client).await;
        let schema = |name: &str| {
            let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
            CompiledSchema::compile(&tool["outputSchema"]).unwrap()
        };
        let look = client.call("test_look", json!({ "text": "a \"b\"\n" })).await;
        assert_eq!(look["structuredContent"]["data"], json!({ "text": "a \"b\"\n" }));
        let long = client.call("test_look", json!({ "text": "long \"words\"\n".repeat(9_000) })).await;
        assert!(long["structuredContent"]["receipt"].is_string(), "{long}");
        let (_, noted) = client.call_and_answer("test_note", json!({ "text": "n" }), yes("once")).await;
        for (name, result) in [("test_look", look), ("test_look", long), ("test_note", noted)] {
            assert_eq!(schema(name).validate(&result["structuredContent"]), []);
        }
        let refused = client.call("test_note", json!({ "text": ".." })).await;
        assert!(refused.get("structuredContent").is_none() && refused["isError"] == true, "{refused}");
        let plan = client.call("plan_check", json!({ "plan": {} })).await;
        assert_eq!(schema("plan_check").validate(&plan["structuredContent"]), []);
        let refused = client.call("plan_run", json!({ "plan": {} })).await;
        assert!(refused.get("structuredContent").is_none() && refused["isError"] == true, "{refused}");
    }
}

#[tokio::test]
async fn no_invisible_character_reaches_a_client_in_a_question_or_a_result() {
    // All characters that JSON does not escape itself, each after a letter, so that no joiner is needed.
    let hostile: String =
        ('\u{7f}'..='\u{e01ef}').filter(|&c| is_invisible(c)).flat_map(|c| ['a', c]).collect();
    let hostile: Vec<char> = hostile.chars().collect();
    for era in [Era::Old, Era::New] {
        let server = TestServer::new();
        let mut client = Client::open(&server, era).await;
        for part in hostile.chunks(600).take(4).chain([&['a', '\u{e0041}', 'a', '\u{2800}'][..]]) {
            let args = json!({ "text": part.iter().collect::<String>() });
            let look = client.call("test_look", args.clone()).await;
            let (question, noted) = client.call_and_answer("test_note", args, yes("once")).await;
            for told in [question, look, noted] {
                assert!(!told.to_string().contains(is_invisible), "{told}");
            }
        }
        let look = client.call("test_look", json!({ "text": "👨\u{200d}👩 a\u{e0041}\u{ad}" })).await;
        let shown = "👨\u{200d}👩 a\\u{e0041}\\u{ad}";
        assert_eq!(look["structuredContent"]["data"], json!({ "text": shown }));
    }
}

#[tokio::test]
async fn a_face_that_only_speaks_text_has_neither_data_nor_schemas_for_it() {
    let server = TestServer::with(|options| options.settings.structured = false);
    let mut client = Client::open(&server, Era::New).await;
    assert!(listed(&mut client).await.iter().all(|tool| tool.get("outputSchema").is_none()));
    let look = client.call("test_look", json!({ "text": "a" })).await;
    assert!(look.get("structuredContent").is_none(), "{look}");
}

#[tokio::test]
async fn a_cursor_of_somebody_else_is_refused() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::New).await;
    let error = client.request("tools/list", json!({ "cursor": "7" })).await;
    assert_eq!(error["code"], -32602, "{error}");
    let rest = client.request("tools/list", json!({ "cursor": "plan_check" })).await;
    let names: Vec<&Value> = rest["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["plan_preview", "plan_run", "run_undo"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Neither form exceeds the receipt budget of its family, whatever a tool returns.
    #[test]
    fn both_forms_stay_within_the_budget(
        // Characters that JSON escapes, expensive characters, words, and arbitrary text.
        piece in prop_oneof!["[\"\\\\\n\t]{1,20}", "[一-龥]{1,20}", "[a-z ]{1,30}\n", "\\PC{1,40}", "[0-9a-f]{8}\u{1}"],
        times in 1_usize..2_000,
    ) {
        let said: String = piece.repeat(times).chars().take(60_000).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let result = runtime.block_on(async {
            let server = TestServer::new();
            let mut client = Client::open(&server, Era::New).await;
            client.call("test_look", json!({ "text": said })).await
        });
        let budget = Policy::cautious().receipts.budget(ReceiptFamily::External, None);
        assert_eq!(result["isError"], false);
        assert!(estimate(text(&result)) <= budget, "{}", estimate(text(&result)));
        let data = result["structuredContent"].to_string();
        assert!(estimate(&data) <= budget, "{} of {budget}", estimate(&data));
    }
}
