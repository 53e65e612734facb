//! The minimum cost of a relay: bytes are copied both ways, and not parsed.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};

/// This program again, as a process of its own, if the variable is set.
pub(crate) const WORD: &str = "TOLLGATE_BENCH_RELAY_TO";

pub(crate) fn run(to: SocketAddr) -> ! {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{}", listener.local_addr().unwrap());
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut server = TcpStream::connect(to).await.unwrap();
                client.set_nodelay(true).unwrap();
                server.set_nodelay(true).unwrap();
                // Either side may hang up.
                let _ended = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    })
}
