//! Many open and mostly silent streams: the memory of each.
//!
//! Of servers that have done nothing else: one that has had other loads takes them in memory that it has already.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::target::BenchServer;
use crate::{load, upstream};

/// Kibibytes that a stream may take of ours.
const AIM: f64 = 40.0;

pub(crate) fn hold(targets: &[BenchServer], streams: usize) {
    println!("\n{streams} streams held at the same time by servers that were just started");
    for target in targets.iter().filter(|target| target.tree().is_some()) {
        let tree = target.tree().unwrap();
        load::once(target);
        let before = tree.pss_mib();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (took, during) = runtime.block_on(async {
            let request = target.request(true, upstream::HELD);
            let began = Instant::now();
            let mut open = Vec::new();
            for _ in 0..streams {
                let mut socket = TcpStream::connect(target.address()).await.unwrap();
                socket.write_all(&request).await.unwrap();
                open.push(socket);
            }
            // Each has begun to answer.
            for socket in &mut open {
                let mut some = [0; 4096];
                let got =
                    tokio::time::timeout(Duration::from_secs(60), socket.read(&mut some)).await.unwrap();
                assert!(got.unwrap() > 0, "{} hung up", target.name());
            }
            (began.elapsed(), tree.pss_mib())
        });
        let each = (during - before) * 1024.0 / streams as f64;
        let verdict = match target.name() {
            "tollgate" if each <= AIM => format!(" (at most {AIM}) met"),
            "tollgate" => format!(" (at most {AIM}) MISSED"),
            _ => String::new(),
        };
        println!(
            "  {:<10} {:>6.1} MiB in all, {:>6.1} KiB a stream{verdict}; all had begun after {:.1} s",
            target.name(),
            during,
            each,
            took.as_secs_f64(),
        );
    }
}
