//! Secrets: the token, and everything that a client sent.

use std::io;
use std::sync::{Arc, Mutex};

use http_edge::{EdgeSettings, Token};
use tracing_subscriber::fmt::MakeWriter;

use crate::http_test_server::{CLOSE, HttpTestServer};
use crate::routes::test_router;

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Log;

    fn make_writer(&self) -> Log {
        self.clone()
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

// Conformance: proxy 14.3
//     Logs and metrics repeat nothing that was sent, and never the token.
//     In: tollgate/logging.rs, http-edge/lib.rs
#[tokio::test]
async fn neither_logs_nor_metrics_repeat_what_was_sent() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(log.clone())
        .with_max_level(tracing::level_filters::LevelFilter::TRACE)
        .finish();
    // For the whole process: what other tests log must hold nothing of this one either.
    tracing::subscriber::set_global_default(subscriber).unwrap();

    let test_server = HttpTestServer::start(test_router(), |_| {}).await;
    let everywhere = format!("X-Canary: canary\r\nCookie: canary\r\nUser-Agent: canary\r\n{CLOSE}");
    let good = test_server.post("/echo/canary?canary", &everywhere, "\"canary\"");
    let mut requests = vec![
        good.clone(),
        good.replace("Bearer tg_", "Bearer canary"),
        good.replace("Host: 127", "Host: canary"),
        good.replace("X-Canary:", "Origin:"),
        good.replace("application/json", "canary/canary"),
        good.replace("\r\nX-Canary", "\nX-Canary"),
        good.replace("/echo/canary", "/canary"),
        good.replace("POST", "CANARY"),
        good.replace("HTTP/1.1", "HTTP/canary"),
    ];
    requests.push(test_server.request("GET http://canary/ HTTP/1.1", &everywhere, ""));
    let mut answers = String::new();
    for request in requests {
        answers.push_str(&test_server.exchange(request).await);
    }
    let told = [log.text(), test_server.metrics.render()].concat();
    let token = test_server.token.clone();
    test_server.stop().await;

    // Only the one answer that is an echo repeats anything.
    assert_eq!(answers.to_lowercase().matches("canary").count(), 1, "{answers}");
    let secret = token.strip_prefix("tg_").unwrap();
    for text in [&told, &log.text(), &answers.replace("\"canary\"", "")] {
        assert!(!text.to_lowercase().contains("canary") && !text.contains(secret), "{text}");
    }
    assert!(told.contains("refused a request") && told.contains("invalid_api_key"), "{told}");
}

// Conformance: proxy 14.3
#[test]
fn settings_can_be_printed_without_the_token() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::load_or_create(&folder.path().join("token")).unwrap();
    let printed = format!("{:?}", EdgeSettings::new(token.clone()));
    assert!(printed.contains("ClientTokens(..)") && !printed.contains(token.reveal()), "{printed}");
}
