//! Hooks: the changes to a call that they can and cannot make.

use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{Build, Hooked, TestEngine, plan, test_engine};
use engine::{
    AfterCall, AfterReply, BeforeCall, BeforeReply, CommandHook, Hook, HookError, HookWhen, RunPlace,
};
use envelope::{Failure, Phase, ToolName, ToolResult};
use journal::{JournalRecord, LogKind};
use serde_json::{Value, json};
use toolkit::{BoxFuture, CancelCause, CancelToken};

fn with_hook(hook: impl Hook + 'static) -> TestEngine {
    Build { hooks: vec![Arc::new(hook)], ..Build::default() }.test_engine()
}

fn message(result: &ToolResult) -> (Failure, String) {
    let error = result.error.clone().unwrap_or_else(|| panic!("it worked: {result:#?}"));
    (error.kind.unwrap(), error.message)
}

fn updates(to: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Hooked {
    Hooked::before("mover", move |input| {
        Ok(BeforeReply { updated_input: Some(to(input)), ..Default::default() })
    })
}

#[tokio::test]
async fn a_hook_that_hands_back_what_it_was_shown_changes_only_what_it_changed() {
    let test_engine = with_hook(updates(|input| {
        let mut input = input.clone();
        assert_eq!(input["text"], "שלום\\u{200f}!");
        input["path"] = "b.md".into();
        input
    }));
    let scope = test_engine.scope();
    let args = json!({"text": "שלום\u{200f}!", "path": "a.md"});
    let result = test_engine.call_in(&scope, "test.write", args, CancelToken::new()).await;
    assert_eq!(test_engine.work.begun(), ["שלום\u{200f}!"]);
    assert_eq!(result.mutations[0].fields, ["/path"]);
    let JournalRecord::Call(logged) = scope.journal().records(LogKind::Call).remove(0) else { panic!() };
    assert_eq!(logged.called_with.map(Value::Object), Some(json!({"text": "שלום\u{200f}!", "path": "b.md"})));
}

#[tokio::test]
async fn a_plain_echo_is_no_change() {
    let test_engine = with_hook(updates(Value::clone));
    let result = test_engine.call("test.look", json!({"text": "a\u{1b}[2Jb"})).await;
    assert_eq!(test_engine.work.begun(), ["a\u{1b}[2Jb"]);
    assert_eq!(result.mutations, []);
}

#[tokio::test]
async fn an_updated_input_that_is_no_object_is_hook_failed() {
    for input in [json!("text"), json!([1]), json!(7)] {
        let test_engine = with_hook(updates(move |_| input.clone()));
        let result = test_engine.call("test.look", json!({"text": "x"})).await;
        assert_eq!(
            message(&result),
            (Failure::HookFailed, "hook `mover` failed: its updated input is not an object".to_owned())
        );
        assert_eq!(test_engine.work.begun(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_changed_input_that_cannot_be_shown_is_input_mutation_failed() {
    let test_engine = with_hook(updates(|_| json!({"act": "cannotBeShown"})));
    let result = test_engine.call("test.write", json!({"text": "q"})).await;
    let (failure, text) = message(&result);
    assert_eq!(failure, Failure::InputMutationFailed);
    assert!(text.starts_with("hook `mover` changed the input, and"), "{text}");
    assert_eq!(test_engine.results().len(), 1);
}

/// Notes the input it is shown after the call, and takes a moment to answer.
struct Witness {
    update: Option<Value>,
    seen: Arc<Mutex<Vec<Value>>>,
    takes: Duration,
}

impl Hook for Witness {
    fn name(&self) -> &str {
        "witness"
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(5)
    }

    fn when(&self) -> HookWhen {
        HookWhen::Both
    }

    fn watches(&self, _tool: &ToolName) -> bool {
        true
    }

    fn before<'a>(&'a self, _call: &'a BeforeCall<'a>) -> BoxFuture<'a, Result<BeforeReply, HookError>> {
        let reply = BeforeReply { updated_input: self.update.clone(), ..Default::default() };
        Box::pin(std::future::ready(Ok(reply)))
    }

    fn after<'a>(&'a self, call: &'a AfterCall<'a>) -> BoxFuture<'a, Result<AfterReply, HookError>> {
        self.seen.lock().unwrap().push(call.input.clone());
        Box::pin(async move {
            tokio::time::sleep(self.takes).await;
            Ok(AfterReply::default())
        })
    }
}

#[tokio::test]
async fn a_hook_after_the_call_sees_the_observable_copy_of_what_the_tool_was_called_with() {
    for (update, expected) in [
        (None, json!({"text": "secret \\u{1b}[2J"})),
        (Some(json!({"text": "clean\u{202e}"})), json!({"text": "clean\\u{202e}"})),
    ] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let test_engine = with_hook(Witness { update, seen: seen.clone(), takes: Duration::ZERO });
        assert!(test_engine.call("test.look", json!({"text": "secret \u{1b}[2J"})).await.ok);
        assert_eq!(*seen.lock().unwrap(), [expected]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_done_is_not_called_cancelled_because_a_hook_is_asked_about_it() {
    for takes in [Duration::from_millis(500), Duration::from_secs(60)] {
        let witness = Witness { update: None, seen: Arc::default(), takes };
        let test_engine = Arc::new(with_hook(witness));
        let (cancel, scope) = (CancelToken::new(), test_engine.scope());
        let call = {
            let (test_engine, cancel) = (test_engine.clone(), cancel.clone());
            let args = json!({"act": "door", "text": "x", "path": "a.md"});
            tokio::spawn(async move { test_engine.call_in(&scope, "test.write", args, cancel).await })
        };
        test_engine.work.waiting.notified().await;
        let asked = tokio::time::Instant::now();
        cancel.cancel(CancelCause::Run);
        test_engine.work.open.notify_one();
        let result = call.await.unwrap();
        assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
        assert_eq!(test_engine.work.ended(), ["x"]);
        assert_eq!(result.effects.as_ref().unwrap().created[0].path, "a.md");
        match takes.as_secs() {
            0 => assert!(result.ok, "{result:#?}"),
            // Out of patience: the result is withheld, the effects stay.
            _ => assert_eq!(message(&result).0, Failure::PostHookFailed),
        }
    }
}

#[tokio::test]
async fn a_hook_that_crashes_before_it_begins_is_hook_failed() {
    struct Rash;
    impl Hook for Rash {
        fn name(&self) -> &str {
            "rash"
        }
        fn limit(&self) -> Duration {
            Duration::from_secs(5)
        }
        fn when(&self) -> HookWhen {
            HookWhen::Both
        }
        fn watches(&self, _tool: &ToolName) -> bool {
            true
        }
        fn before<'a>(&'a self, _: &'a BeforeCall<'a>) -> BoxFuture<'a, Result<BeforeReply, HookError>> {
            panic!("no future at all")
        }
        fn after<'a>(&'a self, _: &'a AfterCall<'a>) -> BoxFuture<'a, Result<AfterReply, HookError>> {
            panic!("no future at all")
        }
    }
    let result = with_hook(Rash).call("test.look", json!({})).await;
    assert_eq!(
        message(&result),
        (Failure::HookFailed, "hook `rash` failed: it crashed: no future at all".to_owned())
    );
}

