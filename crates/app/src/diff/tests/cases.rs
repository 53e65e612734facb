//! Each kind of change, as plain text.

use expect_test::{Expect, expect};

use super::{lines, shown};
use crate::diff::DiffLimits;

/// A file that is changed.
#[track_caller]
fn changed(before: &str, after: &str, expected: &Expect) {
    expected.assert_eq(&shown(Some(before.as_bytes()), Some(after.as_bytes())));
}

/// Text that differs from line to line: `line 1`, `line 2` and so on.
fn numbered(count: usize) -> String {
    (1..=count).map(|n| format!("line {n}\n")).collect()
}

/// One line of prose that never repeats itself.
fn paragraph(words: usize) -> String {
    (0..words).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_changed_word_is_marked_in_its_line_between_three_lines_of_context() {
    let before = numbered(20);
    let after = before.replace("line 10\n", "line ten\n");
    changed(
        &before,
        &after,
        &expect![[r#"
        @@ lines 7-13 @@
          line 7
          line 8
          line 9
        - line [-10-]
        + line {+ten+}
          line 11
          line 12
          line 13"#]],
    );
}

#[test]
fn changes_far_apart_are_hunks_of_their_own() {
    let before = numbered(40);
    let after = before.replace("line 5\n", "").replace("line 30\n", "line 30\nnew\n");
    changed(
        &before,
        &after,
        &expect![[r#"
        @@ lines 2-8 @@
          line 2
          line 3
          line 4
        - line 5
          line 6
          line 7
          line 8
        @@ lines 28-33 @@
          line 28
          line 29
          line 30
        + new
          line 31
          line 32
          line 33"#]],
    );
}

#[test]
fn three_words_in_a_long_paragraph_do_not_look_like_a_rewrite() {
    let before = format!("# Title\n\n{}\n", paragraph(400));
    let after = before.replace("word200 word201 word202", "some other words");
    changed(
        &before,
        &after,
        &expect![[r#"
        @@ lines 1-3 @@
          # Title

        - …(1450 characters)…word195 word196 word197 word198 word199 [-word200 word201 word202-] word203 word204 word205 word206 word207…(1536 characters)…
        + …(1450 characters)…word195 word196 word197 word198 word199 {+some other words+} word203 word204 word205 word206 word207…(1536 characters)…"#]],
    );
}

#[test]
fn edits_far_apart_in_one_paragraph_are_all_shown() {
    let before = format!("{}\n", paragraph(300));
    let after =
        before.replace("word20 ", "").replace("word150", "WORD").replace("word280", "word280 and more");
    changed(
        &before,
        &after,
        &expect![[r#"
        @@ line 1 @@
        - …(94 characters)… word15 word16 word17 word18 word19 [-word20 -]word21 word22 word23 word24 word25 …(878 characters)…word145 word146 word147 word148 word149 [-word150-] word151 word152 word153 word154 word155…(961 characters)…word276 word277 word278 word279 word280 word281 word282 word283 word284 word285 …(111 characters)…
        + …(94 characters)… word15 word16 word17 word18 word19 word21 word22 word23 word24 word25 …(878 characters)…word145 word146 word147 word148 word149 {+WORD+} word151 word152 word153 word154 word155…(961 characters)…word276 word277 word278 word279 word280 {+and more +}word281 word282 word283 word284 word285 …(111 characters)…"#]],
    );
}

#[test]
fn an_edited_paragraph_is_found_again_behind_a_line_that_was_put_before_it() {
    changed(
        "Anna wrote the report on Monday and sent it to the board.\n",
        "A heading of its own\n\nAnna wrote the report on Tuesday and sent it to the board.\n",
        &expect![[r#"
            @@ line 1 @@
            + A heading of its own
            +
            - Anna wrote the report on [-Monday-] and sent it to the board.
            + Anna wrote the report on {+Tuesday+} and sent it to the board."#]],
    );
}

#[test]
fn words_that_only_a_space_keeps_apart_are_one_change() {
    changed(
        "The quick, brown fox jumps over the dog\n",
        "The slow, red fox jumps over the dog\n",
        &expect![[r#"
            @@ line 1 @@
            - The [-quick, brown-] fox jumps over the dog
            + The {+slow, red+} fox jumps over the dog"#]],
    );
}

#[test]
fn lines_with_little_in_common_are_removed_and_added() {
    changed(
        "- [ ] Buy milk\n- [ ] Sell the boat\n",
        "- [ ] Call Anna\n- [ ] Read Proust\n",
        &expect![[r#"
        @@ lines 1-2 @@
        - - [ ] Buy milk
        - - [ ] Sell the boat
        + - [ ] Call Anna
        + - [ ] Read Proust"#]],
    );
}

#[test]
fn a_ticked_task_and_a_property_show_what_changed_in_them() {
    changed(
        "---\nstatus: open\n---\n- [ ] Buy milk\n",
        "---\nstatus: done\n---\n- [x] Buy milk\n",
        &expect![[r#"
            @@ lines 1-4 @@
              ---
            - status: [-open-]
            + status: {+done+}
              ---
            - - [-[ ]-] Buy milk
            + - {+[x]+} Buy milk"#]],
    );
}

#[test]
fn a_text_without_spaces_has_words_too() {
    changed(
        "会議は月曜日に東京で行われます。\n",
        "会議は火曜日に東京で行われます。\n",
        &expect![[r#"
        @@ line 1 @@
        - 会議は[-月-]曜日に東京で行われます。
        + 会議は{+火+}曜日に東京で行われます。"#]],
    );
}

#[test]
fn blanks_that_change_can_be_seen() {
    let lines = shown(Some(b"one\n\ttwo\n"), Some(b"one \n  two\n"));
    expect![[r#"
        @@ lines 1-2 @@
        - one
        + one{+ +}
        - [-<TAB>-]two
        + {+  +}two"#]]
    .assert_eq(&lines.replace('\t', "<TAB>"));
}

#[test]
fn a_note_cannot_act_on_the_terminal() {
    changed(
        "safe\n",
        "safe \u{1b}[2J\u{202e}\r gone\n",
        &expect![[r#"
        @@ line 1 @@
        - safe
        + safe{+ \u{1b}[2J\u{202e}\r gone+}"#]],
    );
}

#[test]
fn a_created_file_is_its_first_lines_and_the_size_of_the_rest() {
    let limits = DiffLimits { lines_per_file: 6, ..DiffLimits::screen() };
    let after = numbered(300);
    expect![[r#"
        + line 1
        + line 2
        + line 3
        + line 4
        + line 5
        … 295 more lines (2.6 kB)"#]]
    .assert_eq(&lines(None, Some(after.as_bytes()), &limits));
}

#[test]
fn a_deleted_file_likewise() {
    let limits = DiffLimits { lines_per_file: 4, ..DiffLimits::screen() };
    let before = numbered(5);
    expect![[r#"
        - line 1
        - line 2
        - line 3
        … 2 more lines (14 bytes)"#]]
    .assert_eq(&lines(Some(before.as_bytes()), None, &limits));
}

#[test]
fn a_created_paragraph_is_cut_in_its_middle() {
    let limits = DiffLimits { shown_chars: 60, ..DiffLimits::screen() };
    expect!["+ word0 word1 word2 word3 word4 word5 word6 …(633 characters)… word98 word99"]
        .assert_eq(&lines(None, Some(paragraph(100).as_bytes()), &limits));
}

#[test]
fn an_empty_file_is_said_to_be_empty() {
    expect!["the file is empty"].assert_eq(&shown(None, Some(b"")));
    expect![[r#"
        nothing is left in the file
        - one"#]]
    .assert_eq(&shown(Some(b"one\n"), Some(b"")));
}

#[test]
fn a_file_that_does_not_fit_shows_what_goes_and_what_comes() {
    let limits = DiffLimits { lines_per_file: 7, ..DiffLimits::screen() };
    let before: String = (0..30).map(|n| format!("old{n}\n")).collect();
    let after: String = (0..30).map(|n| format!("new{n}\n")).collect();
    expect![[r#"
        @@ lines 1-3 @@
        - old0
        - old1
        - old2
        + new0
        + new1
        + new2
        … 54 more changed lines (310 bytes)"#]]
    .assert_eq(&lines(Some(before.as_bytes()), Some(after.as_bytes()), &limits));
}

#[test]
fn a_rewritten_paragraph_is_bounded_and_counted() {
    let before: String = (0..600).map(|n| format!("same{n} old{n} ")).collect();
    let after = before.replace("old", "new");
    let limits = DiffLimits { shown_chars: 120, ..DiffLimits::screen() };
    expect![[r#"
        @@ line 1 @@
        - same0 [-old0-] same1 [-old1-] same2 [-old2-] same3 [-old3-] same4 [-old4-] same5 [-old5-] same6 [-old6-] same7 [-old7-]…(5235 characters)…[-…(3458 characters)…-]
        + same0 {+new0+} same1 {+new1+} same2 {+new2+} same3 {+new3+} same4 {+new4+} same5 {+new5+} same6 {+new6+} same7 {+new7+}…(5235 characters)…{+…(3458 characters)…+}"#]].assert_eq(&lines(Some(before.as_bytes()), Some(after.as_bytes()), &limits));
}

#[test]
fn what_no_line_shows_is_said_in_words() {
    changed("one\r\ntwo\r\n", "one\ntwo\n", &expect!["only line endings change: CRLF -> LF"]);
    changed(
        "one\ntwo\n",
        "one\ntwo",
        &expect![[r#"
        every line keeps its text
        no newline at the end any more"#]],
    );
    changed(
        "one\ntwo",
        "one\ntwo\n",
        &expect![[r#"
        every line keeps its text
        a newline at the end now"#]],
    );
    changed("one\r\ntwo\n", "one\ntwo\r\n", &expect!["only line endings change in 2 lines"]);
    changed(
        "\u{feff}one\r\n",
        "one\n",
        &expect![[r#"
        every line keeps its text
        line endings change: CRLF -> LF
        no byte order mark at the start any more"#]],
    );
    changed(
        "one\r\ntwo\r\n",
        "one\nthree",
        &expect![[r#"
        line endings change: CRLF -> LF
        no newline at the end any more
        @@ lines 1-2 @@
          one
        - two
        + three"#]],
    );
    changed(
        "one\ntwo\n",
        "one\ntwo\nthree\r\n",
        &expect![[r#"
        line endings change: LF -> mixed LF and CRLF
        @@ lines 1-2 @@
          one
          two
        + three"#]],
    );
}

#[test]
fn what_is_no_text_has_sizes_and_etags() {
    expect!["not text: 5 bytes (etag 6716ca66fdcf1635e6b7b5e01ba4b9c3) -> 4 bytes (etag 831c6831fdc9a309a4c66cc3cb2fa374)"].assert_eq(&shown(Some(b"\x89PNG\xff"), Some(b"text")));
    expect!["not text: 2.1 kB (etag 12352c60710230cca4d1b11926bcfa2c)"]
        .assert_eq(&shown(None, Some(&[0; 2140])));
    expect!["not text: 5 bytes (etag 01f55d254e5f9daf8330958de39ec474)"]
        .assert_eq(&shown(Some(b"nul \0"), None));
}

#[test]
fn too_much_to_compare_is_counted_or_measured() {
    let (before, after) = (numbered(50), numbered(60).replace("line", "row"));
    let few_lines = DiffLimits { compared_lines: 20, ..DiffLimits::screen() };
    expect!["too many lines to compare one by one: 60 lines added, 50 removed"].assert_eq(&lines(
        Some(before.as_bytes()),
        Some(after.as_bytes()),
        &few_lines,
    ));
    let few_bytes = DiffLimits { bytes: 500, ..DiffLimits::screen() };
    expect!["too large to compare: 391 bytes (etag 05a1c3600fc731e6c3bad0e37009be64) -> 411 bytes (etag 483ee9651dd67d390f21f498b2b4ea45)"].assert_eq(&lines(Some(before.as_bytes()), Some(after.as_bytes()), &few_bytes));
    let other_order: String = before.lines().rev().map(|line| format!("{line}\r\n")).collect();
    expect![[r#"
        too many lines to compare one by one: the same lines in another order
        line endings change: LF -> CRLF"#]]
    .assert_eq(&lines(Some(before.as_bytes()), Some(other_order.as_bytes()), &few_lines));
}

#[test]
fn too_many_words_to_compare_are_marked_from_the_first_change_to_the_last() {
    let limits = DiffLimits { compared_words: 4, ..DiffLimits::screen() };
    expect![[r#"
        @@ line 1 @@
        - one long line [-has a few words, and some of them-] change
        + one long line {+had a few words, and some of these+} change"#]]
    .assert_eq(&lines(
        Some(b"one long line has a few words, and some of them change\n"),
        Some(b"one long line had a few words, and some of these change\n"),
        &limits,
    ));
}

#[test]
fn an_edit_of_a_large_file_is_found_by_its_place() {
    let before = numbered(100_000);
    let after = before.replace("line 70000\n", "line 70000 and more\n");
    let limits = DiffLimits { context: 1, ..DiffLimits::screen() };
    expect![[r#"
        @@ lines 69999-70001 @@
          line 69999
        - line 70000
        + line 70000{+ and more+}
          line 70001"#]]
    .assert_eq(&lines(Some(before.as_bytes()), Some(after.as_bytes()), &limits));
}
