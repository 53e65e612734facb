//! The sockets of one address.
//!
//! `localhost` is two addresses. If the server took only one of them, another program on this machine could take the
//! other with the same port, and clients that call `localhost` would send it the token.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// The longest queue of connections that were not accepted yet. The usual 128 made clients that connect in a burst wait
/// for the retransmission of their first packet: 2,000 of them 5.3 s, with this queue 0.13 s.
const BACKLOG: u32 = 4_096;

pub(super) struct ListenerPair {
    pub(super) main: TcpListener,
    /// The other loopback address with the same port.
    other: Option<TcpListener>,
}

impl ListenerPair {
    pub(super) fn bind(address: SocketAddr) -> io::Result<ListenerPair> {
        let main = listen(address)?;
        let bound = main.local_addr()?;
        let other = match other_loopback(bound.ip()) {
            Some(ip) => match listen(SocketAddr::new(ip, bound.port())) {
                Ok(other) => Some(other),
                Err(error) => {
                    log_unavailable(&error, bound.port());
                    None
                }
            },
            None => None,
        };
        Ok(ListenerPair { main, other })
    }

    pub(super) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let Some(other) = &self.other else { return self.main.accept().await };
        tokio::select! {
            accepted = self.main.accept() => accepted,
            accepted = other.accept() => accepted,
        }
    }
}

/// Binds the address, like `TcpListener::bind` with a longer queue. Must be called within a tokio runtime.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // The port can be bound again right after a restart.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn other_loopback(ip: IpAddr) -> Option<IpAddr> {
    match ip {
        IpAddr::V4(Ipv4Addr::LOCALHOST) => Some(IpAddr::V6(Ipv6Addr::LOCALHOST)),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        IpAddr::V4(_) | IpAddr::V6(_) => None,
    }
}

/// Another program on the port is a risk; a machine without the other address family is not.
fn log_unavailable(error: &io::Error, port: u16) {
    if error.kind() == io::ErrorKind::AddrInUse {
        tracing::warn!(
            port,
            "another program has this port on the other loopback address: call the server by number, not as `localhost`"
        );
    } else {
        tracing::debug!(kind = %error.kind(), "only one loopback address is served");
    }
}
