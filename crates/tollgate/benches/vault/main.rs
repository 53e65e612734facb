//! What the vault costs at scale, side by side with ripgrep, fd, find and the raw disk.
//!
//! One vault, made by us and always the same, is kept in the target folder. Every figure is wall time; ours
//! and theirs are taken in turn, round by round, in the same run, and what counts is the ratio. Ours goes
//! through the whole gate, with its journal on disk, in this process; theirs is a process of its own.
//!
//! `-- --notes 2000` makes a small vault for a quick look; words after that name the parts to run.
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
    let corpus = corpus::Corpus::open_or_make(&rig::target(), notes);
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
    }
    println!("most memory this process had: {:.0} MB", rounds::peak_memory() as f64 / 1e6);
}
