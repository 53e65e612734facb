//! The scanner of links takes linear time, whatever a note contains. Measured here, because `notes` reads no clock.

use std::time::{Duration, Instant};

use notes::links::{FileKind, scan};

/// Returns the shortest time of three scans.
#[expect(clippy::disallowed_methods, reason = "the test compares the times of two lengths")]
fn scan_time(kind: FileKind, text: &str) -> Duration {
    let once = || {
        let began = Instant::now();
        scan(kind, text);
        began.elapsed()
    };
    (0..3).map(|_| once()).min().unwrap_or_default()
}

#[test]
fn hostile_texts_are_read_in_linear_time() {
    const SHORT: usize = 25_000;
    const LONGER: usize = 8;
    // Linear time grows by 8, quadratic time by 64. The rest is for a busy machine.
    let check = |kind: FileKind, text: &dyn Fn(usize) -> String, unit: &str| {
        let short = scan_time(kind, &text(SHORT));
        let long = scan_time(kind, &text(SHORT * LONGER));
        let most = short * 30 + Duration::from_millis(50);
        assert!(long < most, "{unit:?}: {short:?} for {SHORT} bytes, {long:?} for {LONGER} times as many");
    };
    for unit in [
        "[", "![", "[[", "](", "](((", "[[a|", "[a](", "]]", "[a]: ", "`[[", "$[[a]]", "[[a]]", "[a](<",
        "[x]: y\n", "\\[", "&#", "%5B", "[[a]](", "> [[", "- \"",
    ] {
        check(FileKind::Note, &|length| unit.repeat(length / unit.len()), unit);
        let frontmatter = |length: usize| {
            let text = unit.repeat(length / unit.len() / 3);
            format!("---\na: \"{text}\"\nb: {text}\nc: [{text}\n---\n")
        };
        check(FileKind::Note, &frontmatter, unit);
    }
    for unit in ["[[", "{\"nodes\":[", "\"\\u005b"] {
        check(FileKind::Canvas, &|length| unit.repeat(length / unit.len()), unit);
    }
}
