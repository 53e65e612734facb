//! The real app-server with a fake model behind it.
//!
//! The program is the one that `TOLLGATE_TEST_CODEX` names, or the one under `target/clients`. Without it the
//! tests are passed over, unless `RUN_SLOW_TESTS` is set.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]
#![allow(clippy::print_stderr, reason = "a test that is passed over says so")]

mod provider;

use std::path::{Path, PathBuf};

use backend::codex::{Codex, CodexSettings, ToolMode};
use backend::{Entry, Part, Reasoning, Role, Sampling, TextModel, Turn, TurnEvent, TurnStream};
use expect_test::expect;
use serde_json::json;
use tempfile::TempDir;

use provider::{Provider, answer, item, said};

fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("TOLLGATE_TEST_CODEX") {
        return Some(PathBuf::from(named));
    }
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients/node_modules/@openai");
    let platforms = std::fs::read_dir(&installed).into_iter().flatten().flatten();
    let binaries =
        platforms.flat_map(|entry| std::fs::read_dir(entry.path().join("vendor")).into_iter().flatten());
    binaries.flatten().map(|entry| entry.path().join("bin/codex")).find(|path| path.is_file())
}

/// The app-server with a model that follows the script. `None` when it is not installed.
async fn codex(
    script: impl Fn(&serde_json::Value) -> Vec<provider::Piece> + Send + Sync + 'static,
    change: impl FnOnce(&mut CodexSettings),
) -> Option<(Codex, Provider, TempDir)> {
    let Some(program) = program() else {
        assert!(
            std::env::var_os("RUN_SLOW_TESTS").is_none(),
            "there is no codex: `cargo xtask test` installs it, or set TOLLGATE_TEST_CODEX"
        );
        eprintln!("passed over: there is no codex; set TOLLGATE_TEST_CODEX to its path");
        return None;
    };
    let provider = Provider::start(script).await;
    let folder = tempfile::tempdir().unwrap();
    let (home, work) = (folder.path().join("home"), folder.path().join("work"));
    std::fs::create_dir(&home).unwrap();
    std::fs::create_dir(&work).unwrap();
    let mut settings = CodexSettings::new(work);
    settings.program = program;
    settings.home = Some(home.clone());
    settings.environment =
        vec![("PATH".into(), std::env::var_os("PATH").unwrap()), ("HOME".into(), home.into())];
    settings.provider = Some("fake".to_owned());
    let base = format!("\"http://127.0.0.1:{}/v1\"", provider.port);
    settings.config = [
        ("name", "\"fake\""),
        ("base_url", &base),
        ("wire_api", "\"responses\""),
        ("request_max_retries", "0"),
        ("stream_max_retries", "0"),
    ]
    .map(|(key, value)| (format!("model_providers.fake.{key}"), value.to_owned()))
    .to_vec();
    change(&mut settings);
    Some((Codex::new(settings), provider, folder))
}

fn turn(history: Vec<Entry>) -> Turn {
    Turn {
        model: "fake-model".to_owned(),
        instructions: "You are plain.".to_owned(),
        history,
        tools: Vec::new(),
        reasoning: Reasoning::default(),
        sampling: Sampling::default(),
        output_schema: None,
    }
}

fn text(role: Role, text: &str) -> Entry {
    Entry::Message { role, parts: vec![Part::Text(text.to_owned())] }
}

/// All events to the end, one a line.
async fn told(mut stream: TurnStream) -> String {
    let mut lines = Vec::new();
    while let Some(event) = stream.next().await {
        lines.push(match event {
            Ok(event) => format!("{event:?}"),
            Err(error) => format!("error {}: {error}", error.kind),
        });
    }
    lines.join("\n")
}

#[tokio::test]
async fn a_turn_goes_through_with_its_history_and_nothing_else() {
    let thinks = json!({
        "type": "reasoning", "id": "rs_1", "encrypted_content": "sealed",
        "summary": [{"type": "summary_text", "text": "Let me think."}],
    });
    let script = move |_: &_| {
        answer(vec![vec![item(&thinks)], said("msg_1", &["Hello", " there"]), said("msg_2", &["Bye"])])
    };
    let Some((codex, provider, _folder)) =
        codex(script, |settings| settings.tools = ToolMode::Sentinel).await
    else {
        return;
    };
    let history = vec![
        text(Role::User, "Hi"),
        text(Role::Assistant, "Hm?"),
        text(Role::Developer, "Answer."),
        text(Role::User, "Well?"),
    ];
    let stream = codex.start(turn(history)).await.unwrap();
    expect![[r#"
        Reasoning { part: 0, text: "Let me think." }
        SealedReasoning("sealed")
        Text("Hello")
        Text(" there")
        NextMessage
        Text("Bye")
        Usage(Usage { input_tokens: 11, cached_input_tokens: 3, output_tokens: 7, reasoning_tokens: 2 })
        Done(Stop)"#]]
    .assert_eq(&told(stream).await);
    expect![[r#"
        tools: []
        {"type":"message","content":[{"type":"input_text","text":"You are plain."}],"role":"developer"}
        {"type":"message","content":[{"type":"input_text","text":"Hi"}],"role":"user"}
        {"type":"message","content":[{"type":"output_text","text":"Hm?"}],"role":"assistant"}
        {"type":"message","content":[{"type":"input_text","text":"Answer."}],"role":"developer"}
        {"type":"message","content":[{"type":"input_text","text":"Well?"}],"role":"user"}"#]]
    .assert_eq(&provider.shown());
    expect![["codex app-server 0.166.0"]].assert_eq(&codex.describe());
    assert!(matches!(
        codex.start(turn(Vec::new())).await.unwrap().next().await,
        Some(Ok(TurnEvent::Reasoning { .. }))
    ));
    codex.shut_down().await;
}
