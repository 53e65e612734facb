//! Settings that would open the server further than their writer may think.

use std::net::SocketAddr;
use std::sync::Arc;

use expect_test::expect;
use http_edge::metrics::Metrics;
use http_edge::{EdgeSettings, HttpListener, Token};

async fn binding(address: &str, change: impl FnOnce(&mut EdgeSettings)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = EdgeSettings::new(Token::load_or_create(&folder.path().join("token")).unwrap());
    change(&mut settings);
    let address: SocketAddr = address.parse().unwrap();
    match HttpListener::bind(settings, Arc::new(Metrics::new()), address).await {
        Ok(edge) => format!("bound {}", edge.address().ip()),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn a_setting_that_opens_more_than_it_says_is_refused_with_the_way_out() {
    let report = [
        binding("127.0.0.1:0", |_| {}).await,
        binding("0.0.0.0:0", |_| {}).await,
        binding("[::]:0", |_| {}).await,
        binding("0.0.0.0:0", |settings| settings.allow_remote = true).await,
        binding("127.0.0.1:0", |settings| settings.hosts = vec!["*".to_owned()]).await,
        binding("127.0.0.1:0", |settings| settings.hosts = vec!["http://notes.local".to_owned()]).await,
        binding("127.0.0.1:0", |settings| settings.hosts = vec!["notes.local:8787".to_owned()]).await,
        binding("127.0.0.1:0", |settings| settings.origins = vec!["*".to_owned()]).await,
        binding("127.0.0.1:0", |settings| settings.origins = vec!["null".to_owned()]).await,
        binding("127.0.0.1:0", |settings| settings.origins = vec!["https://notes.example/".to_owned()]).await,
        binding("127.0.0.1:0", |settings| settings.origins = vec!["app://obsidian.md".to_owned()]).await,
    ];
    expect![[r#"
        bound 127.0.0.1
        0.0.0.0:0 can be reached from other machines: anyone with the token can then run tools on this one, and the token travels unencrypted. Bind 127.0.0.1, or allow remote access in the settings
        [::]:0 can be reached from other machines: anyone with the token can then run tools on this one, and the token travels unencrypted. Bind 127.0.0.1, or allow remote access in the settings
        bound 0.0.0.0
        `*` is not a host: write the name as clients do, in small letters, with the port: `notes.local:8787`
        `http://notes.local` is not a host: write the name as clients do, in small letters, with the port: `notes.local:8787`
        bound 127.0.0.1
        `*` is not an origin: write it as a browser does, such as `app://obsidian.md`; `*` and `null` are not allowed
        `null` is not an origin: write it as a browser does, such as `app://obsidian.md`; `*` and `null` are not allowed
        `https://notes.example/` is not an origin: write it as a browser does, such as `app://obsidian.md`; `*` and `null` are not allowed
        bound 127.0.0.1
    "#]].assert_eq(&report.map(|line| line + "\n").concat());
}
