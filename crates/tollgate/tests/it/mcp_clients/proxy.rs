//! Adds the token to every request on its way to a server, for programs that cannot send one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

/// Listens before the server does, so that the server can be given its name.
pub(crate) struct StdioProxy {
    listener: TcpListener,
    pub(crate) port: u16,
}

impl StdioProxy {
    pub(crate) fn new() -> StdioProxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        StdioProxy { listener, port }
    }

    /// Passes everything on to a server, until the test ends.
    pub(crate) fn lead_to(self, address: String, token: String) {
        std::thread::spawn(move || {
            for client in self.listener.incoming() {
                let (address, token) = (address.clone(), token.clone());
                std::thread::spawn(move || {
                    pass_on(client.ok()?, &TcpStream::connect(address).ok()?, &token).ok()
                });
            }
        });
    }
}

/// One request and its answer: the server is asked to close the connection afterwards.
fn pass_on(client: TcpStream, server: &TcpStream, token: &str) -> std::io::Result<()> {
    let mut from_client = BufReader::new(client.try_clone()?);
    let mut to_server = server.try_clone()?;
    let mut line = String::new();
    from_client.read_line(&mut line)?;
    while line != "\r\n" {
        if line.is_empty() {
            return Ok(());
        }
        if !line.to_ascii_lowercase().starts_with("connection:") {
            to_server.write_all(line.as_bytes())?;
        }
        line.clear();
        from_client.read_line(&mut line)?;
    }
    write!(to_server, "authorization: Bearer {token}\r\nconnection: close\r\n\r\n")?;
    std::thread::spawn(move || copy(&mut from_client, &mut to_server));
    // The client is left to hang up: Node's stops at an assertion of its own if somebody else does while it has not read
    // an answer that it does not want.
    copy(&mut server.try_clone()?, &mut client.try_clone()?)
}

/// Sends each piece at once, so that streams are not delayed.
fn copy(from: &mut impl Read, to: &mut impl Write) -> std::io::Result<()> {
    let mut bytes = [0; 8192];
    loop {
        match from.read(&mut bytes)? {
            0 => return Ok(()),
            count => to.write_all(&bytes[..count])?,
        }
    }
}
