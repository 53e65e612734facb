//! Receipts of file content, part by part. No content can break a receipt.

use expect_test::expect;
use proptest::prelude::{any, proptest};

use super::{ContentEncoding, ContentRange, FileRead, project};
use crate::families::ProjectedResult;
use crate::families::test_support::{cases, projected, receipt, shown};

const ETAG: &str = "b20ab0a020a48d349e0c64d109c441f8";

fn read(content: &str, encoding: ContentEncoding, start: u64, more: bool, budget: usize) -> ProjectedResult {
    let bytes = match encoding {
        ContentEncoding::Utf8 => content.len() as u64,
        ContentEncoding::Base64 => content.trim_end_matches('=').len() as u64 * 3 / 4,
    };
    let end = start + bytes;
    let size_bytes = if more { end + 500 } else { end };
    let range = ContentRange { start, end };
    let read = FileRead { path: "Note.md", content, encoding, etag: Some(ETAG), size_bytes, range, more };
    projected(budget, |with| project(&read, with))
}

// Conformance: result 1.3
#[test]
fn a_note_is_shown_as_it_is() {
    let note = read("# Title\n\n- one\n  - two\n", ContentEncoding::Utf8, 0, false, 2_000);
    expect![[r##"
        {"path":"Note.md","etag":"b20ab0a020a48d349e0c64d109c441f8","encoding":"utf-8","size_bytes":23,"range":{"start":0,"end":23},"content_preview":"# Title\n\n- one\n  - two\n","truncated":false}
        ---
        Read Note.md (23 bytes) (etag b20ab0a020a48d349e0c64d109c441f8)
        # Title

        - one
          - two
    "##]]
    .assert_eq(&shown("Read Note.md (23 bytes)", &note, 2_000));
}

#[test]
fn a_long_note_is_cut_between_lines_and_says_where_to_go_on() {
    let text: String = (1..=1_000).map(|n| format!("This is line {n}.\n")).collect();
    let note = read(&text, ContentEncoding::Utf8, 0, false, 120);
    expect![[r#"
        {"path":"Note.md","etag":"b20ab0a020a48d349e0c64d109c441f8","encoding":"utf-8","size_bytes":17893,"range":{"start":0,"end":64},"content_preview":"This is line 1.\nThis is line 2.\nThis is line 3.\nThis is line 4.\n","truncated":true,"next_range":{"start":64,"end":17893}}
    "#]]
    .assert_eq(&format!("{}\n", note.result));
    let note = read(&text, ContentEncoding::Utf8, 0, true, 150);
    expect![[r#"
        Read Note.md (etag b20ab0a020a48d349e0c64d109c441f8)
        This is line 1.
        This is line 2.
        This is line 3.
        This is line 4.
        This is line 5.
        This is line 6.
        This is line 7.
        This is line 8.
        This is line 9.
        … 18249 more bytes: read on with range {"start":144,"end":18393}"#]]
    .assert_eq(&receipt("Read Note.md", &note, 120));
}

#[test]
fn an_empty_note_has_nothing_below_its_outcome() {
    let note = read("", ContentEncoding::Utf8, 0, false, 2_000);
    assert_eq!(receipt("Read a.md (0 bytes)", &note, 2_000), format!("Read a.md (0 bytes) (etag {ETAG})"));
}

#[test]
fn the_tabs_of_a_note_stay() {
    let note = read("- one\n\t- two\n", ContentEncoding::Utf8, 0, false, 2_000);
    assert_eq!(receipt("Read", &note, 2_000), format!("Read (etag {ETAG})\n- one\n\t- two"));
}

#[test]
fn what_cannot_be_seen_is_spelled_out_and_said_to_be() {
    let note = read("a\u{200b}b\u{1b}[2J\r\nc\r\n", ContentEncoding::Utf8, 0, false, 2_000);
    expect![[r#"
        Read (etag b20ab0a020a48d349e0c64d109c441f8)
        a\u{200b}b\u{1b}[2J
        c
        [lines end with CRLF]
        [characters that cannot be seen are spelled out, such as \u{200b}]"#]]
    .assert_eq(&receipt("Read", &note, 2_000));
}

#[test]
fn bytes_are_cut_where_three_of_them_end() {
    let image = read(&"iVBORw0KGgoA".repeat(200), ContentEncoding::Base64, 300, false, 150);
    let end = image.result["range"]["end"].as_u64().unwrap();
    let shown = image.result["content_preview"].as_str().unwrap().len() as u64;
    assert_eq!((shown % 4, end), (0, 300 + shown / 4 * 3));
    assert_eq!(image.result["next_range"], serde_json::json!({"start": end, "end": 2_100}));
    receipt("Read image.png", &image, 150);
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn parts_that_follow_each_other_join_to_the_whole(
        text in "[a-z \n\t\\PC\u{1b}\u{202e}\u{ad}\u{34f}\u{2800}\u{fe0f}\u{e0041}\r]{0,2000}",
        budget in 150_usize..800,
        base64 in any::<bool>(),
    ) {
        let encoding = if base64 { ContentEncoding::Base64 } else { ContentEncoding::Utf8 };
        let text = if base64 { "QUJD".repeat(text.len() / 4) } else { text };
        let (mut joined, mut rest, mut at) = (String::new(), text.as_str(), 0_u64);
        loop {
            let part = read(rest, encoding, at, false, budget);
            receipt("Read Note.md (some bytes)", &part, budget);
            receipt("Read Note.md (some bytes)", &part, 100);
            let preview = part.result["content_preview"].as_str().unwrap();
            joined.push_str(preview);
            rest = &rest[preview.len()..];
            at = part.result["range"]["end"].as_u64().unwrap();
            if part.result["truncated"] == false {
                break;
            }
            assert_eq!(part.result["next_range"]["start"], at);
            assert!(!preview.is_empty());
        }
        assert_eq!(joined, text);
    }
}