#[tokio::test]
async fn a_redaction_reaches_everything_that_is_kept_and_told() {
    let test_engine = with_hook(Hooked::after("censor", |_| {
        Ok(AfterReply { redact: vec!["/text".to_owned()], ..Default::default() })
    }));
    let steps = plan(json!([
        { "id": "a", "tool": "test.look", "args": { "act": "leak" } },
        { "id": "b", "tool": "test.look", "args": { "text": "$steps.a.text" } }
    ]));
    let report = test_engine.run(&steps, RunPlace::Memory).await;
    assert_eq!(test_engine.work.begun(), ["", "[redacted]"], "later steps read what is left");
    let told = format!(
        "{} {}",
        serde_json::to_string(&test_engine.results()).unwrap(),
        serde_json::to_string(&test_engine.events()).unwrap()
    );
    assert!(!told.contains("sk-secret"), "{told}");
    assert!(!format!("{report:?}").contains("sk-secret"));
    let receipt = "Did [redacted]\ntext: \"[redacted]\"\ncount: 1\nitems: []";
    assert_eq!(test_engine.results()[0].receipt.as_deref(), Some(receipt));
    assert_eq!(test_engine.results()[0].mutations[0].fields, ["/text"]);
}

#[tokio::test]
async fn a_redaction_of_what_is_not_there_keeps_the_whole_result_back() {
    for pointer in ["/nothing", "/count", ""] {
        let test_engine = with_hook(Hooked::after("censor", move |_| {
            Ok(AfterReply { redact: vec![pointer.to_owned()], ..Default::default() })
        }));
        let scope = test_engine.scope();
        let result =
            test_engine.call_in(&scope, "test.look", json!({"act": "leak"}), CancelToken::new()).await;
        assert_eq!(message(&result).0, Failure::PostHookFailed);
        assert!(!scope.journal().lines(LogKind::Result).join("\n").contains("sk-secret"));
    }
}

