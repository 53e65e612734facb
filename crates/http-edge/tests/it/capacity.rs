//! More connections than there is room for.

use expect_test::expect;
use tokio::io::AsyncWriteExt;

use crate::http_test_server::{CLOSE, HttpTestServer, counted, read_until, undated, verdict};
use crate::routes::test_router;

#[tokio::test]
async fn a_connection_too_many_is_told_so_and_room_comes_back() {
    let test_server = HttpTestServer::start(test_router(), |settings| settings.limits.connections = 2).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut socket = test_server.connect().await;
        socket.write_all(test_server.request("GET /healthz", "", "").as_bytes()).await.unwrap();
        read_until(&mut socket, "well").await;
        held.push(socket);
    }
    let mut third = test_server.connect().await;
    let answer = crate::http_test_server::read_to_close(&mut third).await;
    expect![[r#"
        HTTP/1.1 503 Service Unavailable
        Content-Type: application/json
        Content-Length: 165
        Retry-After: 1
        Connection: close

        {"error":{"message":"The server has as many connections as it can hold: close some and try again.","type":"server_error","param":null,"code":"too_many_connections"}}
    "#]].assert_eq(&undated(&answer));
    assert_eq!(counted(&test_server.metrics, "tollgate_http_connections"), 2);
    assert_eq!(
        counted(&test_server.metrics, "tollgate_http_refused_total{kind=\"too_many_connections\"}"),
        1
    );

    drop(held);
    // The server notices in its own time.
    while counted(&test_server.metrics, "tollgate_http_connections") > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(verdict(&test_server.exchange(test_server.request("GET /healthz", CLOSE, "")).await), "200");
    test_server.stop().await;
}
