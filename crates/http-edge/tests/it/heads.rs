//! Heads that could be read in two ways, or that are not meant for this server.

use expect_test::expect;

use crate::http_test_server::{HttpTestServer, verdict};
use crate::routes::test_router;

// Conformance: proxy 16.2
//     A head has one reading or none, and every wait has an end.
//     In: http-edge/head.rs, http-edge/stream.rs
#[tokio::test]
async fn a_head_is_read_in_one_way_or_not_at_all() {
    let test_server =
        HttpTestServer::start(test_router(), |settings| settings.open_paths.push("/healthz".to_owned()))
            .await;
    let port = test_server.address.port();
    let many: String = (0..64).map(|n| format!("X-{n}: a\r\n")).collect();
    let long = "a".repeat(17 * 1024);
    let get = |headers: &str| format!("GET /healthz HTTP/1.1\r\nHost: H\r\n{headers}\r\n");
    let to = |line: &str| format!("{line} HTTP/1.1\r\nHost: H\r\nConnection: close\r\n\r\n");
    let chunked = "Transfer-Encoding: chunked\r\n";
    let five = "Content-Length: 5\r\n";
    let cases = [
        ("plain", to("GET /healthz")),
        ("an empty line before it", "\r\n".to_owned() + &to("GET /healthz")),
        ("no Host", "GET /healthz HTTP/1.1\r\n\r\n".to_owned()),
        ("two Hosts", get("Host: H\r\n")),
        ("two Hosts, one foreign", get("Host: evil.com\r\n")),
        ("own absolute target", to("GET http://H/healthz")),
        ("foreign absolute target", to("GET http://evil.com/healthz")),
        ("absolute target under another name of ours", to("GET http://localhost:P/healthz")),
        ("user in the target", to("GET http://H@evil.com/healthz")),
        ("asterisk", to("OPTIONS *")),
        ("CONNECT", to("CONNECT evil.com:443")),
        ("length, then chunks", get(&[five, chunked].concat()) + "0\r\n\r\n"),
        ("chunks, then length", get(&[chunked, five].concat()) + "0\r\n\r\n"),
        ("two equal lengths", get("Content-Length: 0\r\nContent-Length: 0\r\n")),
        ("two lengths in one", get("Content-Length: 0, 0\r\n")),
        ("a length with a sign", get("Content-Length: +0\r\n")),
        ("a length without end", get("Content-Length: 99999999999999999999\r\n")),
        ("an empty length", get("Content-Length:\r\n")),
        ("another transfer encoding", get("Transfer-Encoding: gzip, chunked\r\n")),
        ("chunked twice", get(&[chunked, chunked].concat())),
        ("line feeds only", "GET /healthz HTTP/1.1\nHost: H\n\n".to_owned()),
        ("one line feed only", get("X: y\n")),
        ("a carriage return inside", get("X: y\rZ: z\r\n")),
        ("a folded header", get("X: a\r\n b\r\n")),
        ("a space before the colon", get("X : y\r\n")),
        ("no colon", get("X\r\n")),
        ("no name", get(": y\r\n")),
        ("a zero byte", get("X: a\0b\r\n")),
        ("an escape character", get("X: \u{1b}[2J\r\n")),
        ("65 headers", get(&many)),
        ("a large header", get(&format!("X: {long}\r\n"))),
        ("a large header that does not end", get(&format!("X: {long}")).trim_end().to_owned()),
        ("HTTP/1.0", "GET /healthz HTTP/1.0\r\nHost: H\r\n\r\n".to_owned()),
        ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned()),
        ("not HTTP", "\u{16}\u{3}\u{1}\u{2}\r\n\r\n".to_owned()),
    ];
    let mut report = String::new();
    for (name, request) in cases {
        let request = request
            .replace(": H\r", &format!(": {}\r", test_server.address))
            .replace(": H\n", &format!(": {}\n", test_server.address))
            .replace("http://H", &format!("http://{}", test_server.address))
            .replace("localhost:P", &format!("localhost:{port}"));
        let answer = test_server.exchange(request).await;
        report.push_str(&format!("{name}: {}\n", verdict(&answer)));
    }
    expect![[r#"
        plain: 200
        an empty line before it: 200
        no Host: 400 host_required
        two Hosts: 400 host_required
        two Hosts, one foreign: 400 host_required
        own absolute target: 200
        foreign absolute target: 400 bad_request_target
        absolute target under another name of ours: 400 bad_request_target
        user in the target: 400 bad_request_target
        asterisk: 400 bad_request_target
        CONNECT: 400 bad_request_target
        length, then chunks: 400 ambiguous_length
        chunks, then length: 400 ambiguous_length
        two equal lengths: 400 ambiguous_length
        two lengths in one: 400 ambiguous_length
        a length with a sign: 400 ambiguous_length
        a length without end: 400 ambiguous_length
        an empty length: 400 ambiguous_length
        another transfer encoding: 400 ambiguous_length
        chunked twice: 400 ambiguous_length
        line feeds only: 400 bad_line_ending
        one line feed only: 400 bad_line_ending
        a carriage return inside: 400 bad_line_ending
        a folded header: 400 bad_header_line
        a space before the colon: 400 bad_header_line
        no colon: 400 bad_header_line
        no name: 400 bad_header_line
        a zero byte: 400 bad_header_line
        an escape character: 400 bad_header_line
        65 headers: 431 headers_too_large
        a large header: 431 headers_too_large
        a large header that does not end: 431 headers_too_large
        HTTP/1.0: 505 http_version_not_supported
        HTTP/2: 400
        not HTTP: 400
    "#]]
    .assert_eq(&report);
    test_server.stop().await;
}
