//! A token for each client: whose request it is, and that a running server notices what changes.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::Extension;
use axum::routing::get;
use envelope::{ClientId, Timestamp};
use http_edge::{Admission, ClientFile, ClientTokens, EdgeSettings, Token, TokenError};

use crate::http_test_server::{CLOSE, HttpTestServer};

struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Home {
        Home { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("state").join(name)
    }

    fn clients(&self) -> ClientFile {
        ClientFile::new(self.path("clients.json"))
    }

    fn tokens(&self) -> Arc<ClientTokens> {
        Arc::new(ClientTokens::open(self.path("token"), self.path("clients.json")).unwrap())
    }
}

fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

/// Returns the name of the client that handlers see; the status if the guard refuses.
async fn seen(test_server: &HttpTestServer, token: &str) -> String {
    let request = format!(
        "GET /who HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nX-Client: admin\r\n{CLOSE}\r\n",
        test_server.address
    );
    let answer = test_server.exchange(request).await;
    match answer.split(' ').nth(1) {
        Some("200") => answer.rsplit("\r\n").next().unwrap().to_owned(),
        status => status.unwrap().to_owned(),
    }
}

fn faces() -> Router {
    let who = async |Extension(client): Extension<ClientId>| client.name().to_owned();
    Router::new().route("/who", get(who))
}

#[tokio::test]
async fn each_token_is_one_client_and_changes_are_noticed_without_a_restart() {
    let home = Home::new();
    let tokens = home.tokens();
    let test_server = HttpTestServer::start(faces(), |settings| settings.tokens = tokens).await;
    let default = std::fs::read_to_string(home.path("token")).unwrap().trim().to_owned();
    assert_eq!(seen(&test_server, &default).await, "default");
    let (laptop, _) = home.clients().issue("laptop", now()).unwrap();
    let (phone, _) = home.clients().issue("phone", now()).unwrap();
    assert_eq!(seen(&test_server, laptop.reveal()).await, "laptop");
    assert_eq!(seen(&test_server, phone.reveal()).await, "phone");
    let (rotated, _) = home.clients().rotate("laptop", now()).unwrap();
    assert_eq!(seen(&test_server, laptop.reveal()).await, "401");
    assert_eq!(seen(&test_server, rotated.reveal()).await, "laptop");
    home.clients().revoke("laptop").unwrap();
    assert_eq!(seen(&test_server, rotated.reveal()).await, "401");
    assert_eq!(seen(&test_server, phone.reveal()).await, "phone");
    let new_default = Token::rotate(&home.path("token")).unwrap();
    assert_eq!(seen(&test_server, &default).await, "401");
    assert_eq!(seen(&test_server, new_default.reveal()).await, "default");
    test_server.stop().await;
}

#[tokio::test]
async fn a_connection_that_lasts_can_tell_when_its_client_is_revoked() {
    let home = Home::new();
    let (token, _) = home.clients().issue("laptop", now()).unwrap();
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let keep = async move |Extension(admission): Extension<Admission>| tell.send(admission).unwrap();
    let tokens = home.tokens();
    let faces = Router::new().route("/keep", get(keep));
    let test_server = HttpTestServer::start(faces, |settings| settings.tokens = tokens).await;
    let request = test_server.request("GET /keep", CLOSE, "").replace(&test_server.token, token.reveal());
    assert!(test_server.exchange(request).await.starts_with("HTTP/1.1 200"));
    let admission = told.recv().await.unwrap();
    assert_eq!((admission.client().name(), admission.is_valid()), ("laptop", true));
    home.clients().rotate("laptop", now()).unwrap();
    assert!(admission.is_valid(), "it is the same client");
    home.clients().revoke("laptop").unwrap();
    assert!(!admission.is_valid());
    test_server.stop().await;
}

#[test]
fn a_client_keeps_its_identity_when_its_token_changes_and_leaves_it_to_nobody() {
    let home = Home::new();
    let (clients, tokens) = (home.clients(), home.tokens());
    let (_, issued) = clients.issue("laptop", now()).unwrap();
    let (_, rotated) = clients.rotate("laptop", now()).unwrap();
    let first = issued.id().unwrap();
    assert_eq!(rotated.id().unwrap(), first);
    assert!(tokens.has_token(&first));
    clients.revoke("laptop").unwrap();
    let (again, successor) = clients.issue("laptop", now()).unwrap();
    assert!(!tokens.has_token(&first));
    assert_ne!(successor.id().unwrap(), first);
    assert_eq!(tokens.identify(again.reveal().as_bytes()), successor.id());
}

#[test]
fn no_token_is_kept_and_the_file_is_for_its_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let (token, _) = home.clients().issue("laptop", now()).unwrap();
    let text = std::fs::read_to_string(home.path("clients.json")).unwrap();
    assert!(text.contains("laptop") && !text.contains(token.reveal()), "{text}");
    let mode = std::fs::metadata(home.path("clients.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    token.write_to(&home.path("laptop.token")).unwrap();
    let mode = std::fs::metadata(home.path("laptop.token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(std::fs::read_to_string(home.path("laptop.token")).unwrap().trim(), token.reveal());
}

#[test]
fn a_name_is_issued_once_and_is_nobody_elses() {
    let home = Home::new();
    let clients = home.clients();
    for bad in ["", "default", "local", "stdio", "a b", "a/b", "../x", "-x", "\u{1b}"] {
        assert!(matches!(clients.issue(bad, now()), Err(TokenError::BadName { .. })), "{bad}");
    }
    clients.issue("laptop", now()).unwrap();
    assert!(matches!(clients.issue("laptop", now()), Err(TokenError::ClientExists { .. })));
    assert!(matches!(clients.revoke("phone"), Err(TokenError::NoSuchClient { .. })));
    assert!(matches!(clients.rotate("phone", now()), Err(TokenError::NoSuchClient { .. })));
    assert_eq!(clients.list().unwrap().len(), 1);
}

#[test]
fn clients_that_are_issued_at_the_same_time_are_all_kept() {
    let home = Home::new();
    let names: Vec<String> = (0..8).map(|number| format!("client-{number}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| home.clients().issue(name, now()).unwrap());
        }
    });
    assert_eq!(home.clients().list().unwrap().len(), names.len());
}

#[test]
fn a_list_that_cannot_be_read_lets_none_of_its_clients_in() {
    let home = Home::new();
    let tokens = home.tokens();
    let (token, _) = home.clients().issue("laptop", now()).unwrap();
    let default = std::fs::read_to_string(home.path("token")).unwrap();
    assert!(tokens.identify(token.reveal().as_bytes()).is_some());
    let mut file = std::fs::File::options().append(true).open(home.path("clients.json")).unwrap();
    std::io::Write::write_all(&mut file, b"x").unwrap();
    assert_eq!(tokens.identify(token.reveal().as_bytes()), None);
    assert!(tokens.identify(default.trim().as_bytes()).is_some());
    assert!(ClientTokens::open(home.path("token"), home.path("clients.json")).is_err());
}

#[test]
fn neither_settings_nor_clients_print_a_secret() {
    let home = Home::new();
    let (token, client) = home.clients().issue("laptop", now()).unwrap();
    let printed = format!("{:?} {client:?}", EdgeSettings::for_clients(home.tokens()));
    assert!(!printed.contains(token.reveal()), "{printed}");
}
