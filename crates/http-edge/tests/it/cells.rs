//! Every combination of host, origin, credentials and content type, and what each earns.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::http_test_server::{parted, read_to_close};

/// The one page that may call.
pub(crate) const PAGE: &str = "app://obsidian.md";

/// One way to fill a place in a request, and the status that it earns; 200 lets the next check decide.
pub(crate) type Choice = (Option<String>, u16);

fn choice(text: impl Into<String>, status: u16) -> Choice {
    (Some(text.into()), status)
}

pub(crate) struct Matrix {
    pub(crate) hosts: Vec<Choice>,
    pub(crate) origins: Vec<Choice>,
    pub(crate) credentials: Vec<Choice>,
    content_types: Vec<Choice>,
    /// The line of the request and the headers that do not vary.
    start: String,
    body: String,
}

impl Matrix {
    pub(crate) fn new(port: u16, token: &str) -> Matrix {
        Matrix::of(port, token, "POST /work HTTP/1.1\r\n", "{}")
    }

    /// For a request that begins so and has this body.
    pub(crate) fn of(port: u16, token: &str, start: &str, body: &str) -> Matrix {
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
        Matrix { hosts, origins, credentials, content_types, start: start.to_owned(), body: body.to_owned() }
    }

    pub(crate) fn cells(&self) -> usize {
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

    fn request(&self, cell: [&Choice; 4]) -> String {
        let header = |name: &str, choice: &Choice| {
            choice.0.as_ref().map(|value| format!("{name}{value}\r\n")).unwrap_or_default()
        };
        let [host, origin, credentials, content_type] = cell;
        [
            &self.start,
            &format!("Connection: close\r\nContent-Length: {}\r\n", self.body.len()),
            &header("Host: ", host),
            &header("Origin: ", origin),
            &header("", credentials),
            &header("Content-Type: ", content_type),
            "\r\n",
            &self.body,
        ]
        .concat()
    }

    /// The first choice that earns anything but 200.
    fn expected(cell: [&Choice; 4]) -> u16 {
        cell.iter().map(|choice| choice.1).find(|status| *status != 200).unwrap_or(200)
    }
}

/// Which of the cells are answered otherwise than they should be.
pub(crate) async fn wrong_cells(address: SocketAddr, matrix: Arc<Matrix>, every: usize) -> Vec<String> {
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
                socket.write_all(matrix.request(cell).as_bytes()).await.unwrap();
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
