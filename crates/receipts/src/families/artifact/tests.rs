//! Slices of every kind, cut to their budget and rendered.

use expect_test::{Expect, expect};
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

use super::{
    ArtifactSlice, ArtifactView, BoundedSlice, ByteSelection, GrepLine, GrepQuery, LineSelection,
    NextRequest, PatternMode, PieceEncoding, SlicePiece, cut, project, render, summary,
};
use crate::families::Projection;
use crate::families::test_support::cases;
use crate::preview::tokenizer::estimate;

fn piece(start_line: u64, start_byte: u64, content: &str) -> SlicePiece {
    SlicePiece {
        start_line: Some(start_line),
        start_byte,
        end_byte: start_byte + content.len() as u64,
        content: content.to_owned(),
        encoding: PieceEncoding::Utf8,
    }
}

fn slice(view: ArtifactView, pieces: Vec<SlicePiece>) -> ArtifactSlice {
    ArtifactSlice {
        path: "artifacts/build-stdout.log".to_owned(),
        run: None,
        view,
        total_bytes: 5_000,
        total_lines: Some(200),
        pieces,
        found: Vec::new(),
        grep: None,
        matches: None,
        next: None,
    }
}

fn numbered(lines: std::ops::RangeInclusive<u64>) -> String {
    lines.map(|n| format!("line {n}\n")).collect()
}

#[track_caller]
fn check(complete: &ArtifactSlice, budget: usize, expected: &Expect) {
    let result = project(complete, &mut Projection::new(budget, None)).unwrap().result;
    let receipt = render(&summary(complete), &result, budget);
    assert!(estimate(&receipt) <= budget, "{}", estimate(&receipt));
    expected.assert_eq(&format!("{result}\n---\n{receipt}\n"));
}

