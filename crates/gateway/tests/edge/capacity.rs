//! More connections than there is room for.

use expect_test::expect;
use tokio::io::AsyncWriteExt;

use crate::rig::{CLOSE, Rig, counted, read_until, undated, verdict};
use crate::routes::face;

#[tokio::test]
async fn a_connection_too_many_is_told_so_and_room_comes_back() {
    let rig = Rig::start(face(), |settings| settings.limits.connections = 2).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut socket = rig.connect().await;
        socket.write_all(rig.request("GET /healthz", "", "").as_bytes()).await.unwrap();
        read_until(&mut socket, "well").await;
        held.push(socket);
    }
    let mut third = rig.connect().await;
    let answer = crate::rig::read_to_close(&mut third).await;
    expect![[r#"
        HTTP/1.1 503 Service Unavailable
        Content-Type: application/json
        Content-Length: 165
        Retry-After: 1
        Connection: close

        {"error":{"message":"The server has as many connections as it can hold: close some and try again.","type":"server_error","param":null,"code":"too_many_connections"}}
    "#]].assert_eq(&undated(&answer));
    assert_eq!(counted(&rig.metrics, "tollgate_http_connections"), 2);
    assert_eq!(counted(&rig.metrics, "tollgate_http_refused_total{kind=\"too_many_connections\"}"), 1);

    drop(held);
    // The server notices in its own time.
    while counted(&rig.metrics, "tollgate_http_connections") > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(verdict(&rig.exchange(rig.request("GET /healthz", CLOSE, "")).await), "200");
    rig.stop().await;
}
