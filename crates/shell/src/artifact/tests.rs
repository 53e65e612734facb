//! Pages and searches over texts in memory, with limits small enough to reach all of them.

use std::io::Cursor;

use envelope::Fault;
use expect_test::{Expect, expect};
use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, proptest};
use receipts::families::artifact::{
    ArtifactSlice, ByteSelection, GrepQuery, LineSelection, NextRequest, PatternMode, PieceEncoding,
};

use super::args::ArtifactQuery;
use super::reader::ArtifactReader;
use super::{LIMITS, ReadLimits, grep};

const SMALL: ReadLimits = ReadLimits { page: 24, counted: 1 << 20, block: 16, shown: 12 };

/// The only place in this file that reads.
fn read(bytes: &[u8], ask: &ArtifactQuery, limits: ReadLimits) -> Result<ArtifactSlice, Fault> {
    let check_continue = || Ok(());
    let mut pages = ArtifactReader::new(Cursor::new(bytes), bytes.len() as u64, limits, &check_continue);
    match ask {
        ArtifactQuery::Lines(lines) => pages.lines(*lines),
        ArtifactQuery::Bytes(bytes) => pages.bytes(*bytes),
        ArtifactQuery::Head(lines) => pages.head(*lines),
        ArtifactQuery::Tail(lines) => pages.tail(*lines),
        ArtifactQuery::HeadAndTail => pages.head_and_tail(),
        ArtifactQuery::Grep(query) => grep::search(&mut pages, query),
    }
}

#[track_caller]
fn check(text: &str, ask: &ArtifactQuery, limits: ReadLimits, expected: &Expect) {
    let shown = match read(text.as_bytes(), ask, limits) {
        Ok(slice) => serde_json::to_string(&slice).unwrap(),
        Err(fault) => format!("{}: {} | {}", fault.failure, fault.message, fault.recovery_hint()),
    };
    expected.assert_eq(&shown);
}

fn lines(start: u64, count: u64) -> ArtifactQuery {
    ArtifactQuery::Lines(LineSelection { start, count, at_byte: None })
}

fn bytes(start: u64, count: u64) -> ArtifactQuery {
    ArtifactQuery::Bytes(ByteSelection { start, count })
}

fn looking_for(pattern: &str) -> GrepQuery {
    GrepQuery {
        pattern: pattern.to_owned(),
        mode: PatternMode::Regex,
        ignore_case: false,
        context: 0,
        max_matches: 100,
        from_line: 1,
        at_byte: None,
    }
}

const POEM: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven";

