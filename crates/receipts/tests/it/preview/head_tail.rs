//! Complete previews: the shown lines of a long text, and their counts.

use expect_test::{Expect, expect};
use receipts::preview::tokenizer::estimate;
use receipts::preview::{InputGap, PreviewInput, PreviewStyle, preview};

fn check(input: &PreviewInput<'_>, budget: usize, style: PreviewStyle, expected: &Expect) {
    let shown = preview(input, budget, style);
    assert!(estimate(&shown.text) <= budget, "{}", estimate(&shown.text));
    expected.assert_eq(&format!(
        "{}\n(truncated: {}, lines: {}, shown: {}, left out: {}, cut: {})\n",
        shown.text, shown.truncated, shown.lines, shown.shown_lines, shown.left_out_lines, shown.cut_lines
    ));
}

/// Lines that are all different.
fn words(count: usize) -> String {
    const WORDS: [&str; 7] = ["apple", "river", "stone", "cloud", "amber", "quiet", "lantern"];
    (1..=count).map(|n| format!("{} {} line {n}\n", WORDS[n % 7], WORDS[n / 7 % 7])).collect()
}

#[test]
fn what_fits_is_shown_as_it_is() {
    check(
        &PreviewInput::whole(b"one\n\ntwo\n"),
        100,
        PreviewStyle::Log,
        &expect![[r#"
        one

        two
        (truncated: false, lines: 3, shown: 3, left out: 0, cut: 0)
    "#]],
    );
    check(
        &PreviewInput::whole(b""),
        100,
        PreviewStyle::Log,
        &expect![[r#"

        (truncated: false, lines: 0, shown: 0, left out: 0, cut: 0)
    "#]],
    );
}

// Conformance: result 5.3
//     Logs are shown from both ends, and the cut says how much is shown.
//     In: receipts/preview/head_tail.rs
#[test]
fn the_end_of_a_log_is_worth_more_than_its_beginning() {
    check(
        &PreviewInput::whole(words(2000).as_bytes()),
        120,
        PreviewStyle::Log,
        &expect![[r#"
        river apple line 1
        stone apple line 2
        cloud apple line 3
        amber apple line 4
        quiet apple line 5
        ...
        [output truncated: showing first 5 and last 8 lines of 2,000]
        ...
        quiet amber line 1993
        lantern amber line 1994
        apple quiet line 1995
        river quiet line 1996
        stone quiet line 1997
        cloud quiet line 1998
        amber quiet line 1999
        quiet quiet line 2000
        (truncated: true, lines: 2000, shown: 13, left out: 1987, cut: 0)
    "#]],
    );
}

#[test]
fn a_text_is_shown_from_both_ends_alike_and_a_list_from_its_beginning() {
    check(
        &PreviewInput::whole(words(2000).as_bytes()),
        90,
        PreviewStyle::Text,
        &expect![[r#"
        river apple line 1
        stone apple line 2
        cloud apple line 3
        amber apple line 4
        quiet apple line 5
        ...
        [output truncated: showing first 5 and last 4 lines of 2,000]
        ...
        stone quiet line 1997
        cloud quiet line 1998
        amber quiet line 1999
        quiet quiet line 2000
        (truncated: true, lines: 2000, shown: 9, left out: 1991, cut: 0)
    "#]],
    );
    check(
        &PreviewInput::whole(words(2000).as_bytes()),
        70,
        PreviewStyle::Prefix,
        &expect![[r#"
        river apple line 1
        stone apple line 2
        cloud apple line 3
        amber apple line 4
        quiet apple line 5
        lantern apple line 6
        apple river line 7
        river river line 8
        ...
        [output truncated: showing first 8 lines of 2,000]
        (truncated: true, lines: 2000, shown: 8, left out: 1992, cut: 0)
    "#]],
    );
}

#[test]
fn failures_in_the_middle_of_a_log_are_shown_with_their_line() {
    let failure = "error[E0308]: mismatched types\n   --> src/report.rs:142:33\nsome more\n";
    let log = [words(900).as_str(), failure, words(900).as_str()].concat();
    check(
        &PreviewInput::whole(log.as_bytes()),
        200,
        PreviewStyle::Log,
        &expect![[r#"
            river apple line 1
            stone apple line 2
            cloud apple line 3
            amber apple line 4
            quiet apple line 5
            lantern apple line 6
            ...
            [output truncated: showing first 6 and last 14 lines of 1,803, and 1 of 1 failures and 1 unusual lines between them]
            ...
            901: error[E0308]: mismatched types
            902:    --> src/report.rs:142:33
            903: some more
            904: river apple line 1
            ...
            quiet apple line 887
            lantern apple line 888
            apple river line 889
            river river line 890
            stone river line 891
            cloud river line 892
            amber river line 893
            quiet river line 894
            lantern river line 895
            apple stone line 896
            river stone line 897
            stone stone line 898
            cloud stone line 899
            amber stone line 900
            (truncated: true, lines: 1803, shown: 24, left out: 1779, cut: 0)
        "#]],
    );
}

#[test]
fn a_line_that_is_too_long_is_cut_with_a_count() {
    let long = format!("first\n{}\nlast\n", "very long ".repeat(500));
    check(
        &PreviewInput::whole(long.as_bytes()),
        60,
        PreviewStyle::Text,
        &expect![[r#"
        first
        very long very long very long very long very long very long very long very long very long very long very long...[4,891 more characters]
        last
        (truncated: true, lines: 3, shown: 3, left out: 0, cut: 1)
    "#]],
    );
}

#[test]
fn around_a_gap_the_lines_that_it_cuts_are_left_out_with_it() {
    let gap = Some(InputGap { bytes: 5_000_000_000, lines: Some(70_000_000) });
    let input = PreviewInput { head: b"one\ntwo\nthr", gap, tail: b"ne\nlast but one\nlast\n" };
    check(
        &input,
        100,
        PreviewStyle::Log,
        &expect![[r#"
        one
        two
        ...
        [output truncated: showing first 2 and last 2 lines of 70,000,005]
        ...
        last but one
        last
        (truncated: true, lines: 70000005, shown: 4, left out: 70000001, cut: 0)
    "#]],
    );
    let input = PreviewInput { gap: Some(InputGap { bytes: 5_000_000_000, lines: None }), ..input };
    check(
        &input,
        100,
        PreviewStyle::Log,
        &expect![[r#"
        one
        two
        ...
        [output truncated: showing first 2 and last 2 lines; 5,000,000,000 bytes were not looked at]
        ...
        last but one
        last
        (truncated: true, lines: 5, shown: 4, left out: 1, cut: 0)
    "#]],
    );
    check(
        &input,
        100,
        PreviewStyle::Prefix,
        &expect![[r#"
        one
        two
        ...
        [output truncated: showing first 2 lines; 5,000,000,000 bytes were not looked at]
        (truncated: true, lines: 5, shown: 2, left out: 3, cut: 0)
    "#]],
    );
}

#[test]
fn one_line_around_a_gap_is_shown_by_its_beginning_and_its_end() {
    let gap = Some(InputGap { bytes: 1_000_000, lines: Some(0) });
    let head = "begin ".repeat(100);
    let tail = " finish".repeat(100);
    let input = PreviewInput { head: head.as_bytes(), gap, tail: tail.as_bytes() };
    check(
        &input,
        80,
        PreviewStyle::Log,
        &expect![[r#"
            begin begin begin begin begin begin begin begin begin begin begin begin...[the line goes on]
            ...
            [output truncated: showing first 1 and last 1 lines of 1]
            ...
            [the line began before]... finish finish finish finish finish finish finish finish finish finish finish finish finish
            (truncated: true, lines: 1, shown: 1, left out: 0, cut: 2)
        "#]],
    );
}

#[test]
fn bytes_that_are_not_text_are_counted() {
    let shown = preview(&PreviewInput::whole(b"\x89PNG\r\n\x1a\n\x00\x00\xff"), 100, PreviewStyle::Log);
    assert_eq!((shown.not_utf8, shown.text.as_str()), (2, "\u{fffd}PNG\n\\u{1a}\n\\u{0}\\u{0}\u{fffd}"));
}

#[test]
fn figures_are_folded_only_where_there_is_no_room_for_them() {
    let timings: String = (1..=12).map(|n| format!("iteration {n}: {} ms\n", 100 + n * 7)).collect();
    let roomy = preview(&PreviewInput::whole(timings.as_bytes()), 1_000, PreviewStyle::Log);
    assert_eq!(roomy.text.trim_end(), timings.trim_end());
    let tight = preview(&PreviewInput::whole(timings.as_bytes()), 60, PreviewStyle::Log);
    assert!(tight.text.contains("similar lines"), "{}", tight.text);
}
