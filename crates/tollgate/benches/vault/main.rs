//! Measures the vault at scale, side by side with ripgrep, fd, find and the raw disk.
//!
//! One generated, deterministic vault is kept in the target folder. Every figure is wall time. The contenders
//! alternate, round by round, in the same run, and the ratio is the result. Calls of this program pass all phases of
//! the engine, with the journal on disk, in this process; the others are processes of their own.
//!
//! `-- --notes 2000` creates a small vault for a quick run; further words select the parts to run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops at the first surprise"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, writes files and starts its peers"
)]

mod corpus;
mod create;
mod list;
mod peers;
mod rig;
mod rounds;
mod search;

const NOTES: u32 = 50_000;

fn main() {
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let (mut notes, mut parts) = (NOTES, Vec::new());
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--notes" => notes = args.next().and_then(|count| count.parse().ok()).expect("a count of notes"),
            _ => parts.push(arg),
        }
    }
    let wanted = |name: &str| parts.is_empty() || parts.iter().any(|part| part == name);
    let corpus = corpus::NoteCorpus::open_or_make(&rig::target(), notes);
    println!(
        "{notes} notes in {} folders, {:.1} MB, {} threads",
        corpus.folders,
        corpus.bytes as f64 / 1e6,
        std::thread::available_parallelism().unwrap()
    );
    if wanted("search") {
        search::measure(&corpus, &peers::ripgrep(&rig::target()));
    }
    if wanted("list") {
        list::measure(&corpus, &peers::fd(&rig::target()));
    }
    if wanted("create") {
        create::measure(notes / 5);
        create::measure_by_folder_size();
    }
    println!("most memory this process had: {:.0} MB", rounds::peak_memory() as f64 / 1e6);
}
