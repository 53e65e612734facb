//! The real app-server with a fake model behind it.
//!
//! The program is the one that `TOLLGATE_TEST_CODEX` names, or the one under `target/clients`. Without it the
//! tests are passed over, unless `RUN_SLOW_TESTS` is set.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use backend::codex::{Codex, CodexSettings, ToolMode};
use backend::{
    HistoryEntry, MessagePart, MessageRole, ModelTurn, NativeCall, NativeTool, ReasoningSettings,
    SamplingSettings, TextModel, TurnEvent, TurnStream,
};
use expect_test::expect;
use serde_json::json;
use tempfile::TempDir;

use crate::provider::{self, Piece, Provider, answer, call, completed, item, said, words};

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

fn turn(history: Vec<HistoryEntry>) -> ModelTurn {
    ModelTurn {
        model: "fake-model".to_owned(),
        instructions: "You are plain.".to_owned(),
        history,
        tools: Vec::new(),
        reasoning: ReasoningSettings::default(),
        verbosity: None,
        sampling: SamplingSettings::default(),
        output_schema: None,
    }
}

fn text(role: MessageRole, text: &str) -> HistoryEntry {
    HistoryEntry::Message { role, parts: vec![MessagePart::Text(text.to_owned())] }
}

/// Returns all events, one a line.
async fn events(mut stream: TurnStream) -> String {
    let mut lines = Vec::new();
    while let Some(event) = stream.next().await {
        lines.push(match event {
            Ok(event) => format!("{event:?}"),
            Err(error) => format!("error {}: {error}", error.kind),
        });
    }
    lines.join("\n")
}

