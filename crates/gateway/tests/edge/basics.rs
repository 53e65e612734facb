//! What every request gets, whatever its route.

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use gateway::edge::{BODY_LIMIT, error_response, read_body};

use crate::rig::{Rig, parted};

fn echo() -> Router {
    Router::new().route("/healthz", get(|| async { "well" })).route(
        "/echo/{name}",
        post(|body: Body| async {
            match read_body(body, BODY_LIMIT).await {
                Ok(bytes) => Body::from(bytes).into_response(),
                Err(error) => error_response(&error),
            }
        }),
    )
}

#[tokio::test]
async fn a_request_with_the_token_reaches_its_route() {
    let rig = Rig::start(echo(), |_| {}).await;
    let request =
        rig.request("POST /echo/a", "Content-Type: application/json\r\nContent-Length: 5\r\n", "[1,2]");
    let answer = rig.exchange(&request).await;
    assert_eq!(parted(&answer), (200, "[1,2]"));
    rig.stop().await;
}
