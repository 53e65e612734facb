//! Tests every rule of sections and blocks by example, and by random edits that the rest of the note stays
//! the same.

use expect_test::{Expect, expect};
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::select;

use super::{SectionMode, SectionPatch, SectionTarget, patch_section};

fn heading(path: &[&str], mode: SectionMode, content: &str) -> SectionPatch {
    SectionPatch {
        target: SectionTarget::Heading(path.iter().map(|text| (*text).to_owned()).collect()),
        mode,
        content: content.to_owned(),
        include_subsections: false,
    }
}

fn whole(path: &[&str], mode: SectionMode, content: &str) -> SectionPatch {
    SectionPatch { include_subsections: true, ..heading(path, mode, content) }
}

fn block(id: &str, mode: SectionMode, content: &str) -> SectionPatch {
    SectionPatch { target: SectionTarget::Block(id.to_owned()), ..heading(&[], mode, content) }
}

#[track_caller]
fn check(note: &str, patch: &SectionPatch, expected: Expect) {
    let shown = match patch_section(note, patch) {
        Ok(patched) => patched.text.replace('\r', "␍"),
        Err(fault) => format!("{}: {fault}\n{}", fault.failure, fault.recovery_hint()),
    };
    expected.assert_eq(&shown);
}

const NOTE: &str = "\
---
title: x
---
# Project

Intro

## Tasks
- [ ] one
- [ ] two

### Later

some day

## Notes

text
";

