//! Tokens of clients: issued, listed, rotated and revoked.

use std::os::unix::fs::PermissionsExt;

use crate::support::TestVault;
use serde_json::json;

fn names(sandbox: &TestVault) -> Vec<String> {
    let listed = sandbox.tollgate(&["token", "list", "--json"]).expect_code(0).json();
    let clients = listed["clients"].as_array().unwrap();
    clients.iter().map(|client| client["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_token_is_shown_once_and_kept_as_a_hash() {
    let sandbox = TestVault::new();
    let issued = sandbox.tollgate(&["token", "issue", "laptop"]).expect_code(0);
    let token = issued.out.trim();
    assert!(token.starts_with("tg_") && token.len() > 40, "{}", issued.out);
    assert!(issued.err.contains("not shown again"), "{}", issued.err);
    let file = sandbox.path("state-home/tollgate/clients.json");
    assert!(!std::fs::read_to_string(&file).unwrap().contains(token));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(names(&sandbox), ["laptop"]);
    let listed = sandbox.tollgate(&["token"]).expect_code(0).out;
    assert!(listed.contains("laptop  issued ") && !listed.contains(token), "{listed}");
}

#[test]
fn a_token_can_be_written_to_a_file_that_only_you_can_read() {
    let sandbox = TestVault::new();
    let file = sandbox.path("secrets/ci");
    let out = file.to_str().unwrap();
    let issued = sandbox.tollgate(&["token", "issue", "ci", "--out", out, "--json"]).expect_code(0);
    assert_eq!(issued.json()["tokenFile"], json!(out));
    let token = std::fs::read_to_string(&file).unwrap();
    assert!(token.starts_with("tg_") && !issued.out.contains(token.trim()));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // A token that could not be handed over is none.
    let nowhere = sandbox.path("Inbox.md/x");
    sandbox.write("Inbox.md", "a file");
    sandbox.tollgate(&["token", "issue", "lost", "--out", nowhere.to_str().unwrap()]).expect_code(2);
    assert_eq!(names(&sandbox), ["ci"]);
}

#[test]
fn tokens_are_rotated_and_revoked_by_name() {
    let sandbox = TestVault::new();
    let first = sandbox.tollgate(&["token", "issue", "laptop", "--json"]).expect_code(0).json();
    let second = sandbox.tollgate(&["token", "rotate", "laptop", "--json"]).expect_code(0).json();
    assert_eq!(first["client"]["id"], second["client"]["id"]);
    assert_ne!(first["token"], second["token"]);
    let cases = [
        (&["token", "issue", "laptop"][..], "client_exists"),
        (&["token", "issue", "a b"], "bad_client_name"),
        (&["token", "issue", "default"], "bad_client_name"),
        (&["token", "rotate", "phone"], "no_such_client"),
        (&["token", "revoke", "phone"], "no_such_client"),
        (&["token", "revoke", "default"], "default_token"),
        (&["token", "rotate", "default", "--out", "x"], "unused_option"),
    ];
    for (args, code) in cases {
        let refused = sandbox.tollgate(&[args, &["--json"]].concat()).expect_code(2);
        assert_eq!(refused.json()["error"]["code"], code, "{args:?}");
    }
    sandbox.tollgate(&["token", "revoke", "laptop"]).expect_code(0);
    assert_eq!(names(&sandbox), Vec::<String>::new());
}
