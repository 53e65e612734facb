//! A vault with one server, trusted and approved.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::wall::Wall;
use crate::support::{Ended, Sandbox};

/// Whether no program can be started here behind a wall, which takes a reason: where the machine has all for one of
/// them, both are tried and the test fails. Where everything is tested nothing is skipped.
#[track_caller]
pub(crate) fn no_wall() -> bool {
    let sandbox = Sandbox::new();
    let args = json!({ "argv": ["true"] }).to_string();
    let tried = sandbox.tollgate(&["call", "ExecCommand", &args, "--yes", "--json"]);
    let result: Value = serde_json::from_str(&tried.out).unwrap_or_default();
    let walls = [Wall::Bubblewrap, Wall::Landlock];
    if walls.iter().any(|wall| result["data"]["sandbox"] == wall.name()) {
        return false;
    }
    if cfg!(target_os = "linux") {
        let stands: Vec<Wall> = walls.into_iter().filter(|wall| wall.stands(&sandbox)).collect();
        assert!(stands.is_empty(), "{stands:?} stands, and a server gets none: {}{}", tried.out, tried.err);
        assert!(std::env::var_os("RUN_SLOW_TESTS").is_none(), "no wall stands here: {}", tried.out);
    }
    eprintln!("skipped: no wall can be built here: {}", tried.out);
    true
}

/// The script that misbehaves.
pub(crate) fn hostile() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/hostile.py").to_str().unwrap().to_owned()
}

/// The settings of the server that misbehaves, with more of them below.
pub(crate) fn hostile_config(more: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers");
    format!(
        "[servers.evil]\ncommand = [\"python3\", \"-B\", {:?}]\nreadable = [{folder:?}]\nenv = [\"HOSTILE\"]\n{more}\n",
        hostile()
    )
}

/// A vault whose server is approved as it behaves unless told otherwise.
pub(crate) fn approved(more: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.trusted_config(&hostile_config(more));
    sandbox.tollgate(&["servers", "approve", "evil", "--yes"]).expect_code(0);
    sandbox
}

/// One call of a tool, with its result.
#[track_caller]
pub(crate) fn call(sandbox: &Sandbox, tool: &str, args: &Value) -> (Ended, Value) {
    let ended = sandbox.tollgate(&["call", tool, &args.to_string(), "--yes", "--json"]);
    let result = ended.json();
    (ended, result)
}

/// `kind: message` of a call that fails.
#[track_caller]
pub(crate) fn failure(sandbox: &Sandbox, tool: &str, args: &Value) -> String {
    let (_, result) = call(sandbox, tool, args);
    let error = &result["error"];
    let said = |name: &str| error[name].as_str().unwrap_or_else(|| panic!("{result:#}")).to_owned();
    sandbox.scrub(&format!("{}: {}", said("kind"), said("message")))
}
