//! Who comes in, on every route that the server has.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;

use crate::serve::server::ServeProcess;
use crate::serve::wire::PATIENCE;
use crate::support::TestVault;

const PAGE: &str = "app://obsidian.md";

/// One way to fill a place in a request, and what it earns; `None` lets the next check decide.
type HeaderChoice = (Option<String>, Option<u16>);

fn good(text: impl Into<String>) -> HeaderChoice {
    (Some(text.into()), None)
}

fn bad(text: impl Into<String>, status: u16) -> HeaderChoice {
    (Some(text.into()), Some(status))
}

fn hosts(port: &str) -> Vec<HeaderChoice> {
    let refused = [
        "127.0.0.1".to_owned(),
        "127.0.0.1:1".to_owned(),
        format!("127.0.0.1.evil.com:{port}"),
        format!("localhost.:{port}"),
        format!("LOCALHOST:{port}"),
        format!("127.1:{port}"),
        format!("2130706433:{port}"),
        format!("0.0.0.0:{port}"),
        format!("evil.com:{port}"),
        format!("localhost:{port}@evil.com"),
        String::new(),
    ];
    let mut all: Vec<HeaderChoice> = refused.into_iter().map(|host| bad(host, 403)).collect();
    all.extend([good(format!("127.0.0.1:{port}")), good(format!("localhost:{port}")), (None, Some(400))]);
    // Two of them are not one.
    all.push(bad(format!("127.0.0.1:{port}\r\nHost: evil.com"), 400));
    all
}

fn origins(port: &str) -> Vec<HeaderChoice> {
    let refused = [
        "null".to_owned(),
        "*".to_owned(),
        String::new(),
        format!("http://127.0.0.1:{port}"),
        "http://localhost:1".to_owned(),
        "http://localhost:1@evil.com".to_owned(),
        format!("{PAGE}.evil.com"),
        format!("{PAGE}/"),
    ];
    let mut all: Vec<HeaderChoice> = refused.into_iter().map(|origin| bad(origin, 403)).collect();
    all.extend([(None, None), good(PAGE)]);
    all
}

fn credentials(token: &str) -> Vec<HeaderChoice> {
    let refused = [
        "Authorization: Bearer tg_0".to_owned(),
        "Authorization: Bearer ".to_owned(),
        format!("Authorization: Basic {token}"),
        format!("Authorization: {token}"),
        format!("X-Api-Key: {token}"),
        format!("Cookie: token={token}"),
        format!("Mcp-Session-Id: {token}"),
    ];
    let mut all: Vec<HeaderChoice> = refused.into_iter().map(|given| bad(given, 401)).collect();
    all.extend([good(format!("Authorization: Bearer {token}")), (None, Some(401))]);
    all
}

/// What forms and scripts without a preflight can send.
fn content_types() -> Vec<HeaderChoice> {
    let refused = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"];
    let mut all: Vec<HeaderChoice> = refused.into_iter().map(|kind| bad(kind, 415)).collect();
    all.extend([good("application/json"), (None, Some(415))]);
    all
}

const STREAM: &str = "Accept: application/json, text/event-stream\r\n";
const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// Makes sense to one of the routes; the others say so after the guard.
const BODY: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";

/// Every route with every method that it knows, and some that it does not.
const ROUTES: [(&str, &str); 20] = [
    ("POST /mcp", STREAM),
    ("GET /mcp", STREAM),
    ("DELETE /mcp", STREAM),
    ("PUT /mcp", STREAM),
    ("POST /v1/responses", ""),
    ("GET /v1/responses", UPGRADE),
    ("GET /v1/responses", ""),
    ("POST /v1/responses/compact", ""),
    ("GET /v1/responses/resp_1", ""),
    ("GET /v1/responses/resp_1?stream=true", STREAM),
    ("DELETE /v1/responses/resp_1", ""),
    ("POST /v1/responses/resp_1/cancel", ""),
    ("GET /v1/responses/resp_1/input_items", ""),
    ("GET /v1/models", ""),
    ("GET /v1/models/m", ""),
    ("GET /metrics", ""),
    ("GET /healthz", ""),
    ("GET /", ""),
    ("OPTIONS /mcp", ""),
    ("GET /../etc/passwd", ""),
];

fn status(address: &str, request: &str) -> u16 {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut head = [0; 12];
    // A connection that is closed without a word has no status.
    match socket.read_exact(&mut head) {
        Ok(()) => std::str::from_utf8(&head[9..]).unwrap().parse().unwrap(),
        Err(_) => 0,
    }
}

#[test]
fn no_route_is_free_of_the_guard() {
    let sandbox = TestVault::new();
    let server = ServeProcess::scripted(&sandbox, &[json!({ "text": "Hello." })], &["--origin", PAGE]);
    let (address, token) = (server.address(), server.token());
    let port = address.rsplit(':').next().unwrap();
    let (hosts, origins, credentials, kinds) =
        (hosts(port), origins(port), credentials(token), content_types());
    let fine = (
        good(address),
        (None, None),
        good(format!("Authorization: Bearer {token}")),
        good("application/json"),
    );
    let mut wrong = Vec::new();
    let mut tried = 0;
    for (line, extra) in ROUTES {
        let posts = line.starts_with("POST");
        let open = line == "GET /healthz";
        let cells = hosts
            .iter()
            .map(|host| [host, &fine.1, &fine.2, &fine.3])
            .chain(origins.iter().map(|origin| [&fine.0, origin, &fine.2, &fine.3]))
            .chain(credentials.iter().map(|given| [&fine.0, &fine.1, given, &fine.3]))
            .chain(kinds.iter().filter(|_| posts).map(|kind| [&fine.0, &fine.1, &fine.2, kind]));
        for cell in cells {
            let [host, origin, given, kind] = cell;
            let mut request = format!("{line} HTTP/1.1\r\n{extra}");
            let kind = if posts { kind } else { &(None, None) };
            for (name, choice) in
                [("Host: ", host), ("Origin: ", origin), ("", given), ("Content-Type: ", kind)]
            {
                if let Some(value) = &choice.0 {
                    request.push_str(&format!("{name}{value}\r\n"));
                }
            }
            if posts {
                request.push_str(&format!("Content-Length: {}\r\n", BODY.len()));
            }
            request.push_str("\r\n");
            request.push_str(if posts { BODY } else { "" });
            let given = if open { None } else { given.1 };
            let expected = [host.1, origin.1, given, kind.1].into_iter().flatten().next();
            let status = status(address, &request);
            tried += 1;
            let is_right = match expected {
                Some(expected) => status == expected,
                None => ![0, 401, 403, 415, 500].contains(&status),
            };
            if !is_right {
                wrong.push(format!("{line}: {cell:?}: {status}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(tried > 600, "{tried}");
}
