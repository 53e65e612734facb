//! Things that no client gets: answers of other clients, runs of the owner, unlimited sessions.

use engine::{RunPlace, SessionRequest};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::{Client, Era};
use crate::http_client::{ACCEPT, ask, post, serve};
use crate::http_rounds::session;
use crate::test_server::TestServer;

/// Stateless requests are distinguished by a name that any client can choose.
#[tokio::test]
async fn a_yes_for_the_session_is_not_offered_where_anybody_could_claim_to_be_in_it() {
    let server = TestServer::new();
    let http_server = serve(&server).await;
    let call = json!({ "name": "test_note", "arguments": { "text": "a" } });
    let asked = ask(&http_server, "claude-code", "tools/call", call).await;
    let form = &asked["inputRequests"]["approval"]["params"]["requestedSchema"];
    assert_eq!(form["properties"]["decision"]["enum"], json!(["once", "no"]), "{asked}");
}

#[tokio::test]
async fn what_the_owner_did_at_the_command_line_is_not_for_clients_to_read() {
    let server = TestServer::new();
    let request = SessionRequest {
        place: RunPlace::Disk(server.runs().to_owned().into()),
        session: None,
        goal: "of the owner".to_owned(),
        planner_version: None,
        tools: Vec::new(),
    };
    let own = server.engine().open_session(request).unwrap();
    let uri = format!("tollgate://runs/{}", own.run_id());
    own.close(None).await;

    let mut client = Client::open(&server, Era::New).await;
    let listed = client.request("resources/list", json!({})).await;
    assert_eq!(listed["resources"], json!([]));
    let refused = client.request("resources/read", json!({ "uri": uri })).await;
    assert!(refused["message"].as_str().unwrap().contains("not made for a client"), "{refused}");
}

#[tokio::test]
async fn sessions_in_use_have_a_bound_and_requests_that_stand_alone_do_not_count() {
    let server = TestServer::new();
    let http_server = serve(&server).await;
    let mut streams = Vec::new();
    for _ in 0..256 {
        let headers = session(&http_server).await;
        let mut stream = http_server.connect().await;
        stream.write_all(http_server.request("GET /mcp", &headers, "").as_bytes()).await.unwrap();
        // The server is sending events of this session.
        stream.read_exact(&mut [0; 12]).await.unwrap();
        streams.push(stream);
    }
    let hello = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "greedy", "version": "1" },
        },
    })
    .to_string();
    assert_eq!(post(&http_server, ACCEPT, &hello).await.status, 503);
    let listed = ask(&http_server, "modest", "tools/list", json!({})).await;
    assert!(listed["tools"].is_array(), "{listed}");
    drop(streams);
    http_server.stop().await;
}
