//! Properties of previews for any bytes, budget and style.

use envelope::has_invisible;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use receipts::preview::clean::{TextCleaner, clean};
use receipts::preview::condense::{PreviewLine, condense};
use receipts::preview::json::readable;
use receipts::preview::tokenizer::{estimate, prefix_within};
use receipts::preview::{InputGap, PreviewInput, PreviewStyle, SMALLEST_BUDGET, preview};

/// Generates pieces of program output in any order, with noise between them.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[a-zA-Z0-9 .:/_-]{0,40}\n".prop_map(String::into_bytes),
        2 => Just(b"test a::b ... ok\n".to_vec()),
        2 => (0..9_u32).prop_map(|n| format!("step {n} took {n}ms\n").into_bytes()),
        1 => Just(b"error: it broke\n".to_vec()),
        1 => Just(b"=== RUN   TestA\n".to_vec()),
        1 => Just(b"   Compiling serde v1.0.1\n".to_vec()),
        1 => Just(b"\n".to_vec()),
        1 => Just(b"\r".to_vec()),
        1 => Just(b"\x1b[31m".to_vec()),
        1 => Just(b"\x1b]0;".to_vec()),
        1 => Just("\u{202e}\u{200b}\u{8}".as_bytes().to_vec()),
        1 => "\\PC{0,300}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..30),
    ];
    prop::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

fn style() -> impl Strategy<Value = PreviewStyle> {
    prop_oneof![Just(PreviewStyle::Log), Just(PreviewStyle::Text), Just(PreviewStyle::Prefix)]
}

fn is_safe(text: &str) -> bool {
    clean(text.as_bytes()).text == text && !has_invisible(text)
}

/// Returns true if `shown` is `line`, except for a cut and for a line number.
fn shows(shown: &str, line: &str) -> bool {
    let start = shown.split_once("...[").map_or(shown, |(start, _)| start);
    let numbered = start.split_once(": ").filter(|(number, _)| number.parse::<u64>().is_ok());
    line.starts_with(start) || numbered.is_some_and(|(_, rest)| line.starts_with(rest))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn cleaning_is_safe_and_cleaning_twice_changes_nothing(raw in output()) {
        let once = clean(&raw);
        prop_assert!(is_safe(&once.text));
        prop_assert_eq!(&clean(once.text.as_bytes()).text, &once.text);
        // An overwritten line that is not a progress bar is kept as a line of its own.
        let count = |wanted: u8| raw.iter().filter(|byte| **byte == wanted).count();
        let lines = once.text.matches('\n').count();
        prop_assert!((count(b'\n')..=count(b'\n') + count(b'\r')).contains(&lines));
    }

    #[test]
    fn cleaning_in_pieces_is_cleaning_at_once(raw in output(), size in 1..40_usize) {
        let mut cleaner = TextCleaner::default();
        raw.chunks(size).for_each(|chunk| cleaner.push(chunk));
        prop_assert_eq!(cleaner.finish(), clean(&raw));
    }

    #[test]
    fn condensed_lines_stand_for_all_lines_and_keep_every_failure(raw in output()) {
        let text = clean(&raw).text;
        let lines: Vec<&str> = text.split_terminator('\n').collect();
        let condensed = condense(&lines);
        prop_assert_eq!(condensed.iter().map(PreviewLine::line_count).sum::<u64>(), lines.len() as u64);
        let broke = |line: &str| line.starts_with("error: it broke");
        prop_assert_eq!(
            lines.iter().any(|line| broke(line)),
            condensed.iter().any(|line| broke(line.text()))
        );
        // Verbatim lines are in the order of the text.
        let mut rest = lines.iter();
        for line in &condensed {
            if let PreviewLine::Verbatim(text) = line {
                prop_assert!(rest.any(|original| original == text));
            }
        }
    }

    // Conformance: result 5.8
    #[test]
    fn a_preview_is_safe_within_its_budget_and_its_counts_add_up(
        raw in output(),
        budget in 0..700_usize,
        style in style(),
    ) {
        let preview = preview(&PreviewInput::whole(&raw), budget, style);
        let text = clean(&raw).text;
        prop_assert!(is_safe(&preview.text));
        let cost = estimate(&preview.text);
        prop_assert!(cost <= budget.max(SMALLEST_BUDGET), "{} tokens: {}", cost, preview.text);
        prop_assert_eq!(preview.lines, text.split_terminator('\n').count() as u64);
        prop_assert_eq!(preview.lines, preview.shown_lines + preview.left_out_lines);
        prop_assert!(preview.cut_lines <= preview.shown_lines);
        if !preview.truncated && style != PreviewStyle::Log {
            prop_assert_eq!(&preview.text, text.strip_suffix('\n').unwrap_or(&text));
        }
    }

    // Conformance: result 5.3
    #[test]
    fn the_first_and_the_last_line_are_shown_and_every_other_is_a_line_of_the_text(
        raw in output(),
        budget in 40..400_usize,
        style in style(),
    ) {
        let preview = preview(&PreviewInput::whole(&raw), budget, style);
        let text = clean(&raw).text;
        let lines: Vec<&str> = text.split_terminator('\n').collect();
        let shown: Vec<&str> = preview.text.split('\n').collect();
        if let (Some(first), Some(last)) = (lines.first(), lines.last()) {
            let is_note = |line: &str| line.starts_with('[');
            prop_assert!(is_note(shown[0]) || shows(shown[0], first));
            let end = shown[shown.len() - 1];
            prop_assert!(style == PreviewStyle::Prefix || is_note(end) || shows(end, last));
        }
        for line in shown {
            let ours = line.is_empty() || line.starts_with('[') || line == "...";
            prop_assert!(ours || lines.iter().any(|original| shows(line, original)), "{}", line);
        }
    }

    #[test]
    fn a_preview_around_a_gap_is_safe_within_its_budget_and_its_counts_add_up(
        head in output(),
        tail in output(),
        gap in (1..9_000_000_000_u64, prop::option::of(0..100_000_000_u64)),
        budget in 40..700_usize,
        style in style(),
    ) {
        let gap = Some(InputGap { bytes: gap.0, lines: gap.1 });
        let preview = preview(&PreviewInput { head: &head, gap, tail: &tail }, budget, style);
        prop_assert!(is_safe(&preview.text));
        let cost = estimate(&preview.text);
        prop_assert!(cost <= budget, "{} tokens: {}", cost, preview.text);
        prop_assert!(preview.truncated);
        prop_assert_eq!(preview.lines, preview.shown_lines + preview.left_out_lines);
        prop_assert!(preview.text.contains("[output truncated: showing first "));
    }

    #[test]
    fn a_prefix_never_costs_more_than_allowed(text in "\\PC{0,200}", tokens in 0..100_usize) {
        let end = prefix_within(&text, tokens);
        prop_assert!(text.is_char_boundary(end));
        prop_assert!(estimate(&text[..end]) <= tokens);
    }

    #[test]
    fn json_is_safe_and_within_its_budget(
        names in prop::collection::vec("\\PC{0,12}", 1..6),
        texts in prop::collection::vec(".{0,30}", 1..6),
        budget in 40..400_usize,
    ) {
        let members = names.iter().zip(&texts).map(|(name, text)| (name.clone(), text.clone().into())).collect();
        let value = serde_json::Value::Object(members);
        let shown = readable(&value.to_string(), budget);
        if let Some(shown) = &shown {
            prop_assert!(is_safe(&shown.text), "{:?}", shown.text);
            prop_assert!(estimate(&shown.text) <= budget);
        }
    }
}
