//! Texts put together from nasty fragments, cut at random places.

use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use sentinel::{AnswerParser, ParserVerdict, Scanner};
use serde_json::Value;

use super::fragments::FRAGMENTS;
use super::reading::{names, read};

fn nasty() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        20 => prop::sample::select(&FRAGMENTS[..]).prop_map(str::to_owned),
        1 => ".{0,8}",
    ];
    prop::collection::vec(fragment, 0..40).prop_map(|fragments| fragments.concat())
}

fn limit() -> impl Strategy<Value = usize> {
    prop_oneof![Just(64), 64..200_usize, Just(1 << 20)]
}

/// Cuts a text after pieces of these lengths, at whole characters.
fn cut<'a>(text: &'a str, lengths: &[usize]) -> Vec<&'a str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    for length in lengths {
        let at = rest.ceil_char_boundary((*length).min(rest.len()));
        let (piece, after) = rest.split_at(at);
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    // Conformance: proxy 10.1
    // Conformance: proxy 4.5
    //     Everything outside of blocks is the assistant's text, complete and in order.
    //     In: sentinel/scanner.rs
    #[test]
    fn nothing_is_lost_and_cutting_changes_nothing(
        text in nasty(),
        lengths in prop::collection::vec(0..24_usize, 0..40),
        limit in limit(),
    ) {
        let whole = read(Scanner::with_limit(names(), limit), [text.as_str()]);
        let again: String = whole.iter().map(|said| said.raw()).collect();
        prop_assert_eq!(&again, &text);
        let pieces = read(Scanner::with_limit(names(), limit), cut(&text, &lengths));
        prop_assert_eq!(&pieces, &whole);
        let characters = read(Scanner::with_limit(names(), limit), super::reading::cut(&text, 1));
        prop_assert_eq!(&characters, &whole);
    }

    #[test]
    fn no_text_is_looked_at_more_than_four_times(text in nasty(), limit in limit(), by in 1..9_usize) {
        let text = text.repeat(20);
        let mut scanner = Scanner::with_limit(names(), limit);
        for piece in super::reading::cut(&text, by) {
            scanner.feed(piece, &mut |_| {});
        }
        scanner.finish(&mut |_| {});
        prop_assert!(scanner.scanned_bytes() <= 4 * text.len() as u64, "{} of {}", scanner.scanned_bytes(), text.len());
    }

    #[test]
    fn the_judge_loses_nothing_either(text in nasty(), fits in any::<bool>(), by in 1..9_usize) {
        let check = |_: &str, _: &Value| if fits { Ok(()) } else { Err("it does not fit".to_owned()) };
        let mut judge = AnswerParser::new(names(), check);
        let (mut shown, mut calls, mut failures) = (0, 0, 0);
        let mut say = |verdict: ParserVerdict<'_>| match verdict {
            ParserVerdict::Text(text) => shown += text.len(),
            ParserVerdict::Call { call, mismatch } => {
                calls += 1;
                assert_eq!(mismatch.is_none(), fits);
                assert!(serde_json::from_str::<serde_json::Map<String, Value>>(&call.arguments).is_ok());
            }
            ParserVerdict::StrictFailure(_) => failures += 1,
        };
        for piece in super::reading::cut(&text, by) {
            judge.feed(piece, &mut say);
        }
        judge.finish(&mut say);
        let counts = judge.counts();
        prop_assert_eq!((counts.calls, counts.strict_failures), (calls, failures));
        prop_assert!(calls + failures > 0 || shown == text.len());
    }
}
