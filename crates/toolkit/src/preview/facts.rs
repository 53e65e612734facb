//! Which lines tell that something went wrong. Such a line is never folded away, and it is looked for in what
//! is left out.

/// The words that begin with a letter, in small letters. A line that holds one of them, in whatever case, tells
/// a fact. By letter, because every letter of a log is looked at.
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

/// Whether the line may tell of a failure, or warns of a place. It is generous: being wrong costs one line.
pub(super) fn tells_a_fact(line: &str) -> bool {
    holds_a_word(line.as_bytes()) || (names_a_place(line) && holds(line.as_bytes(), "warn"))
}

/// Whether the line announces a failure. It is strict: being wrong would hide a better line.
pub(super) fn announces_failure(line: &str) -> bool {
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
    const INSIDE: [&str; 9] = [
        "error:",
        "Error:",
        "error[",
        " ERROR ",
        "panicked at",
        "FAILED",
        "Exception:",
        "fatal error",
        "core dumped",
    ];
    if !holds_a_word(line.as_bytes()) {
        return false;
    }
    let text = line.trim_start();
    STARTS.iter().any(|start| text.starts_with(start)) || INSIDE.iter().any(|part| text.contains(part))
}

/// Whether the line names a line of a file, as in `src/main.rs:12`.
pub(super) fn names_a_place(line: &str) -> bool {
    line.as_bytes().windows(2).any(|pair| pair[0] == b':' && pair[1].is_ascii_digit())
}

fn holds_a_word(line: &[u8]) -> bool {
    line.windows(4).enumerate().any(|(at, four)| {
        words_with(four[0] | 0x20)
            .iter()
            // One more letter rules out nearly all that is left.
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
    use super::{announces_failure, tells_a_fact};

    #[test]
    fn errors_in_any_case_and_warnings_with_a_place_are_facts() {
        for line in ["ERROR x", "0 failed", "thread panicked", "src/a.c:3: warning: x", "Permission Denied"] {
            assert!(tells_a_fact(line), "{line}");
        }
        for line in ["warning: unused", "all is well", "", "npm warn deprecated glob@7"] {
            assert!(!tells_a_fact(line), "{line}");
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
