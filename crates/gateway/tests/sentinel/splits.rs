//! Every case, read whole, cut in two at every place, and in pieces of every length up to 33.

use super::cases;
use super::reading::{cut, read, read_next, scanner, written};

#[test]
fn every_case_is_taken_for_what_it_is() {
    for case in cases::all() {
        case.expect.assert_eq(&written(&read(scanner(), [case.text])));
    }
}

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
