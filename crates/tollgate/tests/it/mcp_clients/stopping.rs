//! `tollgate serve` is ended while MCP clients have open requests.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::mcp_clients::records::{runs, shown};
use crate::mcp_clients::serving::{McpHttpServer, until_begun, vault};

/// Sends a call as a client of the newer era does, which stands alone.
fn call(serving: &McpHttpServer, tool: &str, args: &Value) -> BufReader<TcpStream> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "alone", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    });
    let params = json!({ "name": tool, "arguments": args, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let address = serving.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {}\r\n\r\n{body}",
        serving.token,
        body.len()
    )
    .unwrap();
    BufReader::new(stream)
}

#[test]
fn a_question_that_waits_for_its_answer_is_put_away_and_the_run_is_closed() {
    let sandbox = vault();
    let serving = McpHttpServer::start(&sandbox, &[]);
    let answer = call(&serving, "vault_createFile", &json!({ "path": "New.md", "content": "" }));
    assert!(answer.lines().any(|line| line.unwrap().contains("\"input_required\"")));
    serving.stop();
    let runs = runs(&sandbox);
    assert_eq!((runs.len(), &runs[0]["calls"]), (1, &json!(1)), "{runs:?}");
    assert!(shown(&sandbox, &runs[0]).contains("cancelled  call-1 vault.createFile"));
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
}

#[test]
fn a_call_under_way_is_ended_and_the_run_is_closed() {
    let sandbox = vault();
    let serving = McpHttpServer::start(&sandbox, &[]);
    let slow = json!({ "cmd": "touch begun && sleep 600", "yield_time_ms": 500_000 });
    let answer = call(&serving, "ExecCommand", &slow);
    until_begun(&sandbox);
    serving.stop();
    drop(answer);
    let runs = runs(&sandbox);
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert!(shown(&sandbox, &runs[0]).contains("cancelled  call-1 ExecCommand"));
}
