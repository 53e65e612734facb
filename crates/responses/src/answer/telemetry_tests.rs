//! Tests of the log line and the Prometheus counters of an answer.

use std::io;
use std::sync::{Arc, Mutex};

use backend::scripted::{Script, ScriptedModel};
use engine::ManualClock;
use expect_test::expect;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use super::{AnswerSettings, Responder, ResponderParts};
use crate::event::EventFraming;
use crate::store::{ResponseStore, StoreLimits};
use http_edge::metrics::Metrics;

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Log;

    fn make_writer(&self) -> Log {
        self.clone()
    }
}

/// A call, a repaired one, one of an unknown tool, and a block that is not a call.
const SAID: &str = concat!(
    r#"{"text": ["canary <tool_call>{\"name\":\"weather\"}</tool_call>"#,
    r#"<tool_call>{\"name\":\"weather\",}</tool_call><tool_call>{\"name\":\"tide\"}</tool_call>"#,
    r#"<tool_call>{\"name\":}</tool_call>"]}"#
);

// Conformance: proxy 14.1
//     Parse failures, strict failures, calls and repaired arguments are counted where they are decided.
//     In: sentinel/answer_parser.rs, responses/answer/end.rs
// Conformance: proxy 14.2
//     They, and the calls that clients echo, are printed for Prometheus, each once, under labels of closed lists.
//     In: http-edge/metrics.rs
#[tokio::test(start_paused = true)]
async fn an_answer_leaves_one_line_with_its_tools_and_all_counts_and_nothing_that_was_said() {
    let log = Log::default();
    let subscriber =
        tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).without_time().finish();
    let _logged = tracing::subscriber::set_default(subscriber);
    let metrics = Arc::new(Metrics::new());
    let responder = Responder::new(ResponderParts {
        model: Arc::new(ScriptedModel::new("a test", Script::parse(SAID).unwrap())),
        store: Arc::new(ResponseStore::in_memory(StoreLimits::default())),
        metrics: metrics.clone(),
        clock: Arc::new(ManualClock::at("2026-01-02T03:04:05Z".parse().unwrap())),
        unique: Arc::new(|| "u1".to_owned()),
        settings: AnswerSettings::default(),
        toolbox: None,
    });
    let body = json!({ "model": "m", "tools": [{ "type": "function", "name": "weather" }], "input": [
        { "role": "user", "content": "canary" },
        { "type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{\"canary\":1}" },
        { "type": "function_call_output", "call_id": "c1", "output": "canary" },
    ]});
    let prepared = responder.prepare(responder.parse_value(body).unwrap(), None).await.unwrap();
    responder.write(prepared, EventFraming::Nothing, None, None).await.unwrap();

    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let answered: Vec<&str> = log.lines().filter(|line| line.contains(" answered ")).collect();
    expect![[r#" INFO responses::answer::end: answered response=resp_u1 request="" stream=false end=Completed code="" turns=1 calls=2 parse_failures=1 strict_failures=0 unknown_names=1 repaired_arguments=1 soft_mismatches=0 quoted=0 echoed_calls=1 asked_again=false millis=0 tools=["weather"]"#]].assert_eq(&answered.join("\n"));
    assert!(!log.contains("canary"), "{log}");
    let metrics = metrics.render();
    let mut counted: Vec<&str> =
        metrics.lines().filter(|line| line.starts_with("tollgate_model_output_total")).collect();
    counted.sort_unstable();
    expect![[r#"
        tollgate_model_output_total{kind="call"} 2
        tollgate_model_output_total{kind="echo"} 1
        tollgate_model_output_total{kind="parse_failure"} 1
        tollgate_model_output_total{kind="repair"} 1
        tollgate_model_output_total{kind="unknown_name"} 1"#]]
    .assert_eq(&counted.join("\n"));
}
