//! Runs a client's script and reads what it reports.

use std::process::Stdio;

use serde_json::Value;

use crate::responses_clients::gateway::TestGateway;
pub(crate) use crate::support::installed::{clients_are_missing, codex, installed, interpreter, scripts};

/// What a script printed: a line for each conversation that it had through the gateway.
#[track_caller]
pub(crate) fn conversations(script: &str, gateway: &TestGateway) -> Vec<Value> {
    let home = gateway.folder(&format!("home of {script}"));
    let ended = interpreter(script)
        .env("OPENAI_BASE_URL", gateway.base_url())
        .env("OPENAI_API_KEY", gateway.token())
        .env("MODEL", gateway.model())
        .env("CODEX", codex())
        .env("CODEX_HOME", home.join("codex"))
        .env("HOME", &home)
        .current_dir(&home)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{script}:\n{out}\n{err}\nThe gateway:\n{}", gateway.log());
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
