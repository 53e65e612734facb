//! A call is made only while its tool is approved, whenever the approval is revoked.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use envelope::{CallId, Hash, SideEffect};
use expect_test::expect;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex, split};
use toolkit::{CancelToken, ToolCx};

use super::{PinnedCall, ServerParts, ServerResources, UpstreamServer};
use crate::connection::{HandshakeKind, ServerConnection};
use crate::{ApprovalLookup, ServerPin, ServerSettings, ToolDeclaration};

/// A server with one tool. Records its requests, and revokes the approval when it receives `until`.
async fn serve(stream: DuplexStream, asked: Arc<Mutex<Vec<String>>>, word: Arc<AtomicBool>, until: &str) {
    let (from, mut to) = split(stream);
    let mut lines = BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let request: Value = serde_json::from_str(&line).unwrap();
        let method = request["method"].as_str().unwrap();
        if method.starts_with("tools/") {
            asked.lock().unwrap().push(method.to_owned());
        }
        if method == until {
            word.store(false, Ordering::SeqCst);
        }
        let result = match method {
            "initialize" => json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"},
            }),
            "tools/list" => json!({"tools": [tool()]}),
            "tools/call" => json!({"content": [{"type": "text", "text": "done"}]}),
            _ => continue,
        };
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        to.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    }
}

fn tool() -> Value {
    json!({"name": "t", "inputSchema": {"type": "object"}})
}

/// Returns the outcome of a call whose approval is revoked at this request, and the requests that the server
/// received.
async fn called(until: &'static str) -> String {
    let (asked, word) = (Arc::<Mutex<Vec<String>>>::default(), Arc::new(AtomicBool::new(true)));
    let pin = ServerPin { identity: Hash::of(b"s"), tools: vec![ToolDeclaration::parse(&tool()).unwrap()] };
    let approved: ApprovalLookup = {
        let (word, pin) = (word.clone(), Arc::new(pin.clone()));
        Arc::new(move || Ok(word.load(Ordering::SeqCst).then(|| pin.clone())))
    };
    let (near, far) = duplex(65_536);
    tokio::spawn(serve(far, asked.clone(), word, until));
    let (from, to) = split(near);
    let link =
        ServerConnection::open(AsyncRwTransport::new_client(from, to), HandshakeKind::Initialize, None).await;
    let server = UpstreamServer::new(ServerParts {
        name: "s".to_owned(),
        settings: ServerSettings::default(),
        resources: ServerResources::default(),
        root: PathBuf::from("/nowhere"),
        approved: Some(approved),
    });
    server.slot.lock().await.connection = link.ok().map(Arc::new);
    let cx = ToolCx::new(CallId::parse("call").unwrap(), CancelToken::new(), None);
    let order = PinnedCall { who: "mcp.s.t", tool: "t", pin: &pin, effect: Some(SideEffect::RunCommand) };
    let said = match server.call(&cx, order, json!({})).await {
        Ok(_) => "called".to_owned(),
        Err(fault) => format!("{}: {}", fault.failure, fault.message),
    };
    let effects = cx.with_report(|seen| seen.effects.side_effects_observed.clone());
    let asked = asked.lock().unwrap().clone();
    format!("{said}\n  {effects:?} after {asked:?}")
}

#[tokio::test]
async fn a_word_that_is_taken_back_before_the_tool_is_asked_for_stops_the_call() {
    let told =
        [called("initialize").await, called("tools/list").await, called("tools/call").await].join("\n");
    expect![[r#"
        blocked_tool: mcp.s.t cannot be called, because the approval of its server was revoked; nothing was called
          [] after []
        blocked_tool: mcp.s.t cannot be called, because the approval of its server was revoked; nothing was called
          [] after ["tools/list"]
        called
          [RunCommand] after ["tools/list", "tools/call"]"#]]
    .assert_eq(&told);
}
