//! Texts that are expensive on purpose. The cost is the number of scanned bytes, not time.

use sentinel::Scanner;

use super::reading::{cut, names};

const LENGTH: usize = 30_000;

/// A text, how it is cut, and how often its bytes were looked at.
fn looks(text: &str, chunk: usize, limit: usize) -> f64 {
    let mut scanner = Scanner::with_limit(names(), limit);
    let mut length = 0;
    for piece in cut(text, chunk) {
        scanner.feed(piece, &mut |piece| length += piece.raw_text().len());
    }
    scanner.finish(&mut |piece| length += piece.raw_text().len());
    assert_eq!(length, text.len());
    scanner.scanned_bytes() as f64 / text.len() as f64
}

fn texts() -> Vec<String> {
    let repeated = [
        "<",
        "<tool_cal",
        "<tool_call>",
        "<tool_call> ",
        "<tool_call>{",
        "<tool_call>{\"",
        "<tool_call>{\"a",
        "<tool_call>{\"a\":",
        "<tool_call>{\"a\":\"",
        "<tool_call>{\"a\":\"\\",
        "<tool_call>[",
        "\"",
        "\"\\",
        "<tool_call>[{\"",
        "<tool_call>{}",
        "<tool_call>{} ",
        "<tool_call>{}</tool_call",
        "<tool_call>{\"name\":\"f\"}",
        "<tool_call>{\"name\":\"f\",\"arguments\":\"",
        "<tool_call>{\"name\":\"f</tool_call>",
        "<tool_call>{\"</tool_call>",
        "<tool_call>{x</tool_call>",
        "<tool_call>{\":\"</tool_call>",
        "</tool_call><tool_call>{\":\",\"",
        "<tool_call>{\":\":\",\"",
        "</tool_call>",
        "`<tool_call>{\"",
        "```\n<tool_call>{\n",
        "`",
        "~~~\n",
        "\n",
    ];
    let long = |head: &str, middle: &str| format!("{head}{}", middle.repeat(LENGTH / middle.len()));
    let mut texts: Vec<String> = repeated.iter().map(|text| long("", text)).collect();
    texts.extend([
        long("<tool_call>", " "),
        long("<tool_call>{", " "),
        long("<tool_call>{\"", "a"),
        long("<tool_call>{\"a\":\"", "</tool_call><tool_call>{\\\""),
        long("<tool_call>{\"a\":", "["),
        long("<tool_call>{\"a\":", "{\"a\":"),
        long("<tool_call>{\"a\":\"", "\",\"<tool_call>{\":\""),
        long("<tool_call>{\"a\":[", "\"\",\"</tool_call><tool_call>{\","),
        long("<tool_call>{\"", "\\u0041"),
        long("<tool_call>{\"a\":[", "1,"),
    ]);
    texts
}

// Conformance: proxy 10.4
//     One pass, linear in any text, within a bound of memory.
//     In: sentinel/buffer.rs, sentinel/close_tag.rs
#[test]
fn no_text_is_looked_at_more_than_four_times() {
    for text in texts() {
        for limit in [64, 3_000, 1 << 20] {
            for chunk in [1, 4, 16, 17, 1_000_000] {
                let looks = looks(&text, chunk, limit);
                let head: String = text.chars().take(60).collect();
                assert!(looks <= 4.0, "{looks:.2} looks, by {chunk}, limit {limit}: {head}");
            }
        }
    }
}
