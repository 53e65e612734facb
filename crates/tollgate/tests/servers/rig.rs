//! A vault with one server, trusted and approved.

use std::path::Path;

use serde_json::Value;

use crate::support::wall::Wall;
use crate::support::{Ended, Sandbox};

/// Whether no program can be started here behind a wall.
pub(crate) fn no_wall() -> bool {
    let sandbox = Sandbox::new();
    !Wall::Bubblewrap.stands(&sandbox) && !Wall::Landlock.stands(&sandbox)
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
