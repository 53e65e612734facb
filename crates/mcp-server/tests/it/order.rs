//! Errors are found before the user is asked: unknown tool, wrong arguments, invalid values, policy.

use engine::Mode;
use expect_test::expect;
use serde_json::json;

use crate::client::{Client, Era, in_both, text};
use crate::test_server::TestServer;

#[tokio::test]
async fn a_tool_that_does_not_exist_is_an_error_with_the_nearest_name() {
    let told = in_both(async |era| {
        let mut all = String::new();
        let server = TestServer::new();
        let mut client = Client::open(&server, era).await;
        let error = client.call("test_nota", json!({})).await;
        all.push_str(&error.to_string());
        let error = client.call("\u{202e}\n", json!({})).await;
        assert_eq!(error["code"], -32602);
        assert!(error["message"].as_str().unwrap().is_ascii(), "{error}");
        client.leave().await;
        assert_eq!(server.record().await, "");
        all
    })
    .await;
    expect![[r#"{"code":-32602,"message":"unknown tool `test_nota`; did you mean `test_note`?"}"#]]
        .assert_eq(&told);
}

#[tokio::test]
async fn both_spellings_of_a_name_are_taken() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::New).await;
    for name in ["test_look", "test.look"] {
        let result = client.call(name, json!({ "text": "x" })).await;
        assert_eq!(result["isError"], false, "{result}");
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_told_to_the_model_and_nobody_is_asked() {
    let told = in_both(async |era| {
        let mut all = String::new();
        let server = TestServer::new();
        let mut client = Client::open(&server, era).await;
        let mut told = String::new();
        for args in
            [json!({}), json!({ "text": 7 }), json!({ "text": "a", "yes": true }), json!({ "text": ".." })]
        {
            let result = client.call("test_note", args).await;
            assert_eq!(result["isError"], true, "{result}");
            assert!(result.get("structuredContent").is_none(), "{result}");
            told += text(&result);
            told += "\n--\n";
        }
        assert!(client.heard.is_empty(), "{:?}", client.heard);
        assert_eq!((server.effects(), server.asked_at_fallback()), (Vec::new(), 0));
        client.leave().await;
        all.push_str(&told);
        all.push_str(&server.record().await);
        all
    })
    .await;
    expect![[r#"
        test.note failed (schema_validation_failed): the arguments do not match the schema of test.note: `text` is missing
        Next: add `text`, a string: What to say.
        --
        test.note failed (schema_validation_failed): the arguments do not match the schema of test.note: /text: expected a string, found the number 7
        Next: write "7"
        --
        test.note failed (schema_validation_failed): the arguments do not match the schema of test.note: unknown field `yes`
        Next: known fields: `text`
        --
        test.note failed (invalid_arguments): `..` leads out of the vault
        Next: change the value that the message names
        --
        calls of tester 1
        - test.note schema_validation_failed
        - test.note schema_validation_failed
        - test.note schema_validation_failed
        - test.note invalid_arguments
    "#]].assert_eq(&told);
}

#[tokio::test]
async fn what_the_policy_forbids_is_not_asked_about() {
    let told = in_both(async |era| {
        let mut all = String::new();
        let server = TestServer::with(|options| options.policy.mode = Mode::ReadOnly);
        let mut client = Client::open(&server, era).await;
        let result = client.call("test_note", json!({ "text": "a" })).await;
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!((server.effects(), server.asked_at_fallback()), (Vec::new(), 0));
        client.leave().await;
        all.push_str(&server.record().await);
        all
    })
    .await;
    expect![[r#"
        calls of tester 1
        - test.note policy_blocked
    "#]]
    .assert_eq(&told);
}
