//! Recognises lines that report a failure. Such a line is never folded, and is searched for in the omitted part.

/// Returns the keywords that begin with a letter, in lower case. A line that contains one of them, in any case,
/// reports a failure. Indexed by letter, because every letter of a log is checked.
fn words_with(letter: u8) -> &'static [&'static str] {
    match letter {
        b'a' => &["abort", "assert"],
        b'c' => &["cannot", "corrupt", "could not", "critical", "crash"],
        b'd' => &["denied"],
        b'e' => &["error", "exception"],
        b'f' => &["fail", "fatal"],
        b'i' => &["invalid"],
        b'k' => &["killed"],
        b'n' => &["not found", "npm err"],
        b'p' => &["panic"],
        b'r' => &["refused"],
        b's' => &["segmentation"],
        b't' => &["timed out", "traceback"],
        b'u' => &["undefined"],
        _ => &[],
    }
}

/// Returns true if the line may report a failure, or a warning with a location. Generous: a false positive costs
/// one line.
pub(super) fn may_report_failure(line: &str) -> bool {
    holds_a_word(line.as_bytes()) || (names_location(line) && holds(line.as_bytes(), "warn"))
}

/// Returns true if the line announces a failure. Strict: a false positive would displace a better line.
pub(crate) fn announces_failure(line: &str) -> bool {
    const STARTS: [&str; 10] = [
        "error",
        "Error",
        "ERROR",
        "fatal",
        "FAIL",
        "--- FAIL",
        "not ok ",
        "Traceback (",
        "thread '",
        "npm ERR!",
    ];
    const INSIDE: [&str; 17] = [
        "error:",
        "Error:",
        "error[",
        " ERROR ",
        "panicked at",
        "FAILED",
        "Exception:",
        "fatal error",
        "core dumped",
        ":\"error\"",
        ": \"error\"",
        ":\"ERROR\"",
        ":\"fatal\"",
        "level=error",
        "level=fatal",
        "[ERROR]",
        "FATAL",
    ];
    if !holds_a_word(line.as_bytes()) {
        return false;
    }
    let text = line.trim_start();
    STARTS.iter().any(|start| text.starts_with(start)) || INSIDE.iter().any(|part| text.contains(part))
}

/// Returns true if the line names a line of a file, as in `src/main.rs:12`.
pub(super) fn names_location(line: &str) -> bool {
    line.as_bytes().windows(2).any(|pair| pair[0] == b':' && pair[1].is_ascii_digit())
}

fn holds_a_word(line: &[u8]) -> bool {
    line.windows(4).enumerate().any(|(at, four)| {
        words_with(four[0] | 0x20)
            .iter()
            // The second letter rules out nearly all remaining candidates.
            .any(|word| word.as_bytes()[1] == four[1] | 0x20 && starts_with(&line[at..], word))
    })
}

fn holds(line: &[u8], word: &str) -> bool {
    (0..line.len()).any(|at| starts_with(&line[at..], word))
}

fn starts_with(text: &[u8], word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{announces_failure, may_report_failure};

    #[test]
    fn errors_in_any_case_and_warnings_with_a_place_are_facts() {
        for line in ["ERROR x", "0 failed", "thread panicked", "src/a.c:3: warning: x", "Permission Denied"] {
            assert!(may_report_failure(line), "{line}");
        }
        for line in ["warning: unused", "all is well", "", "npm warn deprecated glob@7"] {
            assert!(!may_report_failure(line), "{line}");
        }
    }

    #[test]
    fn a_line_that_only_speaks_of_errors_does_not_announce_one() {
        for line in ["error[E0308]: mismatched types", "E  Error: x", "test a ... FAILED", "2026 ERROR disk"]
        {
            assert!(announces_failure(line), "{line}");
        }
        for line in ["reading the error handler", "0 errors", "Compiling thiserror v2.0.1"] {
            assert!(!announces_failure(line), "{line}");
        }
    }
}
