//! Every combination of host, origin, credentials and content type: only the intended ones come in.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::routing::{get, post};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use crate::rig::{Rig, parted, read_to_close};

const PAGE: &str = "app://obsidian.md";

/// One way to fill a place in a request, and the status that it earns; 200 lets the next check decide.
type Choice = (Option<String>, u16);

fn choice(text: impl Into<String>, status: u16) -> Choice {
    (Some(text.into()), status)
}

struct Matrix {
    hosts: Vec<Choice>,
    origins: Vec<Choice>,
    credentials: Vec<Choice>,
    content_types: Vec<Choice>,
}

impl Matrix {
    fn new(port: u16, token: &str) -> Matrix {
        let other = port ^ 1;
        let hosts = vec![
            choice(format!("127.0.0.1:{port}"), 200),
            choice(format!("localhost:{port}"), 200),
            choice(format!("[::1]:{port}"), 200),
            choice("127.0.0.1", 403),
            choice(format!("127.0.0.1:{other}"), 403),
            choice(format!("127.0.0.1.evil.com:{port}"), 403),
            choice(format!("localhost.:{port}"), 403),
            choice(format!("LOCALHOST:{port}"), 403),
            choice(format!("127.1:{port}"), 403),
            choice(format!("2130706433:{port}"), 403),
            choice(format!("0.0.0.0:{port}"), 403),
            choice(format!("evil.com:{port}"), 403),
            choice(format!("localhost:{port}@evil.com"), 403),
            choice("", 403),
            (None, 400),
        ];
        let origins = vec![
            (None, 200),
            choice(PAGE, 200),
            choice("null", 403),
            choice("*", 403),
            choice("", 403),
            choice(format!("http://127.0.0.1:{port}"), 403),
            choice(format!("http://localhost:{port}"), 403),
            choice(format!("http://localhost:{other}"), 403),
            choice("http://evil.com", 403),
            choice("http://localhost:1@evil.com", 403),
            choice("app://obsidian.md.evil.com", 403),
            choice("app://obsidian.md/", 403),
            choice("APP://OBSIDIAN.MD", 403),
        ];
        let credentials = vec![
            choice(format!("Authorization: Bearer {token}"), 200),
            choice(format!("authorization: bearer {token}"), 200),
            (None, 401),
            choice(
                "Authorization: Bearer tg_0000000000000000000000000000000000000000000000000000000000000000",
                401,
            ),
            choice("Authorization: Bearer ", 401),
            choice(format!("Authorization: Basic {token}"), 401),
            choice(format!("Authorization: {token}"), 401),
            choice(format!("Authorization: Bearer {token}0"), 401),
            choice(format!("X-Api-Key: {token}"), 401),
        ];
        let content_types = vec![
            choice("application/json", 200),
            choice("application/json; charset=utf-8", 200),
            (None, 415),
            choice("text/plain", 415),
            choice("application/x-www-form-urlencoded", 415),
            choice("multipart/form-data; boundary=x", 415),
        ];
        Matrix { hosts, origins, credentials, content_types }
    }

    fn cells(&self) -> usize {
        self.hosts.len() * self.origins.len() * self.credentials.len() * self.content_types.len()
    }

    /// The choices of a cell, in the order in which they are judged.
    fn cell(&self, mut index: usize) -> [&Choice; 4] {
        [&self.hosts, &self.origins, &self.credentials, &self.content_types].map(|choices| {
            let choice = &choices[index % choices.len()];
            index /= choices.len();
            choice
        })
    }

    fn request(cell: [&Choice; 4]) -> String {
        let header = |name: &str, choice: &Choice| {
            choice.0.as_ref().map(|value| format!("{name}{value}\r\n")).unwrap_or_default()
        };
        let [host, origin, credentials, content_type] = cell;
        [
            "POST /work HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n",
            &header("Host: ", host),
            &header("Origin: ", origin),
            &header("", credentials),
            &header("Content-Type: ", content_type),
            "\r\n{}",
        ]
        .concat()
    }

    /// The first choice that earns anything but 200.
    fn expected(cell: [&Choice; 4]) -> u16 {
        cell.iter().map(|choice| choice.1).find(|status| *status != 200).unwrap_or(200)
    }
}

/// Which of the cells are answered otherwise than they should be.
async fn wrong_cells(address: SocketAddr, matrix: Arc<Matrix>, every: usize) -> Vec<String> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (matrix, next) = (matrix.clone(), next.clone());
        clients.spawn(async move {
            let mut wrong = Vec::new();
            loop {
                let index = next.fetch_add(every, Ordering::Relaxed);
                if index >= matrix.cells() {
                    return wrong;
                }
                let cell = matrix.cell(index);
                let mut socket = TcpStream::connect(address).await.unwrap();
                socket.write_all(Matrix::request(cell).as_bytes()).await.unwrap();
                let answer = read_to_close(&mut socket).await;
                let status = parted(&answer).0;
                let leave =
                    answer.lines().find_map(|line| line.strip_prefix("access-control-allow-origin: "));
                let known = cell[0].1 == 200 && cell[1].0.as_deref() == Some(PAGE);
                if status != Matrix::expected(cell) || leave != known.then_some(PAGE) {
                    wrong.push(format!("{cell:?}: {status}, {leave:?}"));
                }
            }
        });
    }
    clients.join_all().await.concat()
}

fn face(worked: Arc<AtomicUsize>) -> Router {
    Router::new().route("/healthz", get(|| async { "well" })).route(
        "/work",
        post(move || async move {
            worked.fetch_add(1, Ordering::Relaxed);
        }),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_ten_thousand_combinations_only_the_intended_ones_come_in() {
    let worked = Arc::new(AtomicUsize::new(0));
    let rig = Rig::start(face(worked.clone()), |settings| settings.origins.push(PAGE.to_owned())).await;
    let matrix = Arc::new(Matrix::new(rig.address.port(), &rig.token));
    assert_eq!(matrix.cells(), 15 * 13 * 9 * 6);
    let wrong = wrong_cells(rig.address, matrix, 1).await;
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(worked.load(Ordering::Relaxed), 3 * 2 * 2 * 2);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_combinations_would_notice_a_missing_guard() {
    let worked = Arc::new(AtomicUsize::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async { axum::serve(listener, face(worked)).await });
    let matrix = Arc::new(Matrix::new(address.port(), "tg_1"));
    let tried = matrix.cells().div_ceil(11);
    let wrong = wrong_cells(address, matrix, 11).await;
    assert!(wrong.len() * 100 > tried * 95, "{} of {tried}", wrong.len());
    server.abort();
}

#[tokio::test]
async fn no_route_is_free_of_the_guard() {
    let rig = Rig::start(face(Arc::default()), |settings| {
        settings.open_paths.push("/healthz".to_owned());
        settings.origins.push(PAGE.to_owned());
    })
    .await;
    let matrix = Matrix::new(rig.address.port(), &rig.token);
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
            let answer = rig.exchange(request + "\r\n").await;
            if parted(&answer).0 != expected {
                wrong.push(format!("{line} {host:?} {origin:?} {credentials:?}: {}", parted(&answer).0));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    rig.stop().await;
}
