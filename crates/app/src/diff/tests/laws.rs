//! Properties of differences, for all contents.

use envelope::has_invisible;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_oneof, proptest};

use crate::diff::DiffLimits;
use crate::diff::body::{DiffBody, DiffHunk, DiffLine, LineKind, LineSpan, WordTag};
use crate::diff::compare::compare;
use crate::text_style::TextStyle;

/// Two texts of few words, so that much of one is in the other.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[ab]{1,2}",
        "the",
        "日本",
        "\u{1b}",
        "e\u{301}",
        "[-,.]",
        "\\{\\+",
        "[ab]{30,60}",
        "(the ){20}"
    ];
    let line = vec(word, 0..8).prop_map(|words| words.join(" "));
    let ending = prop_oneof!["\n", "\n", "\n", "\r\n"];
    vec((line, ending), 0..14).prop_map(|lines| lines.into_iter().map(|(line, end)| line + &end).collect())
}

fn contents(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').map(|line| line.trim_end_matches('\n')).map(without_cr).collect()
}

fn without_cr(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

/// The lines of one side: those of the hunks, and between them those that the hunks leave to the file.
fn rebuilt(
    file: &[&str],
    hunks: &[DiffHunk],
    span: impl Fn(&DiffHunk) -> LineSpan,
    is_here: impl Fn(&DiffLine) -> usize,
    elsewhere: WordTag,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for hunk in hunks {
        let span = span(hunk);
        let start = if span.count == 0 { span.line } else { span.line - 1 };
        lines.extend(file[lines.len()..start].iter().map(|&line| line.to_owned()));
        lines.extend(side(hunk, &is_here, elsewhere));
    }
    lines.extend(file[lines.len()..].iter().map(|&line| line.to_owned()));
    lines
}

/// The lines of one side that a hunk has.
fn side(hunk: &DiffHunk, is_here: impl Fn(&DiffLine) -> usize, elsewhere: WordTag) -> Vec<String> {
    let here = hunk.lines.iter().filter(|line| is_here(line) == 1);
    let text = |line: &DiffLine| {
        let words = line.words.iter().filter(|word| word.tag != elsewhere);
        words.map(|word| word.text.as_str()).collect()
    };
    here.map(text).collect()
}

/// The lines of a file that a hunk says it has.
fn covered<'a>(file: &'a [&'a str], span: LineSpan) -> &'a [&'a str] {
    let start = span.line.saturating_sub(1);
    &file[start..start + span.count]
}

/// Small enough that everything is cut somewhere.
fn tight() -> DiffLimits {
    DiffLimits {
        lines_per_file: 7,
        line_chars: 12,
        around: 3,
        shown_chars: 24,
        compared_words: 40,
        ..DiffLimits::screen()
    }
}

proptest! {
    #[test]
    fn both_texts_can_be_read_off_the_difference(before in text(), after in text()) {
        let body = compare(Some(before.as_bytes()), Some(after.as_bytes()), &DiffLimits::full());
        let DiffBody::Text(change) = body else {
            assert_eq!((body, &before), (DiffBody::Same, &after));
            return Ok(());
        };
        assert_eq!(change.left_out, None);
        let (old, new) = (contents(&before), contents(&after));
        assert_eq!(rebuilt(&old, &change.hunks, |hunk| hunk.before, DiffLine::in_before, WordTag::Ins), old);
        assert_eq!(rebuilt(&new, &change.hunks, |hunk| hunk.after, DiffLine::in_after, WordTag::Del), new);
        // Lines that no hunk has are the same on both sides.
        let outside = |file: &[&str], shown: &dyn Fn(&DiffHunk) -> LineSpan| -> Vec<String> {
            let hidden = |at: &usize| !change.hunks.iter().map(shown).any(|span| {
                (span.line..span.line + span.count).contains(&(at + 1))
            });
            (0..file.len()).filter(hidden).map(|at| file[at].to_owned()).collect()
        };
        assert_eq!(outside(&old, &|hunk| hunk.before), outside(&new, &|hunk| hunk.after));
        assert_eq!(change.removed_lines + new.len(), change.added_lines + old.len());
        // A change without hunks has a note.
        assert!(!(change.hunks.is_empty() && change.notes.is_empty()));
    }

    #[test]
    fn lines_are_shown_from_the_first_change_on_without_a_gap(before in text(), after in text(), room in 0..20_usize) {
        let limits = DiffLimits { lines_per_file: room, ..DiffLimits::full() };
        let body = compare(Some(before.as_bytes()), Some(after.as_bytes()), &limits);
        let DiffBody::Text(change) = body else { return Ok(()) };
        let (old, new) = (contents(&before), contents(&after));
        for hunk in &change.hunks {
            assert_eq!(side(hunk, DiffLine::in_before, WordTag::Ins), covered(&old, hunk.before));
            assert_eq!(side(hunk, DiffLine::in_after, WordTag::Del), covered(&new, hunk.after));
        }
        let lines = change.hunks.iter().flat_map(|hunk| &hunk.lines);
        let shown: usize = lines.filter(|line| line.kind != LineKind::Same).map(DiffLine::height).sum();
        let left_out = change.left_out.map_or(0, |left_out| left_out.lines);
        assert_eq!(shown + left_out, change.added_lines + change.removed_lines);
    }

    #[test]
    fn every_changed_character_is_shown_or_counted(before in text(), after in text()) {
        let limits = DiffLimits { lines_per_file: usize::MAX, compared_words: usize::MAX, ..tight() };
        let all = DiffLimits { compared_words: usize::MAX, ..DiffLimits::full() };
        let count = |limits: &DiffLimits| {
            let body = compare(Some(before.as_bytes()), Some(after.as_bytes()), limits);
            let DiffBody::Text(change) = body else { return [0; 3] };
            let words: Vec<_> = change.hunks.iter().flat_map(|hunk| &hunk.lines).flat_map(|line| &line.words).collect();
            [WordTag::Same, WordTag::Del, WordTag::Ins].map(|tag| {
                let of_tag = words.iter().filter(|word| word.tag == tag);
                of_tag.map(|word| word.text.chars().count() + word.cut).sum::<usize>()
            })
        };
        assert_eq!(count(&limits), count(&all));
    }

    #[test]
    fn any_bytes_give_bounded_lines_that_are_safe_to_print(
        before in vec(any::<u8>(), 0..400),
        after in vec(prop_oneof![any::<u8>(), b' '..b'~', b'\n'..=b'\n'], 0..400),
    ) {
        bounded(&before, &after);
    }

    #[test]
    fn any_texts_give_bounded_lines_that_are_safe_to_print(before in any::<String>(), after in text()) {
        bounded(before.as_bytes(), after.as_bytes());
        bounded(after.as_bytes(), before.as_bytes());
    }
}

#[track_caller]
fn bounded(before: &[u8], after: &[u8]) {
    for (before, after) in [(Some(before), Some(after)), (None, Some(after)), (Some(before), None)] {
        let lines = compare(before, after, &tight()).render(TextStyle::plain());
        // Besides the lines of the file: one line for each note, and for omitted lines.
        assert!(lines.len() <= tight().lines_per_file + 5, "{lines:#?}");
        for line in lines {
            // A character is spelled with at most ten; marks and counts come on top.
            assert!(line.chars().count() <= (tight().shown_chars + 20) * 10 + 200, "{line}");
            assert!(!has_invisible(&line) && !line.contains('\n'), "{line:?}");
        }
    }
}
