//! The host names that the server answers to: protection against DNS rebinding.
//!
//! A page loaded from elsewhere can make its own host name point at this machine. The browser then treats our answers as
//! that page's own, but still sends that page's name as Host.

use std::net::SocketAddr;

/// The allowed values of the Host header.
#[derive(Debug, Clone)]
pub(super) struct AllowedHosts(Vec<Box<[u8]>>);

impl AllowedHosts {
    /// Allows the loopback names with the bound port, the bound address itself, and names from the settings.
    pub(super) fn new(bound: SocketAddr, extra: &[String]) -> AllowedHosts {
        let port = bound.port();
        let mut names =
            vec![format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")];
        if !bound.ip().is_unspecified() {
            names.push(bound.to_string());
        }
        if port == 80 {
            // Clients leave out the default port.
            let bare: Vec<String> =
                names.iter().filter_map(|name| name.strip_suffix(":80")).map(str::to_owned).collect();
            names.extend(bare);
        }
        names.extend(extra.iter().cloned());
        AllowedHosts(names.into_iter().map(|name| name.into_bytes().into_boxed_slice()).collect())
    }

    pub(super) fn allow(&self, host: &[u8]) -> bool {
        self.0.iter().any(|name| name.as_ref() == host)
    }
}

/// Whether a name from the settings can be the value of a Host header: `name`, `name:8787`, `[::1]:8787`.
pub(super) fn is_host(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte))
        && !name.bytes().any(|byte| byte.is_ascii_uppercase())
}
