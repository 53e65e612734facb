//! The records of a vault after a client has left.

use serde_json::Value;

use crate::support::TestVault;

/// Every run, the first one first. Each must be closed and whole.
#[track_caller]
pub(crate) fn runs(sandbox: &TestVault) -> Vec<Value> {
    let runs = sandbox.tollgate(&["runs", "--json"]).expect_code(0).json();
    let mut runs = runs.as_array().unwrap().clone();
    runs.reverse();
    for run in &runs {
        let id = run["runId"].as_str().unwrap();
        assert_ne!(run["status"], "running", "{run}");
        sandbox.tollgate(&["verify", id]).expect_code(0);
    }
    runs
}

/// A run, as `show` prints it.
#[track_caller]
pub(crate) fn shown(sandbox: &TestVault, run: &Value) -> String {
    sandbox.tollgate(&["show", run["runId"].as_str().unwrap()]).expect_code(0).out
}
