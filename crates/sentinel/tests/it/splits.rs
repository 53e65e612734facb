//! Every case, read whole, cut in two at every place, and in pieces of every length up to 33.

use super::cases;
use super::reading::{cut, read, read_next, scanner, written};

// Conformance: proxy 1.8
// Conformance: proxy 11.3
//     A block that is cut off is never completed.
//     In: sentinel/lib.rs
// Conformance: proxy 13.4
//     1: several calls in one message.
//     In: sentinel/lib.rs
// Conformance: proxy 4.1
//     A call is `<tool_call>{"name":...,"arguments":"..."}</tool_call>`, and nothing else is one: JSON in prose makes
//     no call.
//     In: sentinel/lib.rs
// Conformance: proxy 6.2
#[test]
fn every_case_is_taken_for_what_it_is() {
    for case in cases::all() {
        case.expect.assert_eq(&written(&read(scanner(), [case.text])));
    }
}

// Conformance: proxy 10.1
//     A state machine over pieces of text, exact however the text is cut.
//     In: sentinel/scanner.rs
// Conformance: proxy 13.1
//     1, the parser: tags split over chunks.
//     In: sentinel/lib.rs
#[test]
fn how_a_text_is_cut_makes_no_difference() {
    for case in cases::all() {
        let whole = read(scanner(), [case.text]);
        for (at, _) in case.text.char_indices() {
            let halves = case.text.split_at(at);
            assert_eq!(read(scanner(), [halves.0, halves.1]), whole, "{}, cut at {at}", case.name);
        }
        for length in 1..=33 {
            assert_eq!(read(scanner(), cut(case.text, length)), whole, "{}, by {length}", case.name);
        }
    }
}

// Conformance: proxy 4.5
#[test]
fn no_byte_of_a_case_is_lost_or_comes_twice() {
    for case in cases::all() {
        let said = read(scanner(), cut(case.text, 3));
        let again: String = said.iter().map(|said| said.raw()).collect();
        assert_eq!(again, case.text, "{}", case.name);
    }
}

#[test]
fn a_scanner_can_be_used_again() {
    let mut used = scanner();
    for case in cases::all() {
        assert_eq!(read_next(&mut used, [case.text]), read(scanner(), [case.text]), "{}", case.name);
    }
}
