//! How much text is held back, and for how long.

use expect_test::expect;
use sentinel::{DEFAULT_LIMIT, Scanner};

use super::reading::{cut, names, read, scanner, written};

// Conformance: proxy 6.1
//     Text goes on to the client as it comes; only what may become a block is held.
//     In: sentinel/scanner.rs
#[test]
fn plain_text_is_handed_on_at_once_and_without_a_copy() {
    let text = "Zürich, 東京: *a* is less than `b` ~ and 🙂.\n\n```rust\nlet x = 1;\n```\n".repeat(20);
    for length in 1..=100 {
        let mut scanner = scanner();
        for chunk in cut(&text, length) {
            let mut told = 0;
            scanner.feed(chunk, &mut |piece| {
                assert!(
                    chunk.as_bytes().as_ptr_range().contains(&piece.raw_text().as_ptr()),
                    "a copy of {chunk:?}"
                );
                told += piece.raw_text().len();
            });
            assert_eq!(told, chunk.len(), "{chunk:?}");
        }
    }
}

// Conformance: proxy 6.1
#[test]
fn only_what_may_become_a_block_is_held() {
    let mut scanner = scanner();
    let mut lines = String::new();
    for chunk in [
        "a <",
        "b <too",
        "ls <tool_call>",
        " \n",
        "[",
        "1 <tool_call>",
        "{",
        "\"name\":\"f\"}</tool_call",
        "> b",
    ] {
        let mut told = String::new();
        scanner.feed(chunk, &mut |piece| told += piece.raw_text());
        lines += &format!("{chunk:?} -> {told:?}\n");
    }
    expect![[r#"
        "a <" -> "a "
        "b <too" -> "<b "
        "ls <tool_call>" -> "<tools "
        " \n" -> ""
        "[" -> ""
        "1 <tool_call>" -> "<tool_call> \n[1 "
        "{" -> ""
        "\"name\":\"f\"}</tool_call" -> ""
        "> b" -> "<tool_call>{\"name\":\"f\"}</tool_call> b"
    "#]]
    .assert_eq(&lines);
}

/// A block of so many bytes, both tags included.
fn block(bytes: usize) -> String {
    let (head, tail) = ("<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"", "\"}}</tool_call>");
    format!("{head}{}{tail}", "a".repeat(bytes - head.len() - tail.len()))
}

/// A block of so many bytes and a short one, read in pieces of all lengths alike; the beginning of each line.
fn beginnings(bytes: usize) -> String {
    let text = block(bytes) + " <tool_call>{\"name\":\"f\"}</tool_call>";
    let whole = read(scanner(), [text.as_str()]);
    let again: String = whole.iter().map(|said| said.raw()).collect();
    assert!(again == text, "something was lost or came twice");
    for length in [4, 17, 100_000] {
        assert!(read(scanner(), cut(&text, length)) == whole, "{bytes} bytes by {length}");
    }
    written(&whole).lines().map(|line| line.chars().take(60).collect::<String>() + "\n").collect()
}

// Conformance: proxy 10.4
#[test]
fn a_block_may_be_as_long_as_the_limit_and_no_longer() {
    expect![[r#"
        call f {"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
        text " "
        call f {}
    "#]]
    .assert_eq(&beginnings(DEFAULT_LIMIT));
    expect![[r#"
        rejected "<tool_call>" of ?: the block is longer than 104857
        text "{\"name\":\"f\",\"arguments\":{\"a\":\"aaaaaaaaaaaaaaa
        call f {}
    "#]]
    .assert_eq(&beginnings(DEFAULT_LIMIT + 1));
}

// Conformance: proxy 4.1
#[test]
fn a_text_that_is_never_a_call_keeps_flowing() {
    let text = "<tool_call>{\"".repeat(20_000);
    let mut scanner = Scanner::with_limit(names(), 1_000);
    let (mut given, mut told, mut most_held) = (0, 0, 0);
    for piece in cut(&text, 4) {
        given += piece.len();
        scanner.feed(piece, &mut |piece| told += piece.raw_text().len());
        most_held = most_held.max(given - told);
    }
    assert!(most_held <= 1_004, "{most_held} bytes were held");
}
