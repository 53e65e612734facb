//! A vault with one server, trusted and approved.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::sandboxes::SandboxChoice;
use crate::support::{ProcessResult, TestVault};

/// Returns whether no program can be started in a sandbox here, which needs a reason: if the machine has all for one of
/// them, both are tried and the test fails. Where everything is tested nothing is skipped.
#[track_caller]
pub(crate) fn no_wall() -> bool {
    let sandbox = TestVault::new();
    let args = json!({ "argv": ["true"] }).to_string();
    let tried = sandbox.tollgate(&["call", "ExecCommand", &args, "--yes", "--json"]);
    let result: Value = serde_json::from_str(&tried.out).unwrap_or_default();
    let sandbox_kinds = [SandboxChoice::Bubblewrap, SandboxChoice::Landlock];
    if sandbox_kinds.iter().any(|kind| result["data"]["sandbox"] == kind.name()) {
        return false;
    }
    if cfg!(target_os = "linux") {
        let available: Vec<SandboxChoice> =
            sandbox_kinds.into_iter().filter(|kind| kind.is_available(&sandbox)).collect();
        assert!(
            available.is_empty(),
            "{available:?} is available, and a server gets none: {}{}",
            tried.out,
            tried.err
        );
        assert!(std::env::var_os("RUN_SLOW_TESTS").is_none(), "no sandbox is available here: {}", tried.out);
    }
    eprintln!("skipped: no kind can be built here: {}", tried.out);
    true
}

/// The script that misbehaves.
pub(crate) fn hostile() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/servers/hostile.py").to_str().unwrap().to_owned()
}

/// The settings of the server that misbehaves, with more of them below.
pub(crate) fn hostile_config(more: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/servers");
    format!(
        "[servers.evil]\ncommand = [\"python3\", \"-B\", {:?}]\nreadable = [{folder:?}]\nenv = [\"HOSTILE\"]\n{more}\n",
        hostile()
    )
}

/// A vault whose server is approved as it behaves by default.
pub(crate) fn approved(more: &str) -> TestVault {
    let sandbox = TestVault::new();
    sandbox.trusted_config(&hostile_config(more));
    sandbox.tollgate(&["servers", "approve", "evil", "--yes"]).expect_code(0);
    sandbox
}

/// One call of a tool, with its result.
#[track_caller]
pub(crate) fn call(sandbox: &TestVault, tool: &str, args: &Value) -> (ProcessResult, Value) {
    let ended = sandbox.tollgate(&["call", tool, &args.to_string(), "--yes", "--json"]);
    let result = ended.json();
    (ended, result)
}

/// `kind: message` of a call that fails.
#[track_caller]
pub(crate) fn failure(sandbox: &TestVault, tool: &str, args: &Value) -> String {
    let (_, result) = call(sandbox, tool, args);
    let error = &result["error"];
    let said = |name: &str| error[name].as_str().unwrap_or_else(|| panic!("{result:#}")).to_owned();
    sandbox.scrub(&format!("{}: {}", said("kind"), said("message")))
}
