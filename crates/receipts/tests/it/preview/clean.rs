//! Sanitized terminal output.

use receipts::preview::clean::{CleanText, TextCleaner, clean, line};

// Conformance: result 5.8
#[test]
fn escapes_are_left_out_and_everything_hidden_is_spelled_out() {
    let cases: [(&str, &str); 34] = [
        ("\u{1b}[1;31merror\u{1b}[0m: no", "error: no"),
        ("\u{1b}]0;title\u{7}text", "text"),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("a\u{1b}Pq#0;2\u{1b}\\b", "ab"),
        ("a\u{9b}31mb\u{9d}0;t\u{9c}c", "abc"),
        ("\u{1b}(Bx\u{1b}7y\u{1b}=z", "xyz"),
        // An unterminated sequence removes nothing else.
        ("a\u{1b}]0;title\nb", "a0;title\nb"),
        ("a\u{1b}]0;title", "a0;title"),
        ("a\u{1b}[31\nb", "a\nb"),
        ("a\u{1b}", "a"),
        // Line ends and overwritten text.
        ("a\r\nb\r\n", "a\nb\n"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("long state\rok", "long state\nok"),
        ("ERROR: disk failure at sector 9\rok\n", "ERROR: disk failure at sector 9\nok\n"),
        ("a,1\rb,2\rc,3\r", "a,1\nb,2\nc,3"),
        ("[==>  ] 3/7\r[=====] 7/7\n", "[=====] 7/7\n"),
        ("building\r\u{1b}[Kdone\n", "done\n"),
        ("building\r\u{1b}[K\nnext", "\nnext"),
        ("kept\r", "kept"),
        ("kept\r\r\n", "kept\n"),
        ("N\u{8}NA\u{8}A_\u{8}b", "NAb"),
        ("ab\u{8}\nc", "ab\nc"),
        ("a\n\u{8}\u{8}b", "a\nb"),
        // Invisible characters.
        ("a\u{202e}b\u{2066}c\u{200b}d", "a\\u{202e}b\\u{2066}c\\u{200b}d"),
        ("a\u{2028}b\u{85}c\u{0}d\u{7f}", "a\\u{2028}b\\u{85}c\\u{0}d\\u{7f}"),
        ("ring\u{7}", "ring"),
        ("\u{feff}start\u{feff}", "start\\u{feff}"),
        ("tab\there", "tab\there"),
        ("a\u{ad}b\u{34f}c\u{2800}d\u{e0041}", "a\\u{ad}b\\u{34f}c\\u{2800}d\\u{e0041}"),
        // Joiners are kept where the final text around them needs them.
        ("👨\u{200d}👩 ⚠\u{fe0f} می\u{200c}خواهم", "👨\u{200d}👩 ⚠\u{fe0f} می\u{200c}خواهم"),
        ("👨\u{200d}👩\u{8}x", "👨\\u{200d}x"),
        ("👨\u{200d}\u{1b}[1m👩", "👨\u{200d}👩"),
        ("a\u{fe0f}b\u{200d}c", "a\\u{fe0f}b\\u{200d}c"),
        ("größer 日本語 🚀", "größer 日本語 🚀"),
    ];
    for (raw, expected) in cases {
        assert_eq!(clean(raw.as_bytes()).text, expected, "{raw:?}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_replaced_and_counted() {
    let cases: [(&[u8], &str, u64); 3] = [
        (b"a\xffb\xfe", "a\u{fffd}b\u{fffd}", 2),
        (b"caf\xc3", "caf\u{fffd}", 1),
        (b"\xe2\x82\xacx\xe2\x82x", "\u{20ac}x\u{fffd}x", 1),
    ];
    for (raw, text, not_utf8) in cases {
        assert_eq!(clean(raw), CleanText { text: text.to_owned(), not_utf8 });
    }
}

#[test]
fn it_does_not_matter_where_the_bytes_are_cut() {
    let raw = "👨\u{200d}👩⚠\u{fe0f}a\u{1b}[31mä\u{202e}\r\nb\rc€\u{1b}]0;t\u{7}🚀\u{8}x\n".as_bytes();
    let whole = clean(raw);
    for size in 1..raw.len() {
        let mut cleaner = TextCleaner::default();
        raw.chunks(size).for_each(|chunk| cleaner.push(chunk));
        assert_eq!(cleaner.finish(), whole, "in pieces of {size}");
    }
}

#[test]
fn a_text_for_one_line_has_one_line() {
    assert_eq!(line("  git commit\n\t-m \u{1b}[1mx\u{202e}\n"), "git commit  -m x\\u{202e}");
}
