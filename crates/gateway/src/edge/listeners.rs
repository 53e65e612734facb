//! The sockets behind one address.
//!
//! `localhost` is two addresses. If only one of them were ours, another program on this machine could take the
//! other with the same port, and clients that say `localhost` would hand it the token.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::{TcpListener, TcpStream};

pub(super) struct Listeners {
    pub(super) main: TcpListener,
    /// The other loopback address with the same port.
    twin: Option<TcpListener>,
}

impl Listeners {
    pub(super) async fn bind(address: SocketAddr) -> io::Result<Listeners> {
        let main = TcpListener::bind(address).await?;
        let bound = main.local_addr()?;
        let twin = match twin_of(bound.ip()) {
            Some(ip) => match TcpListener::bind(SocketAddr::new(ip, bound.port())).await {
                Ok(twin) => Some(twin),
                Err(error) => {
                    note(&error, bound.port());
                    None
                }
            },
            None => None,
        };
        Ok(Listeners { main, twin })
    }

    pub(super) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let Some(twin) = &self.twin else { return self.main.accept().await };
        tokio::select! {
            accepted = self.main.accept() => accepted,
            accepted = twin.accept() => accepted,
        }
    }
}

fn twin_of(ip: IpAddr) -> Option<IpAddr> {
    match ip {
        IpAddr::V4(Ipv4Addr::LOCALHOST) => Some(IpAddr::V6(Ipv6Addr::LOCALHOST)),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        IpAddr::V4(_) | IpAddr::V6(_) => None,
    }
}

/// A machine without the other family has nobody there to reach.
fn note(error: &io::Error, port: u16) {
    if error.kind() == io::ErrorKind::AddrInUse {
        tracing::warn!(
            port,
            "another program has this port on the other loopback address: call the server by number, not as `localhost`"
        );
    } else {
        tracing::debug!(kind = %error.kind(), "only one loopback address is served");
    }
}