#[test]
fn lines_come_by_number_and_say_what_is_next() {
    check(
        POEM,
        &lines(2, 2),
        LIMITS,
        &expect![[
            r#"{"path":"","view":"lines","total_bytes":33,"total_lines":7,"pieces":[{"start_line":2,"start_byte":4,"end_byte":14,"content":"two\nthree\n","encoding":"utf8"}],"next":{"lines":{"start":4,"count":2,"at_byte":14}}}"#
        ]],
    );
    check(
        POEM,
        &lines(6, 9),
        LIMITS,
        &expect![[
            r#"{"path":"","view":"lines","total_bytes":33,"total_lines":7,"pieces":[{"start_line":6,"start_byte":24,"end_byte":33,"content":"six\nseven","encoding":"utf8"}]}"#
        ]],
    );
    check(
        POEM,
        &lines(8, 1),
        LIMITS,
        &expect![[r#"{"path":"","view":"lines","total_bytes":33,"total_lines":7}"#]],
    );
    check(
        "",
        &lines(1, 1),
        LIMITS,
        &expect![[r#"{"path":"","view":"lines","total_bytes":0,"total_lines":0}"#]],
    );
    check(
        "\n\n",
        &lines(2, 5),
        LIMITS,
        &expect![[
            r#"{"path":"","view":"lines","total_bytes":2,"total_lines":2,"pieces":[{"start_line":2,"start_byte":1,"end_byte":2,"content":"\n","encoding":"utf8"}]}"#
        ]],
    );
}

#[test]
fn a_page_has_a_bound_of_its_own() {
    check(
        POEM,
        &lines(1, 7),
        SMALL,
        &expect![[
            r#"{"path":"","view":"lines","total_bytes":33,"total_lines":7,"pieces":[{"start_line":1,"start_byte":0,"end_byte":24,"content":"one\ntwo\nthree\nfour\nfive\n","encoding":"utf8"}],"next":{"lines":{"start":6,"count":2,"at_byte":24}}}"#
        ]],
    );
    let long = "x".repeat(40);
    check(
        &long,
        &lines(1, 1),
        SMALL,
        &expect![[
            r#"{"path":"","view":"lines","total_bytes":40,"total_lines":1,"pieces":[{"start_line":1,"start_byte":0,"end_byte":24,"content":"xxxxxxxxxxxxxxxxxxxxxxxx","encoding":"utf8"}],"next":{"bytes":{"start":24,"count":24}}}"#
        ]],
    );
    check(
        &long,
        &bytes(4, 40),
        SMALL,
        &expect![[
            r#"{"path":"","view":"bytes","total_bytes":40,"pieces":[{"start_byte":4,"end_byte":28,"content":"xxxxxxxxxxxxxxxxxxxxxxxx","encoding":"utf8"}],"next":{"bytes":{"start":28,"count":12}}}"#
        ]],
    );
}

#[test]
fn a_place_that_is_told_must_be_the_beginning_of_a_line() {
    let at_position =
        |start, at_byte| ArtifactQuery::Lines(LineSelection { start, count: 1, at_byte: Some(at_byte) });
    check(
        POEM,
        &at_position(3, 8),
        LIMITS,
        &expect![[
            r#"{"path":"","view":"lines","total_bytes":33,"total_lines":7,"pieces":[{"start_line":3,"start_byte":8,"end_byte":14,"content":"three\n","encoding":"utf8"}],"next":{"lines":{"start":4,"count":1,"at_byte":14}}}"#
        ]],
    );
    check(
        POEM,
        &at_position(3, 9),
        LIMITS,
        &expect![
            "invalid_arguments: no line begins at byte 9 | give `at_byte` as `next` returned it, or leave it out"
        ],
    );
    check(
        POEM,
        &at_position(3, 900),
        LIMITS,
        &expect![
            "invalid_arguments: no line begins at byte 900 | give `at_byte` as `next` returned it, or leave it out"
        ],
    );
}

#[test]
fn bytes_come_as_text_if_they_are_text() {
    check(
        POEM,
        &bytes(4, 3),
        LIMITS,
        &expect![[
            r#"{"path":"","view":"bytes","total_bytes":33,"pieces":[{"start_byte":4,"end_byte":7,"content":"two","encoding":"utf8"}],"next":{"bytes":{"start":7,"count":3}}}"#
        ]],
    );
    check(
        "aé",
        &bytes(0, 2),
        LIMITS,
        &expect![[
            r#"{"path":"","view":"bytes","total_bytes":3,"pieces":[{"start_byte":0,"end_byte":1,"content":"a","encoding":"utf8"}],"next":{"bytes":{"start":1,"count":2}}}"#
        ]],
    );
    check(
        "aé",
        &bytes(2, 9),
        LIMITS,
        &expect![[
            r#"{"path":"","view":"bytes","total_bytes":3,"pieces":[{"start_byte":2,"end_byte":3,"content":"a9","encoding":"hex"}]}"#
        ]],
    );
    check("aé", &bytes(9, 9), LIMITS, &expect![[r#"{"path":"","view":"bytes","total_bytes":3}"#]]);
}

#[test]
fn the_beginning_and_the_end_can_be_had_by_lines() {
    check(
        POEM,
        &ArtifactQuery::Head(2),
        LIMITS,
        &expect![[
            r#"{"path":"","view":"head","total_bytes":33,"total_lines":7,"pieces":[{"start_line":1,"start_byte":0,"end_byte":8,"content":"one\ntwo\n","encoding":"utf8"}],"next":{"lines":{"start":3,"count":2,"at_byte":8}}}"#
        ]],
    );
    check(
        POEM,
        &ArtifactQuery::Tail(2),
        LIMITS,
        &expect![[
            r#"{"path":"","view":"tail","total_bytes":33,"total_lines":7,"pieces":[{"start_line":6,"start_byte":24,"end_byte":33,"content":"six\nseven","encoding":"utf8"}]}"#
        ]],
    );
    check(
        POEM,
        &ArtifactQuery::Tail(7),
        SMALL,
        &expect![[
            r#"{"path":"","view":"tail","total_bytes":33,"total_lines":7,"pieces":[{"start_line":4,"start_byte":14,"end_byte":33,"content":"four\nfive\nsix\nseven","encoding":"utf8"}],"next":{"bytes":{"start":0,"count":14}}}"#
        ]],
    );
    check(
        POEM,
        &ArtifactQuery::HeadAndTail,
        LIMITS,
        &expect![[
            r#"{"path":"","view":"head_and_tail","total_bytes":33,"total_lines":7,"pieces":[{"start_line":1,"start_byte":0,"end_byte":33,"content":"one\ntwo\nthree\nfour\nfive\nsix\nseven","encoding":"utf8"}]}"#
        ]],
    );
    check(
        POEM,
        &ArtifactQuery::HeadAndTail,
        SMALL,
        &expect![[
            r#"{"path":"","view":"head_and_tail","total_bytes":33,"total_lines":7,"pieces":[{"start_line":1,"start_byte":0,"end_byte":8,"content":"one\ntwo\n","encoding":"utf8"},{"start_line":6,"start_byte":24,"end_byte":33,"content":"six\nseven","encoding":"utf8"}],"next":{"lines":{"start":3,"count":3,"at_byte":8}}}"#
        ]],
    );
}

#[test]
fn matches_come_with_the_lines_around_them() {
    let query = GrepQuery { context: 1, ..looking_for("^t|v") };
    check(
        POEM,
        &ArtifactQuery::Grep(query),
        LIMITS,
        &expect![[
            r#"{"path":"","view":"grep","total_bytes":33,"total_lines":7,"found":[{"line":1,"at_byte":0,"matched":false,"text":"one"},{"line":2,"at_byte":4,"matched":true,"text":"two"},{"line":3,"at_byte":8,"matched":true,"text":"three"},{"line":4,"at_byte":14,"matched":false,"text":"four"},{"line":5,"at_byte":19,"matched":true,"text":"five"},{"line":6,"at_byte":24,"matched":false,"text":"six"},{"line":7,"at_byte":28,"matched":true,"text":"seven"}],"grep":{"pattern":"^t|v","context":1,"max_matches":100},"matches":4}"#
        ]],
    );
    let query = GrepQuery { max_matches: 1, ..looking_for("e$") };
    check(
        POEM,
        &ArtifactQuery::Grep(query),
        SMALL,
        &expect![[
            r#"{"path":"","view":"grep","total_bytes":33,"found":[{"line":1,"at_byte":0,"matched":true,"text":"one"}],"grep":{"pattern":"e$","max_matches":1},"matches":1,"next":{"grep":{"pattern":"e$","max_matches":1,"from_line":3,"at_byte":8}}}"#
        ]],
    );
    let query = GrepQuery { mode: PatternMode::Plain, ignore_case: true, ..looking_for("A.B") };
    check(
        "axb\nxa.bx\r\n",
        &ArtifactQuery::Grep(query),
        LIMITS,
        &expect![[
            r#"{"path":"","view":"grep","total_bytes":11,"total_lines":2,"found":[{"line":2,"at_byte":4,"matched":true,"text":"xa.bx"}],"grep":{"pattern":"A.B","mode":"plain","ignore_case":true,"max_matches":100},"matches":1}"#
        ]],
    );
    check(
        "aaaaaaaaaaaaaaaaaaaaaaabcccccccccccccccccc\n",
        &ArtifactQuery::Grep(looking_for("b")),
        SMALL,
        &expect![[
            r#"{"path":"","view":"grep","total_bytes":43,"total_lines":1,"found":[{"line":1,"at_byte":0,"matched":true,"text":"aaabcccccccc","left_out_before":20}],"grep":{"pattern":"b","max_matches":100},"matches":1}"#
        ]],
    );
    check(
        POEM,
        &ArtifactQuery::Grep(looking_for("(")),
        LIMITS,
        &expect![[
            r#"invalid_arguments: the pattern cannot be used: unclosed group | fix it, or search for the text itself with mode: "plain""#
        ]],
    );
}

#[test]
fn a_search_stops_when_it_is_told_to() {
    let check_continue = || Err(Fault::new(envelope::Failure::Timeout, "the time is up"));
    let mut pages = ArtifactReader::new(Cursor::new(POEM), POEM.len() as u64, SMALL, &check_continue);
    let fault = grep::search(&mut pages, &looking_for("x")).unwrap_err();
    assert_eq!(fault.message, "the time is up");
}

/// Texts with many line ends, some of them of the other kind, and bytes of several widths.
fn texts() -> impl Strategy<Value = String> {
    prop::collection::vec("[a-dé🙂 ]{0,9}(\n|\n|\r\n)?", 0..40).prop_map(|parts| parts.concat())
}

/// Texts without a line that is longer than a block of 48 bytes.
fn short_lines() -> impl Strategy<Value = String> {
    let lines = prop::collection::vec("[a-dé🙂 ]{0,9}(\n|\n|\r\n)", 0..40).prop_map(|lines| lines.concat());
    (lines, "[a-dé🙂 ]{0,9}").prop_map(|(lines, last)| lines + &last)
}

fn limits() -> impl Strategy<Value = ReadLimits> {
    (8_u64..40, 0_u64..200, 8_usize..40).prop_map(|(page, counted, block)| ReadLimits {
        page,
        counted,
        block,
        shown: 4_000,
    })
}

/// Returns the bytes of all pieces.
fn content(slice: &ArtifactSlice) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in &slice.pieces {
        match piece.encoding {
            PieceEncoding::Utf8 => bytes.extend_from_slice(piece.content.as_bytes()),
            PieceEncoding::Hex => bytes.extend(
                (0..piece.content.len() / 2)
                    .map(|n| u8::from_str_radix(&piece.content[2 * n..2 * n + 2], 16).unwrap()),
            ),
            PieceEncoding::Lossy => panic!("a part of a text is text, or digits"),
        }
    }
    bytes
}

/// Follows `next` from the first page to the last.
fn follow(text: &[u8], first: ArtifactQuery, limits: ReadLimits) -> Vec<u8> {
    let mut all = Vec::new();
    let mut ask = Some(first);
    let mut pages = 0;
    while let Some(now) = ask {
        let slice = read(text, &now, limits).unwrap();
        all.extend(content(&slice));
        ask = slice.next.map(|next| match next {
            NextRequest::Lines(lines) => ArtifactQuery::Lines(lines),
            NextRequest::Bytes(bytes) => ArtifactQuery::Bytes(bytes),
            NextRequest::Grep(_) => panic!("nothing was searched"),
        });
        pages += 1;
        assert!(pages <= text.len() + 1, "a page brings nothing new");
    }
    all
}

fn naive(text: &str, pattern: &str) -> Vec<(u64, String)> {
    let needle = regex_lite(pattern);
    let lines = text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line));
    lines
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .enumerate()
        .filter(|(_, line)| needle(line))
        .map(|(index, line)| (index as u64 + 1, line.to_owned()))
        .collect()
}

/// Patterns are letters, between optional `^` and `$`: easy to match by hand.
fn regex_lite(pattern: &str) -> impl Fn(&str) -> bool + use<'_> {
    let (start, rest) = pattern.strip_prefix('^').map_or((false, pattern), |rest| (true, rest));
    let (end, word) = rest.strip_suffix('$').map_or((false, rest), |rest| (true, rest));
    move |line| match (start, end) {
        (true, true) => line == word,
        (true, false) => line.starts_with(word),
        (false, true) => line.ends_with(word),
        (false, false) => line.contains(word),
    }
}

proptest! {
    // Conformance: result 4.4
    //     What was cut can be had through a tool that pages and greps; its own output is not kept again.
    //     In: shell/artifact/mod.rs
    #[test]
    fn pages_of_lines_are_the_whole_text(text in texts(), count in 1_u64..9, limits in limits()) {
        prop_assert_eq!(follow(text.as_bytes(), lines(1, count), limits), text.as_bytes());
    }

    // Conformance: result 4.4
    #[test]
    fn pages_of_bytes_are_all_the_bytes(bytes_of in any::<Vec<u8>>(), count in 1_u64..40, limits in limits()) {
        prop_assert_eq!(follow(&bytes_of, bytes(0, count), limits), bytes_of);
    }

    #[test]
    fn lines_are_counted_alike_in_every_view(text in texts(), line in 1_u64..30, limits in limits()) {
        let limits = ReadLimits { counted: u64::MAX, ..limits };
        let all = text.lines().count() as u64;
        for ask in [lines(line, 3), ArtifactQuery::Tail(line), ArtifactQuery::Head(line), ArtifactQuery::HeadAndTail] {
            let slice = read(text.as_bytes(), &ask, limits).unwrap();
            prop_assert_eq!(slice.total_lines, Some(all), "{:?}", ask);
            for piece in slice.pieces.iter().filter(|piece| piece.start_line.is_some()) {
                let before = &text.as_bytes()[..usize::try_from(piece.start_byte).unwrap()];
                let line = before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
                prop_assert_eq!(piece.start_line, Some(line));
            }
        }
    }

    #[test]
    fn the_end_is_the_last_lines(text in texts(), count in 1_usize..9) {
        let slice = read(text.as_bytes(), &ArtifactQuery::Tail(count as u64), LIMITS).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let last = lines[lines.len().saturating_sub(count)..].concat();
        prop_assert_eq!(content(&slice), last.as_bytes());
    }

    // Conformance: result 4.4
    #[test]
    fn a_search_finds_what_a_naive_one_finds(
        text in short_lines(), pattern in r"\^?[a-dé]{0,2}\$?", limits in limits(), max_matches in 1_u32..5, context in 0_u32..4,
    ) {
        let limits = ReadLimits { block: limits.block + 40, page: 4_000, ..limits };
        let (mut found, mut shown) = (Vec::new(), std::collections::BTreeSet::new());
        let mut query = Some(GrepQuery { max_matches, context, ..looking_for(&pattern) });
        while let Some(now) = query {
            let slice = read(text.as_bytes(), &ArtifactQuery::Grep(now), limits).unwrap();
            prop_assert!(slice.found.is_sorted_by_key(|found| found.line));
            shown.extend(slice.found.iter().map(|found| found.line));
            found.extend(slice.found.into_iter().filter(|line| line.matched).map(|line| (line.line, line.text)));
            query = slice.next.map(|next| match next {
                NextRequest::Grep(grep) => grep,
                NextRequest::Lines(_) | NextRequest::Bytes(_) => panic!("a search goes on as a search"),
            });
        }
        let expected = naive(&text, &pattern);
        let context = u64::from(context);
        let all = text.lines().count() as u64;
        let around: std::collections::BTreeSet<u64> = expected
            .iter()
            .flat_map(|(line, _)| line.saturating_sub(context).max(1)..=(line + context).min(all))
            .collect();
        prop_assert_eq!(found, expected);
        prop_assert!(shown.is_subset(&around));
    }

    #[test]
    fn one_search_shows_every_line_around_a_match(text in short_lines(), pattern in "[a-d]", context in 0_u64..4) {
        let query = GrepQuery { max_matches: 10_000, context: u32::try_from(context).unwrap(), ..looking_for(&pattern) };
        let slice = read(text.as_bytes(), &ArtifactQuery::Grep(query), ReadLimits { block: 64, ..LIMITS }).unwrap();
        let all = text.lines().count() as u64;
        let mut around: Vec<u64> = naive(&text, &pattern)
            .iter()
            .flat_map(|(line, _)| line.saturating_sub(context).max(1)..=(line + context).min(all))
            .collect();
        around.sort_unstable();
        around.dedup();
        prop_assert_eq!(slice.found.iter().map(|found| found.line).collect::<Vec<_>>(), around);
        for found in &slice.found {
            let line = text.split('\n').nth(usize::try_from(found.line - 1).unwrap()).unwrap();
            prop_assert_eq!(&found.text, line.strip_suffix('\r').unwrap_or(line));
        }
        prop_assert_eq!(slice.total_lines, Some(all));
    }

    #[test]
    fn a_line_longer_than_a_block_is_searched_to_its_end(text in texts(), limits in limits(), context in 0_u32..3) {
        let query = GrepQuery { max_matches: 10_000, context, ..looking_for("d") };
        let slice = read(text.as_bytes(), &ArtifactQuery::Grep(query), ReadLimits { page: 100_000, ..limits }).unwrap();
        let lines = |matched: bool| slice.found.iter().filter(move |found| found.matched || !matched).map(|found| found.line);
        let expected: Vec<u64> = naive(&text, "d").into_iter().map(|(line, _)| line).collect();
        prop_assert_eq!(lines(true).collect::<Vec<_>>(), expected);
        prop_assert!(lines(false).is_sorted_by(|a, b| a < b));
        for found in &slice.found {
            let line = text.split('\n').nth(usize::try_from(found.line - 1).unwrap()).unwrap();
            prop_assert!(line[usize::try_from(found.left_out_before).unwrap()..].starts_with(&found.text));
        }
    }
}