// Conformance: proxy 13.9
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
        text(MessageRole::User, "Hi"),
        text(MessageRole::Assistant, "Hm?"),
        text(MessageRole::Developer, "Answer."),
        text(MessageRole::User, "Well?"),
    ];
    let stream = codex.start(turn(history)).await.unwrap();
    expect![[r#"
        Reasoning { part: 0, text: "Let me think." }
        SealedReasoning("sealed")
        Text("Hello")
        Text(" there")
        NextMessage
        Text("Bye")
        Usage(TokenUsage { input_tokens: 11, cached_input_tokens: 3, output_tokens: 7, reasoning_tokens: 2 })
        Done(Stop)"#]]
    .assert_eq(&events(stream).await);
    expect![[r#"
        tools: []
        {"type":"message","role":"developer","content":[{"type":"input_text","text":"You are plain."}]}
        {"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hm?"}]}
        {"type":"message","role":"developer","content":[{"type":"input_text","text":"Answer."}]}
        {"type":"message","role":"user","content":[{"type":"input_text","text":"Well?"}]}"#]]
    .assert_eq(&provider.shown());
    expect![["codex app-server 0.166.0"]].assert_eq(&codex.describe());
    assert!(matches!(
        codex.start(turn(Vec::new())).await.unwrap().next().await,
        Some(Ok(TurnEvent::Reasoning { .. }))
    ));
    codex.shut_down().await;
}

/// A picture of one pixel.
const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn picture(url: &str) -> HistoryEntry {
    let image = MessagePart::Image { url: url.to_owned(), detail: Some("low".to_owned()) };
    HistoryEntry::Message {
        role: MessageRole::User,
        parts: vec![MessagePart::Text("Look.".to_owned()), image],
    }
}

// Conformance: proxy 3.2
#[tokio::test]
async fn an_image_reaches_the_model_and_a_broken_one_is_an_error() {
    let script = |_: &_| answer(vec![said("msg_1", &["A pixel."])]);
    let Some((codex, provider, _folder)) = codex(script, |_| {}).await else { return };
    let stream = codex.start(turn(vec![picture(PIXEL)])).await.unwrap();
    expect![[r#"
        Text("A pixel.")
        Usage(TokenUsage { input_tokens: 11, cached_input_tokens: 3, output_tokens: 7, reasoning_tokens: 2 })
        Done(Stop)"#]]
    .assert_eq(&events(stream).await);
    expect![[r#"
        tools: []
        {"type":"message","role":"developer","content":[{"type":"input_text","text":"You are plain."}]}
        {"type":"message","role":"user","content":[{"type":"input_text","text":"Look."},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==","detail":"auto"}]}"#]].assert_eq(&provider.shown());
    let stream =
        codex.start(turn(vec![picture(PIXEL), picture("data:image/png;base64,AAAA")])).await.unwrap();
    expect!["error bad_request: 1 of 2 images cannot be decoded; codex takes PNG, JPEG, GIF and WebP"]
        .assert_eq(&events(stream).await);
}

fn tool(name: &str) -> NativeTool {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    NativeTool { name: name.to_owned(), description: "Does it.".to_owned(), parameters }
}

fn called(call_id: &str, name: &str) -> HistoryEntry {
    let arguments = "{\"city\": \"Paris\"}".to_owned();
    HistoryEntry::Call(NativeCall { call_id: call_id.to_owned(), name: name.to_owned(), arguments })
}

fn output(call_id: &str, text: &str) -> HistoryEntry {
    HistoryEntry::CallOutput { call_id: call_id.to_owned(), parts: vec![MessagePart::Text(text.to_owned())] }
}

// Conformance: proxy 13.10
#[tokio::test]
async fn two_native_calls_come_out_and_their_outputs_go_back_in() {
    let script = |body: &serde_json::Value| {
        let outputs =
            body["input"].as_array().unwrap().iter().filter(|item| item["type"] == "function_call_output");
        if outputs.count() == 0 {
            let arguments = "{\"city\": \"Paris\"}";
            let calls =
                vec![call("c1", "get_weather", arguments), call("c2", "client_exec_command", arguments)];
            answer(vec![said("msg_1", &["Let me look."]), calls])
        } else {
            answer(vec![said("msg_2", &["Sunny."])])
        }
    };
    let Some((codex, provider, _folder)) = codex(script, |_| {}).await else { return };
    assert!(codex.capabilities().await.unwrap().native_tools);
    let mut first = turn(vec![text(MessageRole::User, "Weather?")]);
    first.tools = vec![tool("get_weather"), tool("exec_command")];
    expect![[r#"
        Text("Let me look.")
        Call(NativeCall { call_id: "c1", name: "get_weather", arguments: "{\"city\": \"Paris\"}" })
        Call(NativeCall { call_id: "c2", name: "exec_command", arguments: "{\"city\": \"Paris\"}" })
        Usage(TokenUsage { input_tokens: 11, cached_input_tokens: 3, output_tokens: 7, reasoning_tokens: 2 })
        Done(Stop)"#]]
    .assert_eq(&events(codex.start(first.clone()).await.unwrap()).await);

    let mut second = first;
    let long = "sunny ".repeat(20_000);
    second.history.extend([
        text(MessageRole::Assistant, "Let me look."),
        called("c1", "get_weather"),
        called("c2", "exec_command"),
        output("c2", "on"),
        output("c1", &long),
    ]);
    expect![[r#"
        Text("Sunny.")
        Usage(TokenUsage { input_tokens: 11, cached_input_tokens: 3, output_tokens: 7, reasoning_tokens: 2 })
        Done(Stop)"#]]
    .assert_eq(&events(codex.start(second).await.unwrap()).await);
    // The output is whole, as long as it is.
    expect![[r#"
        tools: [{"type":"function","name":"get_weather","description":"Does it.","strict":false,"parameters":{"type":"object","properties":{"city":{"type":"string"}}}},{"type":"function","name":"client_exec_command","description":"Does it.","strict":false,"parameters":{"type":"object","properties":{"city":{"type":"string"}}}}]
        {"type":"message","role":"developer","content":[{"type":"input_text","text":"You are plain."}]}
        {"type":"message","role":"user","content":[{"type":"input_text","text":"Weather?"}]}
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me look."}]}
        {"type":"function_call","name":"get_weather","arguments":"{\"city\": \"Paris\"}","call_id":"c1"}
        {"type":"function_call","name":"client_exec_command","arguments":"{\"city\": \"Paris\"}","call_id":"c2"}
        {"type":"function_call_output","call_id":"c2","output":"on"}
        {"type":"function_call_output","call_id":"c1","output":"sunny ..."}"#]].assert_eq(&provider.shown().replace(&long, "sunny ..."));
    assert_eq!(provider.asked().len(), 2, "codex went on by itself after the calls");
}

/// Names that codex uses for tools of its own, in this release or another.
const NAMES: [&str; 40] = [
    "apply_patch",
    "assign_task",
    "bash",
    "browser",
    "clock",
    "close_agent",
    "create_goal",
    "exec",
    "exec_command",
    "file_search",
    "get_goal",
    "grep_files",
    "image_gen",
    "image_generation",
    "js_repl",
    "list_dir",
    "list_mcp_resources",
    "local_shell",
    "mcp",
    "mcp__server__tool",
    "memory",
    "multi_tool_use",
    "python",
    "read_file",
    "request_permissions",
    "request_user_input",
    "send_input",
    "send_message",
    "shell",
    "shell_command",
    "sleep",
    "spawn_agent",
    "tool_search",
    "update_goal",
    "update_plan",
    "vault.readFile",
    "view_image",
    "wait",
    "web_search",
    "write_stdin",
];

#[tokio::test]
async fn no_tool_is_lost_whatever_its_name_and_the_model() {
    let script = |_: &_| answer(vec![said("msg_1", &["Fine."])]);
    let Some((codex, provider, _folder)) = codex(script, |_| {}).await else { return };
    for model in ["fake-model", "gpt-5.5", "gpt-6.1-sol"] {
        let mut asked = turn(vec![text(MessageRole::User, "Well?")]);
        asked.model = model.to_owned();
        asked.tools = NAMES.iter().map(|name| tool(name)).collect();
        events(codex.start(asked).await.unwrap()).await;
        let body = provider.asked().pop().unwrap();
        let names: Vec<&str> =
            body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names.len(), NAMES.len(), "{model}: {names:?}");
        let roles: Vec<&str> =
            body["input"].as_array().unwrap().iter().map(|item| item["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["developer", "user"], "{model}");
    }
}

// Conformance: proxy 16.4
#[tokio::test]
async fn a_dropped_stream_hangs_up_on_the_model() {
    let script = |_: &_| {
        let mut pieces = words("msg_1", &["Once"]);
        pieces.push(Piece::Hang);
        pieces
    };
    let Some((codex, provider, _folder)) = codex(script, |_| {}).await else { return };
    let mut stream = codex.start(turn(vec![text(MessageRole::User, "Tell me.")])).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(TurnEvent::Text("Once".to_owned()))));
    drop(stream);
    provider.hung_up().await;
}

// Conformance: proxy 16.5
//     A backend that dies ends its answers at once, each with one error; the next ones work.
//     In: backend/codex/process_pool.rs
#[tokio::test]
async fn a_killed_process_ends_its_turns_at_once_and_the_next_one_works() {
    let script = |body: &serde_json::Value| {
        if body["input"].to_string().contains("long") {
            let mut pieces = words("msg_1", &["Once"]);
            pieces.push(Piece::Hang);
            pieces
        } else {
            answer(vec![said("msg_1", &["Short."])])
        }
    };
    let Some((codex, _provider, folder)) = codex(script, |_| {}).await else { return };
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = codex.start(turn(vec![text(MessageRole::User, "long")])).await.unwrap();
        assert_eq!(stream.next().await, Some(Ok(TurnEvent::Text("Once".to_owned()))));
        streams.push(stream);
    }
    kill(folder.path());
    for stream in streams {
        // Far less than any limit on silence, and enough for a busy machine.
        let events = tokio::time::timeout(Duration::from_secs(20), events(stream)).await.unwrap();
        expect!["error died: the codex app-server ended; the next request starts it again"]
            .assert_eq(&events);
    }
    let again = codex.start(turn(vec![text(MessageRole::User, "short")])).await.unwrap();
    assert!(events(again).await.starts_with("Text(\"Short.\")"));
    codex.shut_down().await;
    assert_eq!(processes_in(folder.path()), Vec::<i32>::new());
}

/// Processes whose home is in this folder.
fn processes_in(folder: &Path) -> Vec<i32> {
    let home = format!("CODEX_HOME={}/home", folder.display());
    let numbers = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let ours = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
    };
    numbers.filter(ours).collect()
}

fn kill(folder: &Path) {
    for pid in processes_in(folder) {
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(pid).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
    }
}

#[tokio::test]
async fn failures_of_the_service_have_their_kind_and_name_no_address() {
    let script = |body: &serde_json::Value| {
        let shown = body["input"].to_string();
        let status = [400_u16, 401, 404, 429, 500, 503]
            .into_iter()
            .find(|status| shown.contains(&format!("HTTP {status}")));
        match status {
            Some(status) => vec![Piece::Refuse(
                status,
                r#"{"error": {"message": "The fake one says no.", "code": "no"}}"#,
            )],
            None if shown.contains("refuse") => {
                let message = json!({
                    "type": "message", "id": "m", "role": "assistant", "status": "completed",
                    "content": [{"type": "refusal", "refusal": "No."}],
                });
                let mut pieces = words("m", &[]);
                pieces.extend([item(&message), completed()]);
                pieces
            }
            None => words("msg_1", &["Half"]),
        }
    };
    let Some((codex, provider, _folder)) = codex(script, |_| {}).await else { return };
    let mut lines = Vec::new();
    for wish in ["HTTP 400", "HTTP 401", "HTTP 404", "HTTP 429", "HTTP 500", "HTTP 503", "refuse", "cut"] {
        let events = events(codex.start(turn(vec![text(MessageRole::User, wish)])).await.unwrap()).await;
        assert!(!events.contains(&provider.port.to_string()), "{events}");
        lines.push(format!("{wish}: {events}"));
    }
    expect![[r#"
        HTTP 400: error bad_request: The fake one says no.
        HTTP 401: error unauthorized: the model's service does not accept codex's credentials (HTTP status 401)
        HTTP 404: error unknown_model: the model's service does not know this model, or is not at the configured address (HTTP status 404)
        HTTP 429: error rate_limited: the model's service limits the rate of requests (HTTP status 429)
        HTTP 500: error upstream: the model's service failed
        HTTP 503: error overloaded: the model's service has too much to do (HTTP status 503)
        refuse: Usage(TokenUsage { input_tokens: 11, cached_input_tokens: 3, output_tokens: 7, reasoning_tokens: 2 })
        Refusal("The model refused to answer. Its words are lost: codex does not hand them on.")
        Done(Stop)
        cut: Text("Half")
        error upstream: stream disconnected before completion: stream closed before response.completed"#]].assert_eq(&lines.join("\n"));
}

// Conformance: proxy 13.9
#[tokio::test]
async fn what_the_owner_of_codex_has_set_up_stays_out() {
    let script = |_: &_| answer(vec![said("msg_1", &["Fine."])]);
    let Some((codex, provider, folder)) = codex(script, |_| {}).await else { return };
    let mark = folder.path().join("mark");
    let config = format!(
        "developer_instructions = \"SECRET\"\nnotify = [\"touch\", \"{0}.notify\"]\n[mcp_servers.\"a-b\"]\ncommand = \"touch\"\nargs = [\"{0}.mcp\"]\n",
        mark.display()
    );
    #[allow(clippy::disallowed_methods, reason = "a test writes its own folder")]
    std::fs::write(folder.path().join("home/config.toml"), config).unwrap();
    events(codex.start(turn(vec![text(MessageRole::User, "Well?")])).await.unwrap()).await;
    expect![[r#"
        tools: []
        {"type":"message","role":"developer","content":[{"type":"input_text","text":"You are plain."}]}
        {"type":"message","role":"user","content":[{"type":"input_text","text":"Well?"}]}"#]]
    .assert_eq(&provider.shown());
    codex.shut_down().await;
    let marks: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(marks.iter().all(|name| !name.to_string_lossy().starts_with("mark")), "{marks:?}");
}

#[tokio::test]
async fn models_are_those_of_codex_unless_a_provider_is_set() {
    let script = |_: &_| Vec::new();
    let Some((listed, _provider, _folder)) = codex(script, |settings| settings.provider = None).await else {
        return;
    };
    let models: Vec<String> = listed.models().await.unwrap().into_iter().map(|model| model.id).collect();
    assert!(models.contains(&"gpt-5.5".to_owned()), "{models:?}");
    let Some((own, _provider, _folder)) =
        codex(script, |settings| settings.model = Some("mine".to_owned())).await
    else {
        return;
    };
    expect![[r#"[ModelInfo { id: "mine", owned_by: "fake" }]"#]]
        .assert_eq(&format!("{:?}", own.models().await.unwrap()));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let mut settings = CodexSettings::new(std::env::temp_dir());
    settings.program = PathBuf::from("/nowhere/codex");
    let codex = Codex::new(settings);
    let refused = codex.start(turn(Vec::new())).await.err().unwrap();
    expect!["unavailable: `/nowhere/codex` cannot be started: No such file or directory (os error 2). Install it with `npm install -g @openai/codex`, or set its path"].assert_eq(&format!("{}: {refused}", refused.kind));
}

#[tokio::test]
async fn sixty_turns_at_once_keep_apart_while_processes_are_replaced() {
    let script = |body: &serde_json::Value| {
        let asked = body["input"][1]["content"][0]["text"].as_str().unwrap().to_owned();
        let mut pieces = words("msg_1", &["You said: ", &asked]);
        if asked.ends_with('0') {
            pieces.push(Piece::Hang);
        }
        pieces.push(completed());
        pieces
    };
    let change = |settings: &mut CodexSettings| {
        settings.pool.threads_per_process = 25.try_into().unwrap();
        settings.pool.turns_per_process = 8.try_into().unwrap();
        // Many wait for few here, on a machine that may be busy.
        settings.limits.start = Duration::from_secs(120);
        settings.limits.request = Duration::from_secs(120);
        settings.limits.interrupt = Duration::from_secs(120);
    };
    let Some((codex, _provider, folder)) = codex(script, change).await else { return };
    let codex = Arc::new(codex);
    let mut turns = tokio::task::JoinSet::new();
    for number in 0..60 {
        let codex = Arc::clone(&codex);
        turns.spawn(async move {
            let mut stream =
                codex.start(turn(vec![text(MessageRole::User, &format!("number {number}"))])).await.unwrap();
            let expected = ["You said: ".to_owned(), format!("number {number}")];
            for part in expected {
                assert_eq!(stream.next().await, Some(Ok(TurnEvent::Text(part))));
            }
            // Every tenth is given up in the middle.
            if number % 10 != 0 {
                assert!(events(stream).await.ends_with("Done(Stop)"));
            }
        });
    }
    while let Some(ended) = turns.join_next().await {
        ended.unwrap();
    }
    codex.shut_down().await;
    assert_eq!(processes_in(folder.path()), Vec::<i32>::new());
}
