//! Cross-origin requests of pages in browsers.

use expect_test::expect;

use crate::http_test_server::{CLOSE, HttpTestServer, verdict};
use crate::routes::test_router;

#[tokio::test]
async fn an_allowed_page_is_told_so_and_no_other() {
    let test_server = HttpTestServer::start(test_router(), |settings| {
        settings.origins.push("app://obsidian.md".to_owned());
    })
    .await;
    let host = test_server.address;
    let asking = |origin: &str, more: &str| {
        format!(
            "OPTIONS /echo/a HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n\
             Access-Control-Request-Method: POST\r\n{more}Connection: close\r\n\r\n"
        )
    };
    let headers = "Access-Control-Request-Headers: authorization, x-stainless-os\r\n";
    let private = "Access-Control-Request-Private-Network: true\r\n";
    let mut report = String::new();
    for request in [
        asking("app://obsidian.md", headers),
        asking("app://obsidian.md", private),
        asking("http://evil.com", headers),
        asking("app://obsidian.md", "Origin: http://evil.com\r\n"),
        test_server.request("GET /healthz", &format!("Origin: app://obsidian.md\r\n{CLOSE}"), ""),
        // Its handler allows every origin.
        test_server.request("GET /cookie", &format!("Origin: app://obsidian.md\r\n{CLOSE}"), ""),
        test_server.request("GET /cookie", CLOSE, ""),
        test_server
            .request("GET /healthz", &format!("Origin: app://obsidian.md\r\n{CLOSE}"), "")
            .replace("Bearer tg_", "Bearer no_"),
        // Not a question of a browser: it needs the token like everything else.
        format!("OPTIONS /echo/a HTTP/1.1\r\nHost: {host}\r\nOrigin: app://obsidian.md\r\n{CLOSE}\r\n"),
    ] {
        let answer = test_server.exchange(request).await;
        report.push_str(&format!("{}\n", verdict(&answer)));
        let about_origins = |line: &&str| line.starts_with("access-control") || line.starts_with("vary");
        for line in answer.lines().filter(about_origins) {
            report.push_str(&format!("    {line}\n"));
        }
    }
    expect![[r#"
        204
            access-control-allow-methods: GET, HEAD, POST, DELETE
            access-control-max-age: 600
            access-control-allow-headers: authorization, x-stainless-os
            access-control-allow-origin: app://obsidian.md
            vary: origin
        204
            access-control-allow-methods: GET, HEAD, POST, DELETE
            access-control-max-age: 600
            access-control-allow-private-network: true
            access-control-allow-origin: app://obsidian.md
            vary: origin
        403 origin_not_allowed
            vary: origin
        403 origin_not_allowed
            vary: origin
        200
            access-control-allow-origin: app://obsidian.md
            vary: origin
        200
            access-control-allow-origin: app://obsidian.md
            vary: origin
        200
            vary: origin
        401 invalid_api_key
            access-control-allow-origin: app://obsidian.md
            vary: origin
        401 missing_api_key
            access-control-allow-origin: app://obsidian.md
            vary: origin
    "#]]
    .assert_eq(&report);
    test_server.stop().await;
}