#[tokio::test]
async fn a_result_limit_below_what_fits_a_line_holds() {
    let limited = |bytes: u64| {
        let mut policy = Build::default().policy;
        policy.limits.max_result_bytes = bytes;
        Build { policy, ..Build::default() }.test_engine()
    };
    let args = json!({"text": "x".repeat(5000)});
    let size =
        serde_json::to_vec(&test_engine().call("test.look", args.clone()).await.data.unwrap()).unwrap().len();
    let exact = size as u64;
    assert!(limited(exact).call("test.look", args.clone()).await.ok);
    for bytes in [exact - 1, 10, 0] {
        let result = limited(bytes).call("test.look", args.clone()).await;
        assert_eq!(
            message(&result),
            (
                Failure::ResultTooLarge,
                format!("the output of test.look has {size} bytes; the limit is {bytes}")
            )
        );
    }
}

#[tokio::test]
async fn what_failed_half_way_is_not_tried_again_unless_twice_is_as_good_as_once() {
    for (tool, retryable, outcome) in
        [("test.command", false, json!("partly done")), ("test.write", true, Value::Null)]
    {
        let result = test_engine().call(tool, json!({"act": "cutOff", "path": "a.md"})).await;
        assert_eq!(result.effects.as_ref().unwrap().created[0].path, "a.md");
        let error = result.error.unwrap();
        assert_eq!((error.kind, error.retryable), (Some(Failure::DependencyUnavailable), Some(retryable)));
        let details = error.details.map_or(Value::Null, Value::Object);
        assert_eq!(details["outcome"], outcome, "{tool}");
    }
    // One that failed before it did anything may be.
    let test_engine = test_engine();
    *test_engine.work.outages.lock().unwrap() = 1;
    let error = test_engine.call("test.command", json!({"act": "unavailable"})).await.error.unwrap();
    assert_eq!(error.retryable, Some(true));
}

#[tokio::test(start_paused = true)]
async fn a_plan_cannot_give_a_call_more_time_than_the_policy() {
    let mut policy = Build::default().policy;
    policy.limits.call_timeout_ms = NonZeroU64::new(200).unwrap();
    let test_engine = Build { policy, ..Build::default() }.test_engine();
    for (asked, given) in [(Some(86_400_000), 200), (Some(50), 50), (None, 200)] {
        let mut call = crate::support::tool_call("test.look", json!({"act": "wait"}));
        call.timeout_ms = asked;
        let began = tokio::time::Instant::now();
        let result = test_engine.engine.run_call(&test_engine.scope(), call, CancelToken::new()).await;
        assert_eq!(message(&result), (Failure::Timeout, format!("test.look did not end within {given} ms")));
        assert_eq!(began.elapsed().as_millis(), given);
    }
}

