//! Connections over TLS: what the layer in between holds back must not become the answer to another request.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hyper_rustls::HttpsConnectorBuilder;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection};

use super::connection_tests::{DONE, HI, events_of, hi, request, with_length};
use super::connector::{Connector, tcp_connector};
use super::{OpenAi, OpenAiSettings, server_address};

/// Size of hyper's first read.
const READ_BUFFER: usize = 8 * 1024;

/// For 127.0.0.1 and these tests only; good from 2020 to 2200.
const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIBazCCARKgAwIBAgIUYl+7rgPUrBORUMMRWmTshPCTZQcwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTIwMDEwMTAwMDAwMFoYDzIyMDAwMTAx
MDAwMDAwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARYNlhpzmHkCBQr9l8S7vqApF1+qEOOgFI9+6sMlPebXCHZK8Nj9ruH
nHxWPRftdV0YaAPFJgH4hSPF2VxBRkDUo0AwPjAPBgNVHREECDAGhwR/AAABMAwG
A1UdEwEB/wQCMAAwHQYDVR0OBBYEFM6ztJEXoqgTL8h9rijL5JqwXSgqMAoGCCqG
SM49BAMCA0cAMEQCICFPUYI8oXjJVNP2WU5ycSxqsuNAuC2A8PperEmJrTpFAiBc
ghNQJZDA8JEkcq6gPpfU0IWFB3mGn1Nm/qDTsb6xnA==
-----END CERTIFICATE-----
";
const KEY: &str = "\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg8cmeQVDptvQpd84k
bMSv06YzqVEEgpoBmA7yOgm8asyhRANCAARYNlhpzmHkCBQr9l8S7vqApF1+qEOO
gFI9+6sMlPebXCHZK8Nj9ruHnHxWPRftdV0YaAPFJgH4hSPF2VxBRkDU
-----END PRIVATE KEY-----
";

/// Data that a server sends after its response.
#[derive(Clone, Copy)]
enum Behind {
    Nothing,
    /// The response to a request that was not made.
    Another,
    /// That it sends no more; the socket stays open.
    Goodbye,
}

/// An answer that fills exactly what is read at once, so that what is behind it stays in the layer between.
fn answer() -> String {
    let head = |length| format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
    let length = READ_BUFFER - head(1_000).len();
    format!("{}:{}\n\n{HI}{DONE}", head(length), "x".repeat(length - 3 - HI.len() - DONE.len()))
}

/// Short, so that it is unsealed together with the answer before it.
fn another() -> String {
    with_length(&format!("{HI}{DONE}").replace("Hi", "No"))
}

fn settings() -> (ClientConfig, Arc<ServerConfig>) {
    let provider = Arc::new(default_provider());
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let client = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let server = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    (
        client.unwrap().with_root_certificates(roots).with_no_client_auth(),
        Arc::new(server.unwrap().with_no_client_auth().with_single_cert(vec![certificate], key).unwrap()),
    )
}

/// Answers once for each of `connections[n]` on its nth connection, and hangs up on none before all are over.
fn server(connections: Vec<Vec<Behind>>) -> (OpenAi, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    let (trusting, settings) = settings();
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(trusting)
        .https_only()
        .enable_http1()
        .wrap_connector(tcp_connector(Duration::from_secs(60)));
    let model = OpenAi::with_connector(
        OpenAiSettings::new(&url),
        server_address(&url).unwrap(),
        Connector::Direct(connector),
    )
    .unwrap();
    let served = std::thread::spawn(move || {
        let accept = |answers| (listener.accept().unwrap().0, answers);
        let mut open = Vec::new();
        for (mut socket, answers) in connections.into_iter().map(accept) {
            let mut session = ServerConnection::new(settings.clone()).unwrap();
            for behind in answers {
                request(&mut rustls::Stream::new(&mut session, &mut socket)).unwrap();
                tell(&mut session, &mut socket, behind);
            }
            open.push(socket);
        }
    });
    (model, served)
}

/// In one write, so that the data after the response arrives together with it.
fn tell(session: &mut ServerConnection, socket: &mut TcpStream, behind: Behind) {
    session.writer().write_all(answer().as_bytes()).unwrap();
    match behind {
        Behind::Nothing => {}
        Behind::Another => session.writer().write_all(another().as_bytes()).unwrap(),
        Behind::Goodbye => session.send_close_notify(),
    }
    let mut sealed = Vec::new();
    while session.wants_write() {
        session.write_tls(&mut sealed).unwrap();
    }
    socket.write_all(&sealed).unwrap();
}

#[tokio::test]
async fn what_was_unsealed_and_not_asked_for_answers_no_other_request() {
    let (model, served) = server(vec![vec![Behind::Another], vec![Behind::Nothing]]);
    for _ in 0..2 {
        assert_eq!(events_of(&model).await.unwrap(), hi());
    }
    served.join().unwrap();
}

#[tokio::test]
async fn a_sealed_connection_whose_server_has_said_goodbye_is_asked_nothing() {
    let (model, served) = server(vec![vec![Behind::Goodbye], vec![Behind::Nothing]]);
    for _ in 0..2 {
        assert_eq!(events_of(&model).await.unwrap(), hi());
    }
    served.join().unwrap();
}

#[tokio::test]
async fn a_sealed_connection_whose_answers_end_where_they_should_serves_many() {
    let (model, served) = server(vec![vec![Behind::Nothing; 3]]);
    for _ in 0..3 {
        assert_eq!(events_of(&model).await.unwrap(), hi());
    }
    served.join().unwrap();
}
