//! Every combination of host, origin, credentials and content type: only the intended ones come in.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::routing::{get, post};
use tokio::net::TcpListener;

use crate::cells::{Choice, Matrix, PAGE, wrong_cells};
use crate::http_test_server::{HttpTestServer, parted};

fn test_router(worked: Arc<AtomicUsize>) -> Router {
    Router::new().route("/healthz", get(|| async { "well" })).route(
        "/work",
        post(move || async move {
            worked.fetch_add(1, Ordering::Relaxed);
        }),
    )
}

// Conformance: proxy 16.1
//     Every request passes the same guard (host, origin, token, JSON) before a byte of its body is read.
//     In: http-edge/guard.rs
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_ten_thousand_combinations_only_the_intended_ones_come_in() {
    let worked = Arc::new(AtomicUsize::new(0));
    let test_server =
        HttpTestServer::start(test_router(worked.clone()), |settings| settings.origins.push(PAGE.to_owned()))
            .await;
    let matrix = Arc::new(Matrix::new(test_server.address.port(), &test_server.token));
    assert_eq!(matrix.cells(), 15 * 13 * 9 * 6);
    let wrong = wrong_cells(test_server.address, matrix, 1).await;
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(worked.load(Ordering::Relaxed), 3 * 2 * 2 * 2);
    test_server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_combinations_would_notice_a_missing_guard() {
    let worked = Arc::new(AtomicUsize::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async { axum::serve(listener, test_router(worked)).await });
    let matrix = Arc::new(Matrix::new(address.port(), "tg_1"));
    let tried = matrix.cells().div_ceil(11);
    let wrong = wrong_cells(address, matrix, 11).await;
    assert!(wrong.len() * 100 > tried * 95, "{} of {tried}", wrong.len());
    server.abort();
}

// Conformance: proxy 16.1
#[tokio::test]
async fn no_route_is_free_of_the_guard() {
    let test_server = HttpTestServer::start(test_router(Arc::default()), |settings| {
        settings.open_paths.push("/healthz".to_owned());
        settings.origins.push(PAGE.to_owned());
    })
    .await;
    let matrix = Matrix::new(test_server.address.port(), &test_server.token);
    let good = |choices: &[Choice]| choices.iter().find(|choice| choice.1 == 200).cloned().unwrap();
    let [host, origin, credentials] =
        [&matrix.hosts, &matrix.origins, &matrix.credentials].map(|all| good(all));
    // The line of the request, and what it earns when all is well.
    let routes = [
        ("GET /healthz", 200),
        ("HEAD /healthz", 200),
        ("GET /work", 405),
        ("DELETE /work", 405),
        ("BREW /work", 405),
        ("OPTIONS /work", 405),
        ("GET /nowhere", 404),
        ("GET /work/../healthz", 404),
        ("GET //healthz", 404),
        ("GET /healthz/", 404),
        ("GET /healthz?a=b", 200),
        ("GET /%68ealthz", 404),
    ];
    let mut wrong = Vec::new();
    for (line, well) in routes {
        let open = line.ends_with(" /healthz") || line.ends_with("?a=b");
        let variants = matrix.hosts.iter().map(|host| [host, &origin, &credentials]);
        let variants = variants.chain(matrix.origins.iter().map(|origin| [&host, origin, &credentials]));
        let variants =
            variants.chain(matrix.credentials.iter().map(|credentials| [&host, &origin, credentials]));
        for [host, origin, credentials] in variants {
            let statuses = [host.1, origin.1, if open { 200 } else { credentials.1 }];
            let expected = statuses.into_iter().find(|status| *status != 200).unwrap_or(well);
            let mut request = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
            for (name, choice) in [("Host: ", host), ("Origin: ", origin), ("", credentials)] {
                if let Some(value) = &choice.0 {
                    request.push_str(&format!("{name}{value}\r\n"));
                }
            }
            let answer = test_server.exchange(request + "\r\n").await;
            if parted(&answer).0 != expected {
                wrong.push(format!("{line} {host:?} {origin:?} {credentials:?}: {}", parted(&answer).0));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    test_server.stop().await;
}
