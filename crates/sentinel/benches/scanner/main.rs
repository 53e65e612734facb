//! The cost of the sentinel scanner: for texts in chunks of four characters, and for whole texts.
//!
//! `cargo bench -p sentinel --bench scanner` prints a line for each text and then the aims. The floors run in the
//! same process and in turn with the scanner. Other engines are not run here: their figures were measured elsewhere,
//! on a machine of this kind, with texts of the same shape.
#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

mod corpora;
mod floor;
mod reader;
mod timing;

use corpora::{Form, answer, notes};
use reader::{Figures, Reader};

/// The total size of the arguments of large calls, few or many: the processor's caches and branch predictors would
/// learn a short text in some rounds.
const ARGUMENTS: usize = 1_000_000;
const ROUNDS: usize = 100;
/// The long text is read in every so many rounds.
const SELDOM: usize = 10;

struct Text {
    name: String,
    text: String,
    calls: usize,
}

fn texts() -> Vec<Text> {
    let answers = Form::ALL.map(|form| Text {
        name: format!("{form:?}, 200 kB"),
        text: answer(form, 200_000, 50),
        calls: if form == Form::Prose { 0 } else { 50 },
    });
    let large_calls = [100, 10, 1].map(|calls| Text {
        name: format!("{calls} x {} kB", ARGUMENTS / calls / 1_000),
        text: notes(calls, ARGUMENTS / calls),
        calls,
    });
    let long = Text {
        name: "Newline, 20 MB".to_owned(),
        text: answer(Form::Newline, 20_000_000, 5_000),
        calls: 5_000,
    };
    answers.into_iter().chain(large_calls).chain([long]).collect()
}

fn aim(name: &str, is: f64, aim: f64, at_most: bool) {
    let met = if (is <= aim) == at_most { "met" } else { "MISSED" };
    let word = if at_most { "at most" } else { "at least" };
    println!("  {name:<42} {is:>8.2}   {word} {aim:<6} {met}");
}

fn main() {
    let texts = texts();
    let mut readers: Vec<Reader<'_>> = texts.iter().map(|text| Reader::new(&text.text, text.calls)).collect();
    for round in 0..ROUNDS {
        let many = if round % SELDOM == 0 { readers.len() } else { readers.len() - 1 };
        readers.iter_mut().take(many).for_each(Reader::round);
    }
    println!("                  ns for 4 characters     MB/s of the scanner    MB/s of both tags and");
    println!("                  scanner    judge        in fours   at once     bodies skipped, parsed");
    let figures: Vec<Figures> = readers.iter().map(Reader::figures).collect();
    for (text, figures) in texts.iter().zip(&figures) {
        let Figures { delta, judged, streaming, whole, skipped, parsed } = figures;
        println!(
            "{:<15} {delta:>9.1} {judged:>8.1} {streaming:>15.0} {whole:>9.0} {skipped:>15.0} {parsed:>9.0}",
            text.name
        );
    }
    let [newline, _, _, _, small, _, large, long] = figures.as_slice() else { return };
    println!("\naims");
    aim("nanoseconds for four characters", newline.delta, 23.0, true);
    aim("MB/s in fours", newline.streaming, 180.0, false);
    aim("MB/s at once", newline.whole, 950.0, false);
    aim("four characters, calls of 1 MB / of 10 kB", large.delta / small.delta, 1.1, true);
    aim("four characters, text of 20 MB / of 200 kB", long.delta / newline.delta, 1.1, true);
    println!(
        "\nratio to the floor, the text at once: {:.2} of bodies skipped, {:.2} of bodies parsed",
        newline.whole / newline.skipped,
        newline.whole / newline.parsed
    );
    println!(
        "measured elsewhere, on a machine of this kind, in the newline form: vLLM's Rust parser for Hermes"
    );
    println!("takes 91 ns for four characters, and 317 MB/s at once; the floor was 1200 MB/s there");
}
