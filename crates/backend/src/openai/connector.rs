//! Connector: opens a transport to the model's server, directly or through a proxy.

use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::BadAddress;
use super::connection::ConnectionError;

/// TCP, with TLS on top for `https` addresses.
pub(super) enum Transport {
    Plain(TokioIo<TcpStream>),
    /// Boxed: it is many times larger than a plain one, and streams without TLS should not pay for it.
    Tls(Box<MaybeHttpsStream<TokioIo<TcpStream>>>),
}

impl Transport {
    fn new(stream: MaybeHttpsStream<TokioIo<TcpStream>>) -> Transport {
        match stream {
            MaybeHttpsStream::Http(plain) => Transport::Plain(plain),
            tls @ MaybeHttpsStream::Https(_) => Transport::Tls(Box::new(tls)),
        }
    }
}

impl Read for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(plain) => Pin::new(plain).poll_read(cx, buffer),
            Transport::Tls(tls) => Pin::new(&mut **tls).poll_read(cx, buffer),
        }
    }
}

impl Write for Transport {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Plain(plain) => Pin::new(plain).poll_write(cx, bytes),
            Transport::Tls(tls) => Pin::new(&mut **tls).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(plain) => Pin::new(plain).poll_flush(cx),
            Transport::Tls(tls) => Pin::new(&mut **tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(plain) => Pin::new(plain).poll_shutdown(cx),
            Transport::Tls(tls) => Pin::new(&mut **tls).poll_shutdown(cx),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Transport::Plain(plain) => plain.is_write_vectored(),
            Transport::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Plain(plain) => Pin::new(plain).poll_write_vectored(cx, slices),
            Transport::Tls(tls) => Pin::new(&mut **tls).poll_write_vectored(cx, slices),
        }
    }
}

/// Proxies by the scheme of the server's address, each an `http://` address that may hold a user and a password. It has
/// no `Debug` for that reason.
#[derive(Clone, Default)]
pub struct ProxySettings {
    pub http: Option<String>,
    pub https: Option<String>,
    /// For either scheme if it has no proxy of its own.
    pub all: Option<String>,
    /// Hosts that are reached directly: names with their subdomains, addresses, networks or `*`, separated by commas.
    /// Loopback addresses always are.
    pub bypass: Option<String>,
}

impl ProxySettings {
    /// Reads the settings from the usual environment variables, in upper or lower case. The caller does the lookup:
    /// this crate reads no environment.
    pub fn from_variables(lookup: impl Fn(&str) -> Option<String>) -> ProxySettings {
        let value = |name: &str| {
            lookup(name)
                .or_else(|| lookup(&name.to_ascii_lowercase()))
                .filter(|value| !value.trim().is_empty())
        };
        ProxySettings {
            http: value("HTTP_PROXY"),
            https: value("HTTPS_PROXY"),
            all: value("ALL_PROXY"),
            bypass: value("NO_PROXY"),
        }
    }
}

#[derive(Clone)]
pub(super) enum Connector {
    Direct(HttpsConnector<HttpConnector>),
    /// The proxy connects to the server, and TLS goes through it unread.
    Tunnel(HttpsConnector<Tunnel<HttpConnector>>),
    /// The proxy takes the requests for a server without TLS.
    Forward {
        tcp: HttpsConnector<HttpConnector>,
        proxy: Uri,
        auth: Option<HeaderValue>,
    },
}