#[test]
fn content_is_appended_below_the_last_line_and_above_the_subsections() {
    check(
        NOTE,
        &heading(&["Project", "Tasks"], SectionMode::Append, "- [ ] three\n"),
        expect![[r#"
        ---
        title: x
        ---
        # Project

        Intro

        ## Tasks
        - [ ] one
        - [ ] two
        - [ ] three

        ### Later

        some day

        ## Notes

        text
    "#]],
    );
    check(
        NOTE,
        &whole(&["Project", "Tasks"], SectionMode::Append, "\nlast"),
        expect![[r#"
        ---
        title: x
        ---
        # Project

        Intro

        ## Tasks
        - [ ] one
        - [ ] two

        ### Later

        some day

        last

        ## Notes

        text
    "#]],
    );
}

#[test]
fn content_is_prepended_above_the_first_line() {
    check(
        NOTE,
        &heading(&["Project"], SectionMode::Prepend, "First\n\n"),
        expect![[r#"
        ---
        title: x
        ---
        # Project

        First

        Intro

        ## Tasks
        - [ ] one
        - [ ] two

        ### Later

        some day

        ## Notes

        text
    "#]],
    );
}

#[test]
fn replacing_keeps_the_subsections_unless_they_are_meant() {
    check(
        NOTE,
        &heading(&["Project", "Tasks"], SectionMode::Replace, "none\n"),
        expect![[r#"
        ---
        title: x
        ---
        # Project

        Intro

        ## Tasks
        none

        ### Later

        some day

        ## Notes

        text
    "#]],
    );
    check(
        NOTE,
        &whole(&["Project", "Tasks"], SectionMode::Replace, "\nnone\n\n### New\n"),
        expect![[r#"
        ---
        title: x
        ---
        # Project

        Intro

        ## Tasks
        none

        ### New

        ## Notes

        text
    "#]],
    );
    check(
        NOTE,
        &whole(&["Project", "Tasks"], SectionMode::Replace, ""),
        expect![[r#"
        ---
        title: x
        ---
        # Project

        Intro

        ## Tasks

        ## Notes

        text
    "#]],
    );
}

#[test]
fn an_empty_section_is_filled_with_the_same_gap_on_both_sides() {
    for mode in [SectionMode::Replace, SectionMode::Append, SectionMode::Prepend] {
        check("# A\n\n# B\n", &heading(&["A"], mode, "x\n"), expect!["# A\n\nx\n\n# B\n"]);
        check("# A\n# B\n", &heading(&["A"], mode, "x\n"), expect!["# A\nx\n# B\n"]);
        check("# A", &heading(&["A"], mode, "x\n"), expect!["# A\nx"]);
        check("# A\n", &heading(&["A"], mode, "x"), expect!["# A\nx\n"]);
        // A setext heading would take the line above it as part of itself.
        check("# A\nB\n===\n", &heading(&["A"], mode, "x\n"), expect!["# A\nx\n\nB\n===\n"]);
    }
}

#[test]
fn a_missing_final_newline_stays_missing() {
    check("# A\na", &heading(&["A"], SectionMode::Append, "b\n"), expect!["# A\na\nb"]);
    check("# A\na", &heading(&["A"], SectionMode::Replace, "b\n"), expect!["# A\nb"]);
    check("# A\na", &heading(&["A"], SectionMode::Prepend, "b\n"), expect!["# A\nb\na"]);
}

#[test]
fn content_takes_the_line_endings_of_the_note() {
    check(
        "\u{feff}# A\r\na\r\n\r\n# B\r\n",
        &heading(&["A"], SectionMode::Append, "\nb\nc\n"),
        expect!["\u{feff}# A␍\na␍\n␍\nb␍\nc␍\n␍\n# B␍\n"],
    );
}

#[test]
fn two_headings_with_one_path_are_refused() {
    check(
        "# A\n## T\n# B\n## T\n# A\n## T\n",
        &heading(&["A", "T"], SectionMode::Append, "x"),
        expect![[r#"
            conflict: 2 headings are `A` > `T` (lines 2, 6)
            give the full path from the top of the note down; where that is the same, rename one of them, or change the text by `vault.replaceText`"#]],
    );
    check(
        "# A\n## T\n# B\n## T\n",
        &heading(&["B", "T"], SectionMode::Append, "x"),
        expect![[r#"
        # A
        ## T
        # B
        ## T
        x
    "#]],
    );
}

#[test]
fn a_heading_is_found_by_the_end_of_its_path_and_in_any_case_encoding_and_formatting() {
    let note = "# Plan\n## **Next** steps\n## Caf\u{e9} `x`\n# Other\n## Done\n";
    for (path, line) in [
        (&["**Next** steps"][..], "## **Next** steps"),
        (&["next Steps"], "## **Next** steps"),
        (&["PLAN", "Next steps"], "## **Next** steps"),
        (&["Cafe\u{301} x"], "## Caf\u{e9} `x`"),
        (&["done"], "## Done"),
        (&["plan"], "# Plan"),
    ] {
        let patched = patch_section(note, &heading(path, SectionMode::Prepend, "new")).unwrap();
        assert_eq!(patched.text, note.replace(&format!("{line}\n"), &format!("{line}\nnew\n")), "{path:?}");
    }
}

#[test]
fn the_closest_heading_wins_and_two_as_close_are_refused() {
    // As written before another case, and a full path before the end of one.
    let patched = |note: &str, path: &[&str]| {
        patch_section(note, &heading(path, SectionMode::Prepend, "new")).map(|patched| patched.text)
    };
    assert_eq!(patched("# a\n# A\n", &["A"]).unwrap(), "# a\n# A\nnew\n");
    assert_eq!(patched("# X\n## A\n# A\n", &["A"]).unwrap(), "# X\n## A\n# A\nnew\n");
    for (note, path) in [("# X\n## A\n# Y\n## A\n", ["A"]), ("# *A*\n# `A`\n", ["a"])] {
        assert_eq!(patched(note, &path).unwrap_err().failure, envelope::Failure::Conflict, "{note}");
    }
}

#[test]
fn a_missing_heading_is_answered_with_the_nearest() {
    check(
        NOTE,
        &heading(&["Project", "Task"], SectionMode::Append, "x"),
        expect![[r#"
            not_found: no heading is `Project` > `Task`
            the nearest heading is `Tasks`"#]],
    );
    check(
        "text",
        &heading(&["A"], SectionMode::Append, "x"),
        expect![[r#"
        not_found: no heading is `A`
        the note has no headings"#]],
    );
    check(
        NOTE,
        &heading(&[], SectionMode::Append, "x"),
        expect![[r#"
        invalid_arguments: the heading path is empty or has an empty part
        give the texts of the headings from the top of the note down"#]],
    );
}

#[test]
fn what_only_looks_like_a_heading_is_none() {
    check(
        "# A\n```\n# B\n```\n<div>\n# B\n</div>\n\n%%\n# B\n%%\n\n> # B\n\n- # B\n\n    # B\n\n# B\nb\n",
        &heading(&["B"], SectionMode::Append, "x"),
        expect![[r#"
            # A
            ```
            # B
            ```
            <div>
            # B
            </div>

            %%
            # B
            %%

            > # B

            - # B

                # B

            # B
            b
            x
        "#]],
    );
}

#[test]
fn headings_are_named_as_they_are_written() {
    check(
        "Top\n===\n\n## A **b** [[c|d]] ##\nx\n\nSub *one*\n---\ny\n",
        &heading(&["Top", "A **b** [[c|d]]"], SectionMode::Replace, "z"),
        expect![[r#"
            Top
            ===

            ## A **b** [[c|d]] ##
            z

            Sub *one*
            ---
            y
        "#]],
    );
}

#[test]
fn content_that_would_change_other_sections_is_refused() {
    let spills = expect![[r#"
        invalid_arguments: with this content, headings outside of the place that is changed would change as well
        close every code block and comment in `content`; begin it with an empty line where it must not join the text before it"#]];
    check(NOTE, &heading(&["Project", "Tasks"], SectionMode::Append, "```\nopen"), spills);
    check(
        "# A\ntext\n",
        &heading(&["A"], SectionMode::Append, "---"),
        expect![[r#"
        invalid_arguments: with this content, headings outside of the place that is changed would change as well
        close every code block and comment in `content`; begin it with an empty line where it must not join the text before it"#]],
    );
    check(
        NOTE,
        &heading(&["Project", "Tasks"], SectionMode::Replace, "## Tasks\n- x"),
        expect![[r#"
        invalid_arguments: `content` has the heading `Tasks`, which would end the section
        leave the section's own heading out, and give subsections a deeper level"#]],
    );
    check(
        NOTE,
        &heading(&["Project", "Tasks"], SectionMode::Append, " \n"),
        expect![[r#"
        invalid_arguments: `content` is empty, so there is nothing to add
        give the text to add, or use the mode `replace` to empty the section"#]],
    );
}

#[test]
fn what_is_in_math_is_neither_a_heading_nor_a_block() {
    check(
        "# A\n$$\n# B\n\nx ^id\n---\n$$\n\n# B\nb\n",
        &heading(&["B"], SectionMode::Append, "x"),
        expect![[r#"
            # A
            $$
            # B

            x ^id
            ---
            $$

            # B
            b
            x
        "#]],
    );
    check(
        "$$\na\n\nb ^id\n$$\n",
        &block("id", SectionMode::Replace, "x"),
        expect![[r#"
        not_found: no block has the id `^id`
        read the note for its block ids"#]],
    );
    // A block of math can have an id, and is one block.
    check(
        "a\n\n$$\nb\n\nc\n$$\n\n^id\n",
        &block("id", SectionMode::Replace, "$$x$$"),
        expect![[r#"
        a

        $$x$$

        ^id
    "#]],
    );
    check(
        "$$\nb\n$$ ^id\n",
        &block("id", SectionMode::Append, "x"),
        expect![[r#"
        $$
        b
        $$ ^id

        x
    "#]],
    );
    // Costs are no math.
    check(
        "$$ is money\n\n# B\nb\n",
        &heading(&["B"], SectionMode::Append, "x"),
        expect![[r#"
        $$ is money

        # B
        b
        x
    "#]],
    );
}

#[track_caller]
fn append(note: &str, content: &str, expected: Expect) {
    check(note, &block("id", SectionMode::Append, content), expected);
}

#[test]
fn content_is_appended_to_the_table_or_the_list_that_an_id_marks() {
    append(
        "| a |\n|---|\n| b |\n\n^id\n\nz\n",
        "| c |\n| d |\n",
        expect![[r#"
        | a |
        |---|
        | b |
        | c |
        | d |

        ^id

        z
    "#]],
    );
    append(
        "| a |\n|---|\n| b |\n^id\n",
        "| c |",
        expect![[r#"
        | a |
        |---|
        | b |
        | c |
        ^id
    "#]],
    );
    append(
        "| a |\n|---|\n| b ^id |\n\nz",
        "| c |",
        expect![[r#"
        | a |
        |---|
        | b ^id |
        | c |

        z"#]],
    );
    append(
        "| a |\r\n|---|\r\n\r\n^id\r\n",
        "| c |\n",
        expect![[r#"
        | a |␍
        |---|␍
        | c |␍
        ␍
        ^id␍
    "#]],
    );
    append(
        "- a\n- b\n  - c\n\n^id\n",
        "- d\n  e",
        expect![[r#"
        - a
        - b
          - c
        - d
          e

        ^id
    "#]],
    );
    append(
        "1. a\n2. b\n\n^id\n\nz",
        "3. c",
        expect![[r#"
        1. a
        2. b
        3. c

        ^id

        z"#]],
    );
}

#[test]
fn content_is_appended_to_the_quote_that_an_id_marks_with_its_marks() {
    append(
        "> a\n> b\n\n^id\n",
        "c\n\nd",
        expect![[r#"
        > a
        > b
        > c
        >
        > d

        ^id
    "#]],
    );
    append(
        "> [!note] T\n> b ^id\n\nz\n",
        "c\nd",
        expect![[r#"
        > [!note] T
        > b
        > c
        > d ^id

        z
    "#]],
    );
    append(
        "> [!note] T\n> b ^id\n\nz\n",
        "> c\n> d",
        expect![[r#"
        > [!note] T
        > b
        > c
        > d ^id

        z
    "#]],
    );
    append(
        "- x\n  > b ^id\n- y\n",
        "c",
        expect![[r#"
        - x
          > b
          > c ^id
        - y
    "#]],
    );
    append(
        ">> deep ^id\n",
        "c",
        expect![[r#"
        >> deep
        >> c ^id
    "#]],
    );
}

#[test]
fn content_that_would_not_be_a_part_of_the_marked_block_is_refused() {
    append(
        "| a |\n|---|\n| b |\n\n^id\n",
        "text",
        expect![[r#"
        invalid_arguments: the id marks a table, and `content` would not be a part of it
        give rows such as `| a | b |`, without empty lines; to add something below it, use `vault.replaceText`"#]],
    );
    append(
        "| a |\n|---|\n| b |\n\n^id\n",
        "| c |\n\n| d |",
        expect![[r#"
        invalid_arguments: the id marks a table, and `content` would not be a part of it
        give rows such as `| a | b |`, without empty lines; to add something below it, use `vault.replaceText`"#]],
    );
    append(
        "- a\n- b\n\n^id\n",
        "* c",
        expect![[r#"
        invalid_arguments: the id marks a list, and `content` would not be a part of it
        give items with the marker of the list, such as `- text`; to add something below it, use `vault.replaceText`"#]],
    );
    append(
        "- a\n- b\n\n^id\n",
        "text",
        expect![[r#"
        invalid_arguments: the id marks a list, and `content` would not be a part of it
        give items with the marker of the list, such as `- text`; to add something below it, use `vault.replaceText`"#]],
    );
    append(
        "> b ^id\n",
        "```\ncode",
        expect![[r#"
        invalid_arguments: the block would lose its id `^id` with this content
        end `content` with `^id` where it belongs, on a line of its own after code"#]],
    );
}

const BLOCKS: &str = "\
# A
First text
second line ^para

- [ ] one ^one
  - child
- two

> quoted
> more ^quote

| a |
|---|
| b |

^table

Alone
^own
";

#[test]
fn a_block_gets_new_text_and_keeps_its_id() {
    check(
        "a\n\nb c ^id\n\nd",
        &block("id", SectionMode::Replace, "new\nlines\n"),
        expect!["a\n\nnew\nlines ^id\n\nd"],
    );
    check("a\n\nb c ^id", &block("^id", SectionMode::Replace, "new ^id"), expect!["a\n\nnew ^id"]);
    check(
        BLOCKS,
        &block("one", SectionMode::Replace, "done"),
        expect![[r#"
        # A
        First text
        second line ^para

        - [ ] done ^one
          - child
        - two

        > quoted
        > more ^quote

        | a |
        |---|
        | b |

        ^table

        Alone
        ^own
    "#]],
    );
    check(
        BLOCKS,
        &block("one", SectionMode::Replace, "- [x] done\nwell"),
        expect![[r#"
        # A
        First text
        second line ^para

        - [x] done
        well ^one
          - child
        - two

        > quoted
        > more ^quote

        | a |
        |---|
        | b |

        ^table

        Alone
        ^own
    "#]],
    );
}

#[test]
fn quotes_tables_and_ids_on_their_own_line_keep_their_form() {
    check(
        BLOCKS,
        &block("quote", SectionMode::Replace, "new\nquote"),
        expect![[r#"
        # A
        First text
        second line ^para

        - [ ] one ^one
          - child
        - two

        > new
        > quote ^quote

        | a |
        |---|
        | b |

        ^table

        Alone
        ^own
    "#]],
    );
    check(
        BLOCKS,
        &block("table", SectionMode::Replace, "- now\n- a list"),
        expect![[r#"
        # A
        First text
        second line ^para

        - [ ] one ^one
          - child
        - two

        > quoted
        > more ^quote

        - now
        - a list

        ^table

        Alone
        ^own
    "#]],
    );
    check(
        BLOCKS,
        &block("own", SectionMode::Replace, "Together"),
        expect![[r#"
        # A
        First text
        second line ^para

        - [ ] one ^one
          - child
        - two

        > quoted
        > more ^quote

        | a |
        |---|
        | b |

        ^table

        Together
        ^own
    "#]],
    );
}

#[test]
fn content_beside_a_block_is_a_block_of_its_own() {
    check("a ^id\n\nb", &block("id", SectionMode::Append, "new\n"), expect!["a ^id\n\nnew\n\nb"]);
    check("a ^id\n# B\n", &block("id", SectionMode::Append, "new\n"), expect!["a ^id\n\nnew\n# B\n"]);
    check("a ^id", &block("id", SectionMode::Prepend, "new\n"), expect!["new\n\na ^id"]);
    check(
        "| a |\n|---|\n^id\n\nb",
        &block("id", SectionMode::Append, "new"),
        expect![[r#"
            invalid_arguments: the id marks a table, and `content` would not be a part of it
            give rows such as `| a | b |`, without empty lines; to add something below it, use `vault.replaceText`"#]],
    );
    check(
        "- x\n  - one ^one\n    - child\n  - two\n",
        &block("one", SectionMode::Append, "- new\n  more"),
        expect!["- x\n  - one ^one\n    - child\n  - new\n    more\n  - two\n"],
    );
    check(
        "- x\n  - one ^one\n  - two\n",
        &block("one", SectionMode::Prepend, "- new"),
        expect!["- x\n  - new\n  - one ^one\n  - two\n"],
    );
    check(
        BLOCKS,
        &block("one", SectionMode::Append, "text"),
        expect![[r#"
        invalid_arguments: the block `^one` is a list item, but `content` is not
        begin `content` with a marker such as `- `"#]],
    );
    check(
        BLOCKS,
        &block("quote", SectionMode::Append, "text"),
        expect![[r#"
            # A
            First text
            second line ^para

            - [ ] one ^one
              - child
            - two

            > quoted
            > more
            > text ^quote

            | a |
            |---|
            | b |

            ^table

            Alone
            ^own
        "#]],
    );
}

#[test]
fn an_id_is_found_once_or_not_at_all() {
    check(
        "a ^x\n\nb ^x\n",
        &block("x", SectionMode::Replace, "c"),
        expect![[r#"
        conflict: the id `^x` occurs twice (lines 1 and 3)
        rename one of the two ids"#]],
    );
    check(
        "a ^task\n\n`b ^tasks`\n",
        &block("tasks", SectionMode::Replace, "c"),
        expect![[r#"
        not_found: no block has the id `^tasks`
        the nearest id is `^task`"#]],
    );
    check(
        "^x\n",
        &block("x", SectionMode::Replace, "c"),
        expect![[r#"
        precondition_failed: the id `^x` is on a line of its own, and there is no block above it that it could belong to
        put the id at the end of the block's last line"#]],
    );
    check(
        "a ^x\n",
        &block("x", SectionMode::Replace, "```\ncode\n```"),
        expect![[r#"
        invalid_arguments: the block would lose its id `^x` with this content
        end `content` with `^x` where it belongs, on a line of its own after code"#]],
    );
    check(
        "a ^x\n",
        &block("x", SectionMode::Append, "b ^x"),
        expect![[r#"
        invalid_arguments: `content` has the id `^x` as well
        leave the id out of `content`"#]],
    );
    check(
        "a ^x\n",
        &block("x", SectionMode::Replace, ""),
        expect![[r#"
        invalid_arguments: `content` is empty
        give the text of the block; to take the block away use `vault.replaceText`"#]],
    );
}

/// One piece of a note. Headings are numbered later, so that each has a unique path.
fn piece() -> impl Strategy<Value = &'static str> {
    select(vec![
        "# H",
        "## H",
        "### H",
        "H\n===",
        "text",
        "text\nmore text",
        "- item\n- item\n  - child",
        "```\n# no\n```",
        "> quote\n> # no",
        "| a |\n|---|\n| é |",
        "%%\n# no\n%%",
        "",
    ])
}

fn note() -> impl Strategy<Value = String> {
    (proptest::collection::vec((piece(), any::<bool>()), 1..10), any::<bool>(), any::<bool>()).prop_map(
        |(pieces, crlf, ended)| {
            let mut note = String::new();
            for (n, (piece, apart)) in pieces.into_iter().enumerate() {
                note.push_str(&piece.replace('H', &format!("H{n}")));
                note.push_str(if apart { "\n\n" } else { "\n" });
            }
            let note = if ended { note } else { note.trim_end().to_owned() };
            if crlf { note.replace('\n', "\r\n") } else { note }
        },
    )
}

fn mode() -> impl Strategy<Value = SectionMode> {
    select(vec![SectionMode::Replace, SectionMode::Append, SectionMode::Prepend])
}

proptest! {
    #[test]
    fn only_the_named_section_changes(
        note in note(), mode in mode(), whole in any::<bool>(), pick in 0..10_usize,
        content in select(vec!["new", "- a\n- b\n", "\npara\n\n", "#### deep\n", "```\nx\n```"]),
    ) {
        let outline = super::outline(&note);
        let Some(target) = outline.headings.get(pick) else { return Ok(()) };
        let mut path: Vec<String> = Vec::new();
        let mut level = 7;
        for heading in outline.headings[..=pick].iter().rev() {
            if heading.level < level {
                level = heading.level;
                path.insert(0, heading.text.clone());
            }
        }
        let patch = SectionPatch {
            target: SectionTarget::Heading(path), mode, content: content.to_owned(), include_subsections: whole,
        };
        let Ok(patched) = patch_section(&note, &patch) else { return Ok(()) };
        let end = outline.headings[pick + 1..]
            .iter()
            .find(|next| !whole || next.level <= target.level)
            .map_or(note.len(), |next| next.lines.start);
        prop_assert!(patched.text.starts_with(&note[..target.lines.end]), "{}", patched.text);
        prop_assert!(patched.text.ends_with(&note[end..]), "{}", patched.text);
        prop_assert_eq!(&patched.text[..patched.range.start], &note[..patched.range.start]);
        let kept = note.len() - patched.bytes_removed - patched.range.start;
        prop_assert_eq!(&patched.text[patched.range.end..], &note[note.len() - kept..]);
        prop_assert_eq!(patched.text.ends_with('\n'), note.ends_with('\n'));
        if note.contains("\r\n") && !note.replace("\r\n", "").contains('\n') && note.matches('\n').count() > 0 {
            prop_assert!(!patched.text.replace("\r\n", "").contains('\n'));
        }
    }

    #[test]
    fn any_text_is_answered_without_a_crash(
        note in "([a-c#>*`~|^%: \t\r\n\\-\\[\\]<!é😀0-2]|\n# |\n- | \\^a|```|%%){0,40}",
        content in "([a-c#>`|^% \r\n\\-é]|\n# ){0,12}",
        mode in mode(),
        whole in any::<bool>(),
    ) {
        let outline = super::outline(&note);
        for heading in &outline.headings {
            let target = SectionTarget::Heading(vec![heading.text.clone()]);
            let _answer = patch_section(
                &note,
                &SectionPatch { target, mode, content: content.clone(), include_subsections: whole },
            );
        }
        for id in ["a", "b"] {
            let _answer = patch_section(&note, &block(id, mode, &content));
        }
    }
}

#[test]
fn an_outline_lists_what_can_be_patched_with_its_line() {
    let note = "---\na: 1\n---\n# A *b*\ntext ^one\n\nC\n---\n### Deep\n- item ^two\n\n```\n# code ^no\n```\n\n^three\n# A *b*\n";
    let (headings, blocks) = super::headings_and_blocks(note);
    let headings: Vec<String> =
        headings.iter().map(|at| format!("{} {} {:?}", at.line, at.level, at.path)).collect();
    expect![[r#"
        4 1 ["A *b*"]
        7 2 ["A *b*", "C"]
        9 3 ["A *b*", "C", "Deep"]
        17 1 ["A *b*"]"#]]
    .assert_eq(&headings.join("\n"));
    let ids: Vec<String> = blocks.iter().map(|block| format!("{} {}", block.line, block.id)).collect();
    assert_eq!(ids, ["5 one", "10 two", "16 three"]);
    for named in &blocks {
        patch_section(note, &block(&named.id, SectionMode::Replace, "x")).unwrap();
    }
}