// Conformance: result 1.3
#[test]
fn lines_say_which_they_are_and_how_to_go_on() {
    let mut lines = slice(ArtifactView::Lines, vec![piece(4, 21, "four\n\u{1b}[31mfive\u{1b}[0m\n")]);
    lines.next = Some(NextRequest::Lines(LineSelection { start: 6, count: 2, at_byte: Some(40) }));
    check(
        &lines,
        2_000,
        &expect![[r#"
        {"path":"artifacts/build-stdout.log","view":"lines","total_bytes":5000,"total_lines":200,"pieces":[{"start_line":4,"start_byte":21,"end_byte":40,"content":"four\n\u001b[31mfive\u001b[0m\n","encoding":"utf8"}],"next":{"lines":{"start":6,"count":2,"at_byte":40}},"truncated":false}
        ---
        Lines 4-5 of artifacts/build-stdout.log (200 lines, 5000 bytes)
        four
        five
        … go on with artifact_read {"path":"artifacts/build-stdout.log","lines":{"start":6,"count":2,"at_byte":40}}
    "#]],
    );
    check(
        &slice(ArtifactView::Lines, vec![piece(1, 0, &numbered(1..=60))]),
        130,
        &expect![[r#"
        {"path":"artifacts/build-stdout.log","view":"lines","total_bytes":5000,"total_lines":200,"pieces":[{"start_line":1,"start_byte":0,"end_byte":56,"content":"line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\n","encoding":"utf8"}],"next":{"lines":{"start":9,"count":52,"at_byte":56}},"truncated":true}
        ---
        Lines 1-60 of artifacts/build-stdout.log (200 lines, 5000 bytes)
        line 1
        line 2
        line 3
        line 4
        line 5
        line 6
        line 7
        line 8
        … go on with artifact_read {"path":"artifacts/build-stdout.log","lines":{"start":9,"count":52,"at_byte":56}}
    "#]],
    );
    check(
        &slice(ArtifactView::Lines, Vec::new()),
        2_000,
        &expect![[r#"
        {"path":"artifacts/build-stdout.log","view":"lines","total_bytes":5000,"total_lines":200,"truncated":false}
        ---
        No such lines in artifacts/build-stdout.log (200 lines, 5000 bytes)
    "#]],
    );
}

#[test]
fn bytes_that_are_no_text_are_digits() {
    let hex = SlicePiece {
        start_line: None,
        start_byte: 8,
        end_byte: 12,
        content: "0a00ff7f".to_owned(),
        encoding: PieceEncoding::Hex,
    };
    check(
        &slice(ArtifactView::Bytes, vec![hex]),
        2_000,
        &expect![[r#"
        {"path":"artifacts/build-stdout.log","view":"bytes","total_bytes":5000,"total_lines":200,"pieces":[{"start_byte":8,"end_byte":12,"content":"0a00ff7f","encoding":"hex"}],"truncated":false}
        ---
        Bytes 8-11 of artifacts/build-stdout.log (200 lines, 5000 bytes)
        hex: 0a00ff7f
    "#]],
    );
}

#[test]
fn the_end_is_cut_at_its_beginning() {
    let mut tail = slice(ArtifactView::Tail, vec![piece(141, 900, &numbered(141..=200))]);
    tail.run = Some("0193f0aa".to_owned());
    check(
        &tail,
        130,
        &expect![[r#"
        {"path":"artifacts/build-stdout.log","run":"0193f0aa","view":"tail","total_bytes":5000,"total_lines":200,"pieces":[{"start_line":193,"start_byte":1368,"end_byte":1440,"content":"line 193\nline 194\nline 195\nline 196\nline 197\nline 198\nline 199\nline 200\n","encoding":"utf8"}],"next":{"bytes":{"start":900,"count":468}},"truncated":true}
        ---
        The last 60 lines of artifacts/build-stdout.log (200 lines, 5000 bytes) of run 0193f0aa
        line 193
        line 194
        line 195
        line 196
        line 197
        line 198
        line 199
        line 200
        … go on with artifact_read {"path":"artifacts/build-stdout.log","run":"0193f0aa","bytes":{"start":900,"count":468}}
    "#]],
    );
}

#[test]
fn beginning_and_end_share_the_room() {
    let both = slice(
        ArtifactView::HeadAndTail,
        vec![piece(1, 0, &numbered(1..=40)), piece(161, 3_000, &numbered(161..=200))],
    );
    let few = slice(
        ArtifactView::HeadAndTail,
        vec![piece(1, 0, &numbered(1..=2)), piece(199, 3_000, &numbered(199..=200))],
    );
    let few = ArtifactSlice {
        next: Some(NextRequest::Lines(LineSelection { start: 3, count: 196, at_byte: Some(14) })),
        ..few
    };
    check(
        &few,
        2_000,
        &expect![[r#"
            {"path":"artifacts/build-stdout.log","view":"head_and_tail","total_bytes":5000,"total_lines":200,"pieces":[{"start_line":1,"start_byte":0,"end_byte":14,"content":"line 1\nline 2\n","encoding":"utf8"},{"start_line":199,"start_byte":3000,"end_byte":3018,"content":"line 199\nline 200\n","encoding":"utf8"}],"next":{"lines":{"start":3,"count":196,"at_byte":14}},"truncated":true}
            ---
            Beginning and end of artifacts/build-stdout.log (200 lines, 5000 bytes)
            line 1
            line 2
            ... [196 lines left out]
            line 199
            line 200
            … go on with artifact_read {"path":"artifacts/build-stdout.log","lines":{"start":3,"count":196,"at_byte":14}}
        "#]],
    );
    check(
        &both,
        150,
        &expect![[r#"
        {"path":"artifacts/build-stdout.log","view":"head_and_tail","total_bytes":5000,"total_lines":200,"pieces":[{"start_line":1,"start_byte":0,"end_byte":49,"content":"line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\n","encoding":"utf8"},{"start_line":195,"start_byte":3306,"end_byte":3360,"content":"line 195\nline 196\nline 197\nline 198\nline 199\nline 200\n","encoding":"utf8"}],"next":{"lines":{"start":8,"count":187,"at_byte":49}},"truncated":true}
        ---
        Beginning and end of artifacts/build-stdout.log (200 lines, 5000 bytes)
        line 1
        line 2
        line 3
        line 4
        line 5
        line 6
        line 7
        ... [187 lines left out]
        line 195
        line 196
        line 197
        line 198
        line 199
        line 200
        … go on with artifact_read {"path":"artifacts/build-stdout.log","lines":{"start":8,"count":187,"at_byte":49}}
    "#]],
    );
    check(
        &slice(ArtifactView::HeadAndTail, vec![piece(1, 0, &numbered(1..=60))]),
        140,
        &expect![[r#"
            {"path":"artifacts/build-stdout.log","view":"head_and_tail","total_bytes":5000,"total_lines":200,"pieces":[{"start_line":1,"start_byte":0,"end_byte":42,"content":"line 1\nline 2\nline 3\nline 4\nline 5\nline 6\n","encoding":"utf8"},{"start_line":56,"start_byte":431,"end_byte":471,"content":"line 56\nline 57\nline 58\nline 59\nline 60\n","encoding":"utf8"}],"next":{"lines":{"start":7,"count":49,"at_byte":42}},"truncated":true}
            ---
            artifacts/build-stdout.log (200 lines, 5000 bytes)
            line 1
            line 2
            line 3
            line 4
            line 5
            line 6
            ... [49 lines left out]
            line 56
            line 57
            line 58
            line 59
            line 60
            … go on with artifact_read {"path":"artifacts/build-stdout.log","lines":{"start":7,"count":49,"at_byte":42}}
        "#]],
    );
}

#[test]
fn matches_stand_with_their_lines_and_the_search_goes_on_where_they_end() {
    let found = |line: u64, matched, text: &str| GrepLine {
        line,
        at_byte: line * 10,
        matched,
        text: text.to_owned(),
        left_out_before: 0,
        left_out_after: 0,
    };
    let grep = GrepQuery {
        pattern: "err(or)?".to_owned(),
        mode: PatternMode::Regex,
        ignore_case: true,
        context: 1,
        max_matches: 100,
        from_line: 1,
        at_byte: None,
    };
    let mut few = slice(ArtifactView::Grep, Vec::new());
    few.found = vec![
        found(3, false, "before"),
        found(4, true, "an error"),
        found(5, false, "after"),
        GrepLine {
            left_out_before: 7_000, left_out_after: 12, ..found(90, true, "… an ERR in a long line")
        },
    ];
    few.matches = Some(2);
    few.grep = Some(grep);
    check(
        &few,
        2_000,
        &expect![[r#"
        {"path":"artifacts/build-stdout.log","view":"grep","total_bytes":5000,"total_lines":200,"found":[{"line":3,"at_byte":30,"matched":false,"text":"before"},{"line":4,"at_byte":40,"matched":true,"text":"an error"},{"line":5,"at_byte":50,"matched":false,"text":"after"},{"line":90,"at_byte":900,"matched":true,"text":"… an ERR in a long line","left_out_before":7000,"left_out_after":12}],"grep":{"pattern":"err(or)?","ignore_case":true,"context":1,"max_matches":100},"matches":2,"truncated":false}
        ---
        2 matching lines in artifacts/build-stdout.log (200 lines, 5000 bytes)
        3- before
        4: an error
        5- after
        --
        90: [7000 bytes]… an ERR in a long line[12 bytes]
    "#]],
    );
    check(
        &few,
        120,
        &expect![[r#"
        {"path":"artifacts/build-stdout.log","view":"grep","total_bytes":5000,"total_lines":200,"found":[{"line":3,"at_byte":30,"matched":false,"text":"before"},{"line":4,"at_byte":40,"matched":true,"text":"an error"},{"line":5,"at_byte":50,"matched":false,"text":"after"}],"grep":{"pattern":"err(or)?","ignore_case":true,"context":1,"max_matches":100},"matches":2,"next":{"grep":{"pattern":"err(or)?","ignore_case":true,"context":1,"max_matches":100,"from_line":90,"at_byte":900}},"truncated":true}
        ---
        2 matching lines in artifacts/build-stdout.log (200 lines, 5000 bytes)
        3- before
        4: an error
        5- after
        … go on with artifact_read {"path":"artifacts/build-stdout.log","grep":{"pattern":"err(or)?","ignore_case":true,"context":1,"max_matches":100,"from_line":90,"at_byte":900}}
    "#]],
    );
    few.matches = Some(0);
    few.found.clear();
    check(
        &few,
        2_000,
        &expect![[r#"
        {"path":"artifacts/build-stdout.log","view":"grep","total_bytes":5000,"total_lines":200,"grep":{"pattern":"err(or)?","ignore_case":true,"context":1,"max_matches":100},"matches":0,"truncated":false}
        ---
        No line matches in artifacts/build-stdout.log (200 lines, 5000 bytes)
    "#]],
    );
}

/// Returns the part of a slice that is not shown, as `next` requests it.
fn rest<'a>(text: &'a str, shown: &BoundedSlice) -> &'a str {
    match &shown.slice.next {
        None => "",
        Some(NextRequest::Bytes(ByteSelection { start, count })) => {
            let start = usize::try_from(*start).unwrap();
            &text[start..start + usize::try_from(*count).unwrap()]
        }
        Some(NextRequest::Lines(LineSelection { at_byte, count, .. })) => {
            let rest = &text[usize::try_from(at_byte.unwrap()).unwrap()..];
            let end: usize =
                rest.split_inclusive('\n').take(usize::try_from(*count).unwrap()).map(str::len).sum();
            &rest[..end]
        }
        Some(NextRequest::Grep(_)) => panic!("nothing was searched"),
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn what_is_shown_and_what_comes_next_are_all_of_it(
        text in any::<String>(), lines in proptest::collection::vec("[a-z ]{0,40}", 0..60), tokens in 5_usize..300,
    ) {
        let text = format!("{text}\n{}", lines.join("\n"));
        for view in [ArtifactView::Lines, ArtifactView::Bytes, ArtifactView::Head, ArtifactView::Tail, ArtifactView::HeadAndTail] {
            let complete = slice(view, vec![piece(1, 0, &text)]);
            let shown = cut::fit_slice(&complete, tokens);
            let contents: Vec<&str> = shown.slice.pieces.iter().map(|piece| piece.content.as_str()).collect();
            let rest = rest(&text, &shown);
            let together = match (view, contents.as_slice()) {
                (ArtifactView::Tail, [end]) => format!("{rest}{end}"),
                (ArtifactView::HeadAndTail, [start, end]) => format!("{start}{rest}{end}"),
                (_, all) => format!("{}{rest}", all.concat()),
            };
            prop_assert_eq!(&together, &text, "{:?}", view);
            prop_assert_eq!(shown.truncated, !rest.is_empty());
            let result = project(&complete, &mut Projection::new(tokens + 96, None)).unwrap().result;
            let receipt = render(&summary(&complete), &result, tokens + 96);
            prop_assert!(estimate(&receipt) <= tokens + 96, "{} {receipt}", estimate(&receipt));
        }
    }
}
