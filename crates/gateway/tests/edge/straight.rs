//! Paths that are answered without the router: nobody can tell, except by the time it takes.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use gateway::edge::{Faces, read_body};
use http::{Method, StatusCode};

use crate::rig::{CLOSE, Rig, counted, parted, undated, verdict};

async fn note(request: Request) -> Response {
    match read_body(request.into_body(), 1000).await {
        Ok(bytes) if bytes.starts_with(b"\"break") => panic!("with a secret"),
        Ok(bytes) if bytes.starts_with(b"\"untyped") => no_such(Body::from("no such note")),
        Ok(bytes) if bytes.starts_with(b"\"silent") => no_such(Body::empty()),
        Ok(bytes) => bytes.into_response(),
        Err(error) => gateway::edge::error_response(&error),
    }
}

/// An answer that does not say what it is.
fn no_such(body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

fn routed() -> Router {
    Router::new()
        .route("/note", post(note).delete(|| async { "gone" }))
        .route("/other", get(|| async { "other" }))
}

fn straight() -> Faces {
    Faces::from(routed()).straight(Method::POST, "/note", |request, _arrival| Box::pin(note(request)))
}

/// An answer whose headers are sorted: who adds the length decides where it stands.
fn in_order(answer: &str) -> String {
    let (head, body) = answer.split_once("\n\n").unwrap();
    let mut lines: Vec<&str> = head.lines().collect();
    lines[1..].sort_unstable();
    format!("{}\n\n{body}", lines.join("\n"))
}

/// What a client sees of the same requests, and what is counted of them.
async fn told(faces: impl Into<Faces>) -> (String, [u64; 3]) {
    let rig = Rig::start(faces, |_| {}).await;
    let mut told = String::new();
    for request in [
        rig.post("/note", CLOSE, "[1,2]"),
        rig.post("/note?a=b", CLOSE, "[3]"),
        rig.post("/note/", CLOSE, "[4]"),
        rig.post("/%6eote", CLOSE, "[5]"),
        rig.request("DELETE /note", CLOSE, ""),
        rig.request("GET /note", CLOSE, ""),
        rig.post("/other", CLOSE, "[6]"),
        rig.post("/note", CLOSE, &format!("[{}]", "1".repeat(2000))),
        rig.post("/note", CLOSE, "\"break\""),
        rig.post("/note", CLOSE, "\"untyped\""),
        rig.post("/note", CLOSE, "\"silent\""),
    ] {
        told.push_str(&in_order(&undated(&rig.exchange(request).await)));
        told.push_str("--\n");
    }
    let counts = [("/note", 200), ("/note", 404), ("none", 500)].map(|(route, status)| {
        let labels = format!("{{method=\"POST\",route=\"{route}\",status=\"{status}\"}}");
        counted(&rig.metrics, &format!("tollgate_http_requests_total{labels}"))
    });
    rig.stop().await;
    (told, counts)
}

#[tokio::test]
async fn a_straight_path_answers_as_the_router_would() {
    let (by_router, counted_by_router) = told(routed()).await;
    let (straight, counted_straight) = told(straight()).await;
    assert_eq!(straight, by_router);
    for part in
        ["\n[3]\n", "allow: POST,DELETE", "\nno such note\n", "\"unknown_route\"", "\"internal_error\""]
    {
        assert!(by_router.contains(part), "{part}: {by_router}");
    }
    assert_eq!((counted_straight, counted_by_router), ([2, 2, 1], [2, 2, 1]));
}

#[tokio::test]
async fn the_router_is_not_asked_for_a_straight_path() {
    let faces = Faces::from(Router::new().route("/note", post(|| async { "by the router" })));
    let faces = faces
        .straight(Method::POST, "/note", |_request, _arrival| Box::pin(async { "straight".into_response() }));
    let rig = Rig::start(faces, |_| {}).await;
    assert_eq!(parted(&rig.exchange(rig.post("/note", CLOSE, "[]")).await), (200, "straight"));
    let without_token =
        format!("POST /note HTTP/1.1\r\nHost: {}\r\n{CLOSE}Content-Length: 0\r\n\r\n", rig.address);
    assert_eq!(verdict(&rig.exchange(without_token).await), "401 missing_api_key");
    rig.stop().await;
}
