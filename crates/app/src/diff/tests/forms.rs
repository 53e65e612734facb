//! The other forms of the same difference: with colours, as JSON, and many files together.

use envelope::is_invisible;
use expect_test::expect;

use crate::diff::compare::compare;
use crate::diff::{DiffLimits, DiffSet, FileDiff};
use crate::text_style::TextStyle;

fn file<'a>(path: &'a str, before: Option<&'a str>, after: Option<&'a str>) -> FileDiff<'a> {
    let (before, after) = (before.map(str::as_bytes), after.map(str::as_bytes));
    FileDiff { path, moved_from: None, before, after }
}

/// One of each kind.
fn one_of_each(limits: DiffLimits) -> DiffSet {
    let mut changes = DiffSet::new(limits);
    changes.add(&file("Ideas/Boat.md", None, Some("# Boat\n")));
    changes.add(&file("Inbox.md", Some("- boat\n- milk\n"), Some("- milk\n")));
    let moved = file("People/Anna.md", Some("See [[Boat]].\n"), Some("See [[Ideas/Boat]].\n"));
    changes.add(&FileDiff { moved_from: Some("Anna.md"), ..moved });
    changes.add(&file("Old\n.md", Some("gone\n"), None));
    changes.add(&file("Touched.md", Some("same\n"), Some("same\n")));
    changes
}

#[test]
fn colours_mark_words_by_reversing_them() {
    let body = compare(
        Some(b"kept\nthe old word here\ngone\n"),
        Some(b"kept\nthe new word here\n"),
        &DiffLimits::screen(),
    );
    let lines = body.render(TextStyle::coloured()).join("\n").replace('\u{1b}', "<ESC>");
    expect![[r#"
        <ESC>[2m@@ lines 1-3 @@<ESC>[0m
          kept
        <ESC>[31m- <ESC>[0m<ESC>[31mthe <ESC>[0m<ESC>[31;7mold<ESC>[0m<ESC>[31m word here<ESC>[0m
        <ESC>[32m+ <ESC>[0m<ESC>[32mthe <ESC>[0m<ESC>[32;7mnew<ESC>[0m<ESC>[32m word here<ESC>[0m
        <ESC>[31m- gone<ESC>[0m"#]]
    .assert_eq(&lines);
}

#[test]
fn no_invisible_character_is_left_in_a_diff() {
    for c in ('\0'..=char::MAX).filter(|&c| is_invisible(c) && !matches!(c, '\n' | '\t' | '\r')) {
        let (name, before, after) = (format!("a{c}b.md"), "a b\n", format!("a{c} {c}b\n{c}\n"));
        let mut changes = DiffSet::new(DiffLimits::screen());
        changes.add(&file(&name, Some(before), Some(&after)));
        changes.add(&file(&name, None, Some(&after)));
        let plain = changes.plain().replace('\n', "");
        assert!(!plain.contains(is_invisible), "{}: {plain:?}", c.escape_unicode());
        assert!(plain.contains(&c.escape_unicode().to_string()) || plain.contains("not text"), "{plain:?}");
    }
}

#[test]
fn each_file_has_a_head_with_its_path_and_counts() {
    expect![[r#"
        created Ideas/Boat.md (+1 -0)
          + # Boat
        changed Inbox.md (+0 -1)
          @@ lines 1-2 @@
          - - boat
            - milk
        moved Anna.md to People/Anna.md (+1 -1)
          @@ line 1 @@
          - See [[Boat]].
          + See [[{+Ideas/+}Boat]].
        deleted Old\n.md (+0 -1)
          - gone
        changed Touched.md (the content stays the same)"#]]
    .assert_eq(&one_of_each(DiffLimits::screen()).plain());
}

#[test]
fn files_beyond_the_limit_are_counted() {
    let changes = one_of_each(DiffLimits { files: 1, ..DiffLimits::screen() });
    expect![[r#"
        created Ideas/Boat.md (+1 -0)
          + # Boat
        … 4 more files; --full shows all"#]]
    .assert_eq(&changes.plain());
    let changes = one_of_each(DiffLimits { lines: 3, ..DiffLimits::screen() });
    assert!(!changes.has_room());
    expect![[r#"
        created Ideas/Boat.md (+1 -0)
          + # Boat
        changed Inbox.md (+0 -1)
          @@ lines 1-2 @@
          - - boat
            - milk
        … 3 more files; --full shows all"#]]
    .assert_eq(&changes.plain());
}

#[test]
fn programs_read_the_same_as_json() {
    let mut changes = DiffSet::new(DiffLimits { line_chars: 30, around: 8, ..DiffLimits::screen() });
    changes.add(&file(
        "Note.md",
        Some("# Note\nsome words that stay, one that goes, and the rest of the line\n"),
        Some("# Note\nsome words that stay, one that comes, and the rest of the line"),
    ));
    let image = FileDiff { after: Some(b"\xff\xd8"), ..file("a.jpg", None, None) };
    changes.add(&image);
    changes.leave_out();
    expect![[r##"
        {
          "files": [
            {
              "path": "Note.md",
              "kind": "changed",
              "content": "text",
              "addedLines": 1,
              "removedLines": 1,
              "hunks": [
                {
                  "before": {
                    "line": 1,
                    "count": 2
                  },
                  "after": {
                    "line": 1,
                    "count": 2
                  },
                  "lines": [
                    {
                      "kind": "same",
                      "words": [
                        {
                          "tag": "same",
                          "text": "# Note"
                        }
                      ]
                    },
                    {
                      "kind": "changed",
                      "words": [
                        {
                          "tag": "same",
                          "text": "",
                          "cut": 25
                        },
                        {
                          "tag": "same",
                          "text": " that "
                        },
                        {
                          "tag": "del",
                          "text": "goes"
                        },
                        {
                          "tag": "ins",
                          "text": "comes"
                        },
                        {
                          "tag": "same",
                          "text": ", and the rest of the line"
                        }
                      ]
                    }
                  ]
                }
              ],
              "notes": [
                "no newline at the end any more"
              ]
            },
            {
              "path": "a.jpg",
              "kind": "created",
              "content": "binary",
              "before": null,
              "after": {
                "bytes": 2,
                "etag": "c8552f197c1ee4bc2d53bdadee1a11f4"
              }
            }
          ],
          "filesLeftOut": 1
        }"##]]
    .assert_eq(&serde_json::to_string_pretty(&changes).unwrap());
}