impl Connector {
    /// Returns the connector for a server. TLS trusts the roots that browsers trust. `limit` is the time for one
    /// connection to be made. Fails if the proxy for this server is not an `http` address.
    pub(super) fn new(
        server: &Uri,
        proxies: &ProxySettings,
        limit: Duration,
    ) -> Result<Connector, BadAddress> {
        let tcp = tcp_connector(limit);
        let text = |setting: &Option<String>| setting.clone().unwrap_or_default();
        let matcher = Matcher::builder()
            .http(text(&proxies.http))
            .https(text(&proxies.https))
            .all(text(&proxies.all))
            .no(text(&proxies.bypass))
            .build();
        let Some(proxy) = matcher.intercept(server).filter(|_| !is_loopback(server)) else {
            return Ok(Connector::Direct(with_tls(tcp)));
        };
        if proxy.uri().scheme_str() != Some("http") {
            return Err(BadAddress::BadProxy);
        }
        let (uri, auth) = (proxy.uri().clone(), proxy.basic_auth().cloned());
        if server.scheme_str() == Some("http") {
            return Ok(Connector::Forward { tcp: with_tls(tcp), proxy: uri, auth });
        }
        let tunnel = Tunnel::new(uri, tcp);
        Ok(Connector::Tunnel(with_tls(match auth {
            Some(auth) => tunnel.with_auth(auth),
            None => tunnel,
        })))
    }

    pub(super) async fn connect(&mut self, server: Uri) -> Result<Transport, ConnectionError> {
        let stream = match self {
            Connector::Direct(tcp) => tcp.call(server).await,
            Connector::Tunnel(tunnel) => tunnel.call(server).await,
            Connector::Forward { tcp, proxy, .. } => tcp.call(proxy.clone()).await,
        };
        stream.map(Transport::new)
    }
}

pub(super) fn tcp_connector(limit: Duration) -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(limit));
    tcp
}

fn with_tls<C>(below: C) -> HttpsConnector<C> {
    HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_http1().wrap_connector(below)
}

/// A model on this machine is never behind a proxy, whatever the environment says.
fn is_loopback(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Connector, ProxySettings};

    fn route(server: &str, variables: &[(&str, &str)]) -> String {
        let lookup = |wanted: &str| {
            variables.iter().find(|(name, _)| *name == wanted).map(|(_, value)| (*value).to_owned())
        };
        let settings = ProxySettings::from_variables(lookup);
        match Connector::new(&server.parse().unwrap(), &settings, Duration::from_secs(1)) {
            Ok(Connector::Direct(_)) => "direct".to_owned(),
            Ok(Connector::Tunnel(_)) => "tunnel".to_owned(),
            Ok(Connector::Forward { proxy, auth, .. }) => {
                format!("forward to {} with {:?}", proxy.authority().unwrap(), auth.map(|auth| auth.len()))
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_proxy_is_used_as_the_usual_variables_say() {
        let both = [
            ("HTTP_PROXY", "http://p:1"),
            ("https_proxy", "http://p:2"),
            ("NO_PROXY", "b.example, 10.0.0.0/8"),
        ];
        assert_eq!(route("http://a.example/v1", &[]), "direct");
        assert_eq!(route("http://a.example/v1", &both), "forward to p:1 with None");
        assert_eq!(route("https://a.example/v1", &both), "tunnel");
        assert_eq!(route("https://x.b.example/v1", &both), "direct");
        assert_eq!(route("http://10.1.2.3/v1", &both), "direct");
        assert_eq!(route("http://127.0.0.1:11434/v1", &both), "direct");
        assert_eq!(route("http://[::1]/v1", &both), "direct");
        assert_eq!(route("http://localhost:8080/v1", &both), "direct");
        assert_eq!(
            route("http://a.example/v1", &[("ALL_PROXY", "http://u:w@p:3")]),
            "forward to p:3 with Some(10)"
        );
        assert_eq!(
            route("http://a.example/v1", &[("HTTP_PROXY", "http://p:1"), ("NO_PROXY", "*")]),
            "direct"
        );
    }

    #[test]
    fn a_proxy_of_another_kind_is_refused_without_its_password() {
        let refused = "the proxy is not an address such as http://127.0.0.1:3128";
        assert_eq!(route("http://a.example/v1", &[("HTTP_PROXY", "socks5://u:secret@p:1")]), refused);
        assert_eq!(route("https://a.example/v1", &[("HTTPS_PROXY", "https://u:secret@p:1")]), refused);
    }
}
