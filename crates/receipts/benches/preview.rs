//! Time for a preview of 4 MiB, for many kinds of texts, including worst cases.
//!
//! `cargo bench -p receipts --bench preview` prints a line for each and stops if one takes too long.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![allow(clippy::panic, reason = "a benchmark stops at the first surprise")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use receipts::preview::tokenizer::estimate;
use receipts::preview::{PreviewInput, PreviewStyle, preview};

const SIZE: usize = 4 << 20;
const LONGEST: Duration = Duration::from_millis(150);
const BUDGET: usize = 1_000;

/// The same text again and again, up to the size.
fn repeated(text: &str) -> Vec<u8> {
    text.as_bytes().iter().copied().cycle().take(SIZE).collect()
}

/// Lines that differ in their words, so that none of them folds.
fn log(every_hundredth: &str) -> Vec<u8> {
    const WORDS: [&str; 7] = ["cache", "index", "queue", "fetch", "store", "merge", "flush"];
    let mut text = String::with_capacity(SIZE + 200);
    for n in 0.. {
        if text.len() > SIZE {
            break;
        }
        let (a, b, c) = (WORDS[n % 7], WORDS[n / 7 % 7], WORDS[n / 49 % 7]);
        text += &format!("2026-03-14T09:{:02}:53.589Z INFO [{a}] {b} of {c} took {n} us\n", n % 60);
        if n % 100 == 0 {
            text += every_hundredth;
        }
    }
    text.into_bytes()
}

fn json() -> Vec<u8> {
    let rows: Vec<String> = (0..60_000)
        .map(|n| format!(r#"{{"id":{n},"name":"item \u00e4 {n}","tags":["a","b"],"size":{}}}"#, n * 37))
        .collect();
    format!("[{}]", rows.join(",")).into_bytes()
}

/// The fastest of ten runs: the machine may be busy with something else.
fn fastest(mut work: impl FnMut()) -> Duration {
    (0..10)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .min()
        .unwrap_or_default()
}

fn main() {
    let texts = [
        ("log", log("")),
        ("log with failures", log("error: connection refused (os error 111)\n   --> src/net.rs:12:3\n")),
        ("one log line repeated", repeated("12:00:01 poll: 200 OK in 31ms\n")),
        ("similar lines that may not fold", repeated("error 17 in step 4\nerror 18 in step 4\n")),
        ("passing tests", repeated("test a::b::c ... ok\n")),
        ("beginnings of tests", repeated("=== RUN   TestA\n=== PAUSE TestA\n")),
        ("one line", repeated("abcdef ")),
        ("line ends", repeated("\n")),
        ("carriage returns", repeated("50%\r")),
        ("backspaces", repeated("a\u{8}\u{8}")),
        ("colours", repeated("\u{1b}[31mred\u{1b}[0m plain\n")),
        ("messages without an end", repeated("\u{1b}]0;title ")),
        ("Japanese", repeated("コマンドの出力が長い場合は、最初の数行だけを表示します。\n")),
        ("NUL bytes", vec![0; SIZE]),
        ("not UTF-8", vec![0xff; SIZE]),
        ("JSON", json()),
        ("brackets", repeated("[")),
    ];
    let mut slow = Vec::new();
    for (name, bytes) in &texts {
        for style in [PreviewStyle::Log, PreviewStyle::Text, PreviewStyle::Prefix] {
            let took = fastest(|| {
                black_box(preview(&PreviewInput::whole(black_box(bytes)), BUDGET, style));
            });
            println!("{:>7.1} ms  {name}, {style:?}", took.as_secs_f64() * 1e3);
            if took > LONGEST {
                slow.push(*name);
            }
        }
    }
    let text = String::from_utf8_lossy(&texts[0].1).into_owned();
    let took = fastest(|| {
        black_box(estimate(black_box(&text)));
    });
    println!("{:>7.0} MB/s estimate", text.len() as f64 / 1e6 / took.as_secs_f64());
    if !slow.is_empty() {
        panic!("more than {LONGEST:?}: {slow:?}");
    }
}