/// A hook of one line of shell, with more time than it needs.
fn shell(script: &str, when: HookWhen) -> CommandHook {
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    CommandHook::new("script", argv, when, Duration::from_secs(60), &[], std::env::temp_dir()).unwrap()
}

#[tokio::test]
async fn a_program_hears_of_the_call_and_answers_in_json() {
    let script =
        r#"grep -q '"event":"before".*"text":"x"' && echo '{"updatedInput": {"text": "from afar"}}'"#;
    let test_engine = with_hook(shell(script, HookWhen::Before));
    let result = test_engine.call("test.look", json!({"text": "x"})).await;
    assert!(result.ok, "{:?}", result.error);
    assert_eq!(test_engine.work.begun(), ["from afar"]);
    // Silence is a pass.
    assert!(with_hook(shell("cat >/dev/null", HookWhen::Both)).call("test.look", json!({})).await.ok);
}

#[tokio::test]
async fn a_program_that_fails_is_quoted_with_its_last_complaint() {
    for (script, said) in [
        (
            "echo first >&2; echo 'no such ledger' >&2; echo >&2; exit 3",
            "ended with exit status: 3: no such ledger",
        ),
        ("exit 3", "ended with exit status: 3"),
        ("printf 'bell\\033[2J' >&2; exit 1", "ended with exit status: 1: bell\\u{1b}[2J"),
        (
            "i=0; while [ $i -lt 9000 ]; do echo line-$i >&2; i=$((i+1)); done; exit 1",
            "ended with exit status: 1: line-8999",
        ),
    ] {
        let result = with_hook(shell(script, HookWhen::Before)).call("test.look", json!({})).await;
        assert_eq!(message(&result), (Failure::HookFailed, format!("hook `script` failed: `sh` {said}")));
    }
    let test_engine = with_hook(shell("echo not json", HookWhen::After));
    let result = test_engine.call("test.look", json!({})).await;
    assert_eq!(message(&result).0, Failure::PostHookFailed);
    assert_eq!(result.phases[9].phase, Phase::PostHooks);
}

/// Whether the process still runs; one that is only waiting to be reaped does not.
#[cfg(target_os = "linux")]
fn alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

#[cfg(target_os = "linux")]
async fn until(mut holds: impl FnMut() -> bool) {
    let wait = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), wait).await.unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_that_a_program_started_outlives_it() {
    for ending in ["exit 0", "exit 1", "exec >&-; sleep 600"] {
        let folder = tempfile::tempdir().unwrap();
        let note = folder.path().join("pid");
        // The child of the hook holds none of its pipes, so only the group leads to it.
        let script =
            format!("sleep 600 </dev/null >/dev/null 2>&1 & echo $! >'{}'; {ending}", note.display());
        let test_engine = with_hook(shell(&script, HookWhen::Before));
        let cancel = CancelToken::new();
        let call = {
            let (scope, cancel) = (test_engine.scope(), cancel.clone());
            tokio::spawn(async move { test_engine.call_in(&scope, "test.look", json!({}), cancel).await })
        };
        let mut pid = String::new();
        until(|| {
            pid = std::fs::read_to_string(&note).unwrap_or_default();
            pid.ends_with('\n')
        })
        .await;
        if ending.ends_with("sleep 600") {
            cancel.cancel(CancelCause::Run);
        }
        assert_eq!(call.await.unwrap().ok, ending == "exit 0");
        // The kill is sent before the answer is given; the system may take a moment to carry it out.
        until(|| !alive(pid.trim())).await;
    }
}
