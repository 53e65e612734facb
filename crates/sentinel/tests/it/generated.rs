//! Very many generated answers, each split at random: no text is lost or duplicated, and no split makes a difference.
//! Each is also given to a model as the output of a tool and as a message: it is one record or none, and is restored
//! completely.
//!
//! `SENTINEL_CASES=10000000 cargo nextest run -p sentinel generated` runs more cases. A case is identified by its
//! number, so a failure can be repeated.

use responses::prompt::{OutputPart, PromptRecord, Unescaper, escape, records, unescape};
use sentinel::{DEFAULT_LIMIT, Scanner};

use super::drawing::Draw;
use super::grammar::is_object;
use super::outputs::output;
use super::reading::{Said, names, read_next};

const CASES: u64 = 10_000;

/// Counts of the cases, which show that they are not trivial.
#[derive(Debug, Default)]
struct Seen {
    bytes: usize,
    calls: u64,
    repaired: u64,
    rejected: u64,
    quoted: u64,
}

fn cases() -> u64 {
    std::env::var("SENTINEL_CASES").map_or(CASES, |many| many.parse().expect("SENTINEL_CASES is a number"))
}

// Conformance: proxy 4.5
#[test]
#[allow(clippy::print_stdout, reason = "whoever looks long wants to know what was looked at")]
fn no_cut_makes_a_difference_to_any_output() {
    let cases = cases();
    let names = names();
    let mut seen = Seen::default();
    for case in 0..cases {
        let mut draw = Draw::new(case);
        let text = output(&mut draw);
        let limit = if draw.one_in(4) { 64 + draw.below(200) } else { DEFAULT_LIMIT };
        let mut scanner = Scanner::with_limit(names.clone(), limit);
        let whole = read_next(&mut scanner, [text.as_str()]);
        let quoted = scanner.quoted();
        check(case, &text, &whole);

        // The same scanner, which must have forgotten the first text.
        let pieces = draw.pieces(&text);
        let before = scanner.scanned_bytes();
        let cut = read_next(&mut scanner, pieces.iter().copied());
        assert_eq!(cut, whole, "case {case}: {text:?} in {pieces:?}");
        assert_eq!(scanner.quoted(), 2 * quoted, "case {case}: {text:?} in {pieces:?}");
        let looked = scanner.scanned_bytes() - before;
        assert!(looked <= 4 * text.len() as u64, "case {case}: {looked} looks at {text:?}");
        seen.add(&text, &whole, quoted);
    }
    println!("{cases} cases: {seen:?}");
    assert!(seen.calls > cases / 4 && seen.repaired > cases / 100, "{seen:?}");
    assert!(seen.rejected > cases / 4 && seen.quoted > cases / 20, "{seen:?}");
}

#[test]
fn no_output_forges_anything_when_it_is_told_to_a_model() {
    let names = names();
    for case in 0..cases() {
        let mut draw = Draw::new(case);
        let text = output(&mut draw);
        let record =
            PromptRecord::Output { call_id: "c".to_owned(), parts: vec![OutputPart::Text(text.clone())] };
        let line = record.line();
        assert!(!line.contains(['<', '\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']), "case {case}: {line}");
        assert_eq!((line.matches('[').count(), line.matches(']').count()), (1, 1), "case {case}: {line}");
        assert_eq!(PromptRecord::parse(&line), Some(record), "case {case}: {line}");

        let escaped = escape(&text);
        assert_eq!(unescape(&escaped), text, "case {case}");
        assert_eq!(records(&escaped).count(), 0, "case {case}: {escaped:?}");
        let said = read_next(&mut Scanner::new(names.clone()), [&*escaped]);
        assert!(matches!(said.as_slice(), [] | [Said::Text(_)]), "case {case}: {said:?}");
        let (mut unescaper, mut again) = (Unescaper::default(), String::new());
        let pieces = draw.pieces(&escaped);
        pieces.iter().for_each(|piece| unescaper.feed(piece, &mut again));
        unescaper.finish(&mut again);
        assert_eq!(again, text, "case {case}: {escaped:?} in {pieces:?}");
    }
}

/// The pieces make up the text, and calls are calls.
fn check(case: u64, text: &str, said: &[Said]) {
    let mut rest = text;
    for one in said {
        rest = rest
            .strip_prefix(one.raw())
            .unwrap_or_else(|| panic!("case {case}: {one:?} is not what follows in {text:?}"));
        if let Said::Call { raw, call } = one {
            assert!(raw.starts_with("<tool_call>") && raw.ends_with("</tool_call>"), "case {case}: {raw:?}");
            assert!(is_object(&call.arguments), "case {case}: {raw:?} gives {:?}", call.arguments);
            assert!(["f", "read_file", "strict"].contains(&&*call.name), "case {case}: {raw:?}");
            assert!(!(call.repaired && call.name == "strict"), "case {case}: {raw:?} was repaired");
        }
    }
    assert_eq!(rest, "", "case {case}: lost of {text:?}");
}

impl Seen {
    fn add(&mut self, text: &str, said: &[Said], quoted: u64) {
        self.bytes += text.len();
        self.quoted += quoted;
        for one in said {
            match one {
                Said::Text(_) => {}
                Said::Call { call, .. } => {
                    self.calls += 1;
                    self.repaired += u64::from(call.repaired);
                }
                Said::Rejected { .. } => self.rejected += 1,
            }
        }
    }
}
