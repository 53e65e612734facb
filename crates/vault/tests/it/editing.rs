//! Tools that edit a part of a file: JSON in, JSON out, and the bytes on disk.

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use crate::proofs::call_runner::CallRunner;
use crate::write_fixture::{WriteFixture, put, with};
use expect_test::expect;
use serde_json::{Value, json};

const PATCH: &str = "vault.patchFile";
const REPLACE: &str = "vault.replaceText";
const PROPERTIES: &str = "vault.updateFrontmatter";
const SECTION: &str = "vault.patchSection";

const NOTE: &str =
    "---\nstatus: open # keep\ntags: [a]\n---\n# Plan\n\nBuy milk.\n\n## Next\n\n- one ^item\n";

/// Returns the byte range of the word that the calls replace.
fn milk(note: &str) -> (usize, usize) {
    let start = note.find("milk").unwrap();
    (start, start + 4)
}

/// One call of each tool that changes `Note.md` with the content `note`.
fn one_of_each(note: &str) -> [(&'static str, Value); 4] {
    let (start, end) = milk(note);
    [
        (
            PATCH,
            json!({"path": "Note.md", "patch": {"replaceRange": {"start": start, "end": end, "text": "soap"}}}),
        ),
        (REPLACE, json!({"path": "Note.md", "find": "milk", "replace": "soap"})),
        (PROPERTIES, json!({"path": "Note.md", "set": {"status": "done"}})),
        (
            SECTION,
            json!({"path": "Note.md", "heading": ["Plan", "Next"], "mode": "append", "content": "- two"}),
        ),
    ]
}

fn patch(patch: Value) -> Value {
    json!({"path": "a.txt", "patch": patch})
}

// Conformance: tool 2.8
//     `vault.patchFile` replaces a range or applies operations, all or none, and refuses those that overlap;
//     positions are bytes.
//     In: vault/files/patch_file.rs
#[tokio::test]
async fn a_part_of_a_file_is_replaced_by_its_position() {
    let fixture = WriteFixture::new(&[("a.txt", "né milk\n")]);
    fixture
        .check(PATCH, patch(json!({"replaceRange": {"start": 4, "end": 8, "text": "soap"}})), expect![[r#"
            Patch a.txt at one place
            Patched a.txt (+4 -4 bytes) (etag 1b32fcc46e900aee9721a7b3f521a8d9)
            {"path":"a.txt","etag":"1b32fcc46e900aee9721a7b3f521a8d9","applied":true,"bytesAdded":4,"bytesRemoved":4}
            {"sideEffectsObserved":["modify-file"],"modified":[{"path":"a.txt","kind":"file","beforeEtag":"8e0bf9a3a2b68c5d235903b3b6a8021d","afterEtag":"1b32fcc46e900aee9721a7b3f521a8d9"}]}
        "#]])
        .await;
    assert_eq!(fixture.text("a.txt"), "né soap\n");
}

// Conformance: tool 2.8
#[tokio::test]
async fn operations_are_made_together() {
    let fixture = WriteFixture::new(&[("a.txt", "0123456789")]);
    let operations = json!({"operations": [
        {"op": "replace", "start": 8, "end": 10, "text": "end"},
        {"op": "delete", "start": 0, "end": 2},
        {"op": "insert", "at": 5, "text": "<>"},
    ]});
    fixture.check(PATCH, patch(operations), expect![[r#"
        Patch a.txt at 3 places
        Patched a.txt (+5 -4 bytes) (etag 20a439fafefc2f6d80958a507ead1a6e)
        {"path":"a.txt","etag":"20a439fafefc2f6d80958a507ead1a6e","applied":true,"bytesAdded":5,"bytesRemoved":4}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"a.txt","kind":"file","beforeEtag":"53b63a6fc8605d0c0ce559317a00177d","afterEtag":"20a439fafefc2f6d80958a507ead1a6e"}]}
    "#]]).await;
    assert_eq!(fixture.text("a.txt"), "234<>567end");
}

// Conformance: tool 2.8
#[tokio::test]
async fn a_patch_that_does_not_fit_is_refused() {
    let fixture = WriteFixture::new(&[("a.txt", "né milk\n")]);
    let range = |start: u64, end: u64| json!({"replaceRange": {"start": start, "end": end, "text": "x"}});
    let mut shown = String::new();
    for refused in [
        json!({}),
        json!({"replaceRange": {"start": 0, "end": 0, "text": ""}, "operations": [{"op": "insert", "at": 0, "text": ""}]}),
        range(3, 2),
        range(0, 99),
        range(2, 4),
        json!({"operations": [{"op": "delete", "start": 0, "end": 4}, {"op": "insert", "at": 1, "text": "x"}]}),
    ] {
        shown.push_str(&fixture.call(PATCH, patch(refused)).await);
    }
    expect![[r#"
        VALIDATION_ERROR: `patch` has neither `replaceRange` nor `operations`; give `replaceRange` for one change, or `operations` for several
        VALIDATION_ERROR: `patch` has both `replaceRange` and `operations`; give `replaceRange` for one change, or `operations` for several
        VALIDATION_ERROR: in `a.txt`: operation 0 starts at byte 3 and ends before that, at 2; give `start` and `end` in bytes with start <= end
        VALIDATION_ERROR: in `a.txt`: operation 0 names byte 99, and the file has 9 bytes; read the file again: positions are bytes of the file before the patch
        VALIDATION_ERROR: in `a.txt`: operation 0 names byte 2, which is inside the character `é`; the nearest positions between characters are 1 and 3
        VALIDATION_ERROR: in `a.txt`: operation 0 (bytes 0 to 4) and operation 1 (bytes 1 to 1) overlap; positions mean the file before the patch; join the two operations into one
    "#]].assert_eq(&shown);
}

// Conformance: tool 2.9
//     `vault.replaceText` replaces what it finds exactly once, unless told otherwise.
//     In: vault/files/replace_text.rs
#[tokio::test]
async fn text_is_replaced_where_it_stands() {
    let fixture = WriteFixture::new(&[("a.md", "one two\r\ntwo three\r\n")]);
    let args = json!({"path": "a.md", "find": "one two\ntwo", "replace": "1\n2"});
    fixture.check(REPLACE, args, expect![[r#"
        Replace "one two\ntwo" by "1\n2" in a.md
        Replaced text at one place in a.md (etag a52bf2cada0b018791bec4ee451dda2d)
        {"path":"a.md","etag":"a52bf2cada0b018791bec4ee451dda2d","replaced":1}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"a.md","kind":"file","beforeEtag":"52cc3d38ef9f275e495ff66a6af38d0e","afterEtag":"a52bf2cada0b018791bec4ee451dda2d"}]}
    "#]]).await;
    assert_eq!(fixture.text("a.md"), "1\r\n2 three\r\n");
    fixture.check(REPLACE, json!({"path": "a.md", "find": " three", "replace": ""}), expect![[r#"
        Remove " three" from a.md
        Replaced text at one place in a.md (etag f233daf6473c85d96ed08d299566373c)
        {"path":"a.md","etag":"f233daf6473c85d96ed08d299566373c","replaced":1}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"a.md","kind":"file","beforeEtag":"a52bf2cada0b018791bec4ee451dda2d","afterEtag":"f233daf6473c85d96ed08d299566373c"}]}
    "#]]).await;
    assert_eq!(fixture.text("a.md"), "1\r\n2\r\n");
}

// Conformance: tool 2.9
#[tokio::test]
async fn several_places_are_replaced_when_told_so() {
    let fixture = WriteFixture::new(&[("a.md", "x x\nx\n")]);
    let args = json!({"path": "a.md", "find": "x", "replace": "yy"});
    let mut shown = String::new();
    for more in [json!({}), json!({"expectedMatches": 2}), json!({"expectedMatches": 3, "all": true})] {
        shown.push_str(&fixture.call(REPLACE, with(&args, more)).await);
    }
    shown.push_str(&fixture.call(REPLACE, with(&args, json!({"expectedMatches": 3}))).await);
    let args = json!({"path": "a.md", "find": "y", "replace": "z", "all": true});
    shown.push_str(&fixture.call(REPLACE, args).await);
    shown.push_str(
        &fixture.call(REPLACE, json!({"path": "a.md", "find": "gone", "replace": "", "all": true})).await,
    );
    expect![[r#"
        CONFLICT: in `a.md`: `find` occurs in 3 places (lines 1, 1, 2), and 1 was expected; quote more of the surrounding text, or give the number of matches that you expect
        CONFLICT: in `a.md`: `find` occurs in 3 places (lines 1, 1, 2), and 2 was expected; quote more of the surrounding text, or give the number of matches that you expect
        VALIDATION_ERROR: `all` and `expectedMatches` exclude each other; leave out `all` to replace exactly that many, or leave out `expectedMatches`
        Replace "x" by "yy" in a.md
        Replaced text at 3 places in a.md (etag 01ef5b1dc20f6722f79cadf0c6ca4f0b)
        {"path":"a.md","etag":"01ef5b1dc20f6722f79cadf0c6ca4f0b","replaced":3}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"a.md","kind":"file","beforeEtag":"da08b8f985dcd099b73252f1ae1d9b5c","afterEtag":"01ef5b1dc20f6722f79cadf0c6ca4f0b"}]}
        Replace "y" by "z" everywhere in a.md
        Replaced text at 6 places in a.md (etag fcc6daab4634ff4148ba67af8d7f3087)
        {"path":"a.md","etag":"fcc6daab4634ff4148ba67af8d7f3087","replaced":6}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"a.md","kind":"file","beforeEtag":"01ef5b1dc20f6722f79cadf0c6ca4f0b","afterEtag":"fcc6daab4634ff4148ba67af8d7f3087"}]}
        NOT_FOUND: in `a.md`: the file does not have the text of `find`; read the file again and quote the text exactly
    "#]].assert_eq(&shown);
    assert_eq!(fixture.text("a.md"), "zz zz\nzz\n");
}

// Conformance: tool 2.10
//     `vault.updateFrontmatter` changes properties and no byte beside them, or refuses.
//     In: notes/frontmatter.rs
#[tokio::test]
async fn properties_change_and_everything_else_stays() {
    let fixture = WriteFixture::new(&[("Note.md", NOTE)]);
    let args = json!({
        "path": "Note.md",
        "set": {"status": "done", "due": "2026-01-02"},
        "remove": ["nothing"],
        "append": {"tags": ["a", "b"], "Links": "[[Other]]"},
    });
    fixture.check(PROPERTIES, args, expect![[r#"
        Update properties of Note.md: set status, due; remove nothing; append to tags, Links
        Updated properties of Note.md: added due, Links; changed status, tags (etag 7b4280794dfb72bdac6b2e67cb909d95)
        {"path":"Note.md","etag":"7b4280794dfb72bdac6b2e67cb909d95","added":["due","Links"],"changed":["status","tags"],"removed":[],"unchanged":["nothing"]}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"Note.md","kind":"file","beforeEtag":"71fca060129ecda96e7637336e513297","afterEtag":"7b4280794dfb72bdac6b2e67cb909d95"}]}
    "#]]).await;
    expect![[r#"
        ---
        status: done # keep
        tags: [a, b]
        due: 2026-01-02
        Links:
          - "[[Other]]"
        ---
        # Plan

        Buy milk.

        ## Next

        - one ^item
    "#]]
    .assert_eq(&fixture.text("Note.md"));
    fixture.check(PROPERTIES, json!({"path": "Note.md", "remove": ["due", "Links"]}), expect![[r#"
        Update properties of Note.md: remove due, Links
        Updated properties of Note.md: removed due, Links (etag df399ffb109418ff4d3211bea8882ce8)
        {"path":"Note.md","etag":"df399ffb109418ff4d3211bea8882ce8","added":[],"changed":[],"removed":["due","Links"],"unchanged":[]}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"Note.md","kind":"file","beforeEtag":"7b4280794dfb72bdac6b2e67cb909d95","afterEtag":"df399ffb109418ff4d3211bea8882ce8"}]}
    "#]]).await;
}

#[tokio::test]
async fn a_note_without_properties_gets_them_and_loses_them() {
    let fixture = WriteFixture::new(&[("Note.md", "\u{feff}text\r\n")]);
    fixture.check(PROPERTIES, json!({"path": "Note.md", "append": {"tags": "a"}}), expect![[r#"
        Update properties of Note.md: append to tags
        Updated properties of Note.md: added tags (etag bf96b920e986361e3fa78b7570784e84)
        {"path":"Note.md","etag":"bf96b920e986361e3fa78b7570784e84","added":["tags"],"changed":[],"removed":[],"unchanged":[]}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"Note.md","kind":"file","beforeEtag":"1f32a2f98e206355b92d43600d5339e7","afterEtag":"bf96b920e986361e3fa78b7570784e84"}]}
    "#]]).await;
    assert_eq!(fixture.text("Note.md"), "\u{feff}---\r\ntags:\r\n  - a\r\n---\r\ntext\r\n");
    fixture.check(PROPERTIES, json!({"path": "Note.md", "remove": ["tags"]}), expect![[r#"
        Update properties of Note.md: remove tags
        Updated properties of Note.md: removed tags (etag 1f32a2f98e206355b92d43600d5339e7)
        {"path":"Note.md","etag":"1f32a2f98e206355b92d43600d5339e7","added":[],"changed":[],"removed":["tags"],"unchanged":[]}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"Note.md","kind":"file","beforeEtag":"bf96b920e986361e3fa78b7570784e84","afterEtag":"1f32a2f98e206355b92d43600d5339e7"}]}
    "#]]).await;
    assert_eq!(fixture.text("Note.md"), "\u{feff}text\r\n");
}

// Conformance: tool 2.10
#[tokio::test]
async fn properties_that_cannot_be_changed_exactly_are_left_alone() {
    let fixture = WriteFixture::new(&[
        ("Note.md", "---\nA: 1\nlist: {a: 1}\n---\n"),
        ("broken.md", "---\na: [1\nb: 2\n---\n"),
        ("board.canvas", "{}"),
    ]);
    let mut shown = String::new();
    for args in [
        json!({"path": "Note.md"}),
        json!({"path": "Note.md", "set": {}, "remove": []}),
        json!({"path": "Note.md", "set": {"A": 1}, "remove": ["A"]}),
        json!({"path": "Note.md", "set": {"A": 1}, "append": {"a": 1}}),
        json!({"path": "Note.md", "set": {" ": 1}}),
        json!({"path": "Note.md", "append": {"list": 1}}),
        json!({"path": "broken.md", "set": {"b": 3}}),
        json!({"path": "board.canvas", "set": {"b": 3}}),
    ] {
        shown.push_str(&fixture.call(PROPERTIES, args).await);
    }
    expect![[r#"
        VALIDATION_ERROR: no property is named; give `set`, `remove` or `append`
        VALIDATION_ERROR: no property is named; give `set`, `remove` or `append`
        VALIDATION_ERROR: the property `A` is named twice; name each property once in `set`, `remove` or `append`
        VALIDATION_ERROR: in `Note.md`: `a` is named twice; name each property once; upper and lower case make no difference
        VALIDATION_ERROR: in `Note.md`: a property has no name; give it a name
        PRECONDITION_FAILED: in `Note.md`: the property `list` is not a list, so nothing can be appended to it; set the property to the whole list instead
        PRECONDITION_FAILED: in `broken.md`: the frontmatter cannot be edited: line 3: illegal placement of ':' indicator; fix that line of the frontmatter, then try again
        PRECONDITION_FAILED: `board.canvas` is not a Markdown note; name a file that ends in `.md`; other text can be changed with `vault.replaceText`
    "#]].assert_eq(&shown);
}

// Conformance: tool 2.11
//     `vault.patchSection` changes the section under a full heading path, or a block by its id, and never guesses.
//     In: notes/section.rs
#[tokio::test]
async fn a_section_is_replaced_and_extended() {
    let fixture = WriteFixture::new(&[("Note.md", NOTE)]);
    let plan = json!({"path": "Note.md", "heading": ["Plan"], "mode": "replace", "content": "Buy soap.\n"});
    fixture.check(SECTION, plan.clone(), expect![[r#"
        Replace the section "Plan" of Note.md
        Patched Note.md at line 7 (etag a166e645077375565c60222037fdec6e)
        {"path":"Note.md","etag":"a166e645077375565c60222037fdec6e","applied":true,"line":7,"start":46,"end":56,"bytesRemoved":10}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"Note.md","kind":"file","beforeEtag":"71fca060129ecda96e7637336e513297","afterEtag":"a166e645077375565c60222037fdec6e"}]}
    "#]]).await;
    let next =
        json!({"path": "Note.md", "heading": ["Plan", "Next"], "mode": "prepend", "content": "- zero"});
    fixture.check(SECTION, next, expect![[r#"
        Prepend to the section "Plan > Next" of Note.md
        Patched Note.md at line 11 (etag c845c80a5908e58f2c88f21be8c02361)
        {"path":"Note.md","etag":"c845c80a5908e58f2c88f21be8c02361","applied":true,"line":11,"start":66,"end":73,"bytesRemoved":0}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"Note.md","kind":"file","beforeEtag":"a166e645077375565c60222037fdec6e","afterEtag":"c845c80a5908e58f2c88f21be8c02361"}]}
    "#]]).await;
    let item = json!({"path": "Note.md", "block": "^item", "mode": "replace", "content": "uno"});
    fixture.check(SECTION, item, expect![[r#"
        Replace the block ^item of Note.md
        Patched Note.md at line 12 (etag ddfa7fcb2a666f0f2924430f9e434ffd)
        {"path":"Note.md","etag":"ddfa7fcb2a666f0f2924430f9e434ffd","applied":true,"line":12,"start":75,"end":78,"bytesRemoved":3}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"Note.md","kind":"file","beforeEtag":"c845c80a5908e58f2c88f21be8c02361","afterEtag":"ddfa7fcb2a666f0f2924430f9e434ffd"}]}
    "#]]).await;
    expect![[r#"
        ---
        status: open # keep
        tags: [a]
        ---
        # Plan

        Buy soap.

        ## Next

        - zero
        - uno ^item
    "#]]
    .assert_eq(&fixture.text("Note.md"));
    let whole = with(&plan, json!({"includeSubsections": true, "content": ""}));
    fixture.check(SECTION, whole, expect![[r#"
        Replace the section "Plan" of Note.md
        Patched Note.md at line 6 (etag fefcf6bbdb5486fef34e9c50fbd45014)
        {"path":"Note.md","etag":"fefcf6bbdb5486fef34e9c50fbd45014","applied":true,"line":6,"start":45,"end":45,"bytesRemoved":40}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"Note.md","kind":"file","beforeEtag":"ddfa7fcb2a666f0f2924430f9e434ffd","afterEtag":"fefcf6bbdb5486fef34e9c50fbd45014"}]}
    "#]]).await;
    expect![[r#"
        ---
        status: open # keep
        tags: [a]
        ---
        # Plan
    "#]]
    .assert_eq(&fixture.text("Note.md"));
}

#[tokio::test]
async fn the_line_of_a_section_is_that_of_its_new_text() {
    let fixture = WriteFixture::new(&[("Note.md", "# Plan")]);
    let args = json!({"path": "Note.md", "heading": ["Plan"], "mode": "append", "content": "Buy soap."});
    fixture.check(SECTION, args, expect![[r#"
        Append to the section "Plan" of Note.md
        Patched Note.md at line 2 (etag c0f9528142b100416b223080a817228c)
        {"path":"Note.md","etag":"c0f9528142b100416b223080a817228c","applied":true,"line":2,"start":6,"end":16,"bytesRemoved":0}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"Note.md","kind":"file","beforeEtag":"e7613b8d2fd7488113f1a343c5ca99a9","afterEtag":"c0f9528142b100416b223080a817228c"}]}
    "#]]).await;
    assert_eq!(fixture.text("Note.md"), "# Plan\nBuy soap.");
}

// Conformance: tool 2.11
#[tokio::test]
async fn a_section_that_is_not_clear_is_left_alone() {
    let fixture = WriteFixture::new(&[("Note.md", NOTE), ("twice.md", "# A\n\n# A\n"), ("a.txt", "# A\n")]);
    let section = |more: Value| with(&json!({"path": "Note.md", "mode": "replace", "content": "x"}), more);
    let mut shown = String::new();
    for more in [
        json!({}),
        json!({"heading": ["Plan"], "block": "item"}),
        json!({"block": "item", "includeSubsections": true}),
        json!({"heading": ["Nowhere"]}),
        json!({"heading": ["Plan", "Nxet"]}),
        json!({"heading": ["Plan", " "]}),
        json!({"block": "itm"}),
        json!({"path": "twice.md", "heading": ["A"]}),
        json!({"path": "a.txt", "heading": ["A"]}),
        json!({"heading": ["Plan"], "content": "# Other"}),
        json!({"heading": ["Plan"], "content": "", "mode": "append"}),
        json!({"heading": ["Plan"], "content": "```\nopen"}),
    ] {
        shown.push_str(&fixture.call(SECTION, section(more)).await);
    }
    expect![[r#"
        VALIDATION_ERROR: neither `heading` nor `block` is given; give `heading` for a section, or `block` for a block with an id
        VALIDATION_ERROR: `heading` and `block` are both given; give one of the two
        VALIDATION_ERROR: a block has no subsections; leave out `includeSubsections`
        NOT_FOUND: in `Note.md`: no heading is `Nowhere`; read the note for its headings
        NOT_FOUND: in `Note.md`: no heading is `Plan` > `Nxet`; the nearest heading is `Next`
        VALIDATION_ERROR: in `Note.md`: the heading path is empty or has an empty part; give the texts of the headings from the top of the note down
        NOT_FOUND: in `Note.md`: no block has the id `^itm`; the nearest id is `^item`
        CONFLICT: in `twice.md`: 2 headings are `A` (lines 1, 3); give the full path from the top of the note down; where that is the same, rename one of them, or change the text by `vault.replaceText`
        PRECONDITION_FAILED: `a.txt` is not a Markdown note; name a file that ends in `.md`; other text can be changed with `vault.replaceText`
        VALIDATION_ERROR: in `Note.md`: `content` has the heading `Other`, which would end the section; leave the section's own heading out, and give subsections a deeper level
        VALIDATION_ERROR: in `Note.md`: `content` is empty, so there is nothing to add; give the text to add, or use the mode `replace` to empty the section
        VALIDATION_ERROR: in `Note.md`: with this content, headings outside of the place that is changed would change as well; close every code block and comment in `content`; begin it with an empty line where it must not join the text before it
    "#]].assert_eq(&shown);
}

#[tokio::test]
async fn an_edit_that_changes_nothing_writes_nothing_and_says_so() {
    let fixture = WriteFixture::new(&[("Note.md", NOTE)]);
    let inode = || std::fs::metadata(fixture.folder.path().join("Note.md")).unwrap().ino();
    let (before, (start, end)) = (inode(), milk(NOTE));
    let mut shown = String::new();
    for (tool, args) in [
        (
            PATCH,
            json!({"path": "Note.md", "patch": {"replaceRange": {"start": start, "end": end, "text": "milk"}}}),
        ),
        (REPLACE, json!({"path": "Note.md", "find": "milk", "replace": "milk"})),
        (PROPERTIES, json!({"path": "Note.md", "set": {"status": "open"}, "append": {"tags": "a"}})),
        (SECTION, json!({"path": "Note.md", "heading": ["Plan"], "mode": "replace", "content": "Buy milk."})),
    ] {
        shown.push_str(&fixture.call(tool, args.clone()).await);
        assert_eq!(inode(), before, "{tool}");
        // Whether it happened cannot be determined and does not matter: repeating it is harmless.
        assert!(
            fixture.reconciled(tool, args, "other.md").await.starts_with("did not happen\ndid not happen\n")
        );
    }
    expect![[r#"
        Patch Note.md at one place
        Left Note.md as it is: the patch changes nothing (etag 71fca060129ecda96e7637336e513297)
        {"path":"Note.md","etag":"71fca060129ecda96e7637336e513297","applied":false,"bytesAdded":0,"bytesRemoved":0}
        Replace "milk" by "milk" in Note.md
        Left Note.md as it is: the new text is the old one (etag 71fca060129ecda96e7637336e513297)
        {"path":"Note.md","etag":"71fca060129ecda96e7637336e513297","replaced":0}
        Update properties of Note.md: set status; append to tags
        Left Note.md as it is: the properties already are as asked (etag 71fca060129ecda96e7637336e513297)
        {"path":"Note.md","etag":"71fca060129ecda96e7637336e513297","added":[],"changed":[],"removed":[],"unchanged":["status","tags"]}
        Replace the section "Plan" of Note.md
        Left Note.md as it is: it already has that content (etag 71fca060129ecda96e7637336e513297)
        {"path":"Note.md","etag":"71fca060129ecda96e7637336e513297","applied":false,"line":7,"start":46,"end":56,"bytesRemoved":0}
    "#]].assert_eq(&shown);
}

// Conformance: tool 1.2
//     `dryRun` on every tool that writes: it says what it would do and does nothing.
//     In: vault/files/write_tool.rs
#[tokio::test]
async fn a_dry_run_foretells_what_the_call_does() {
    for (tool, args) in one_of_each(NOTE) {
        let fixture = WriteFixture::new(&[("Note.md", NOTE)]);
        let data = |line: &str| serde_json::from_str::<Value>(line).unwrap();
        let foretold = fixture.call(tool, with(&args, json!({"dryRun": true}))).await;
        let [_, outcome, "Dry run: nothing was written.", foretold] =
            foretold.lines().collect::<Vec<_>>()[..]
        else {
            panic!("there are effects: {foretold}")
        };
        assert!(outcome.starts_with("Would "), "{outcome}");
        let done = fixture.call(tool, args).await;
        assert_eq!(data(foretold), with(&data(done.lines().nth(2).unwrap()), json!({"dryRun": true})));
    }
}

// Conformance: tool 1.8
#[tokio::test]
async fn what_the_caller_has_not_seen_is_not_changed() {
    for (tool, args) in one_of_each(NOTE) {
        let fixture = WriteFixture::new(&[("Note.md", NOTE)]);
        let etag = vault::etag_of(NOTE.as_bytes());
        let args = with(&args, json!({"expectedEtag": etag}));
        let done = fixture.call(tool, args.clone()).await;
        assert!(done.contains("modify-file") && done.contains(&etag), "{done}");
        assert_eq!(
            fixture.call(tool, args).await,
            "CONFLICT: `Note.md` has changed: it is not what was read; read the file again before you change it\n"
        );
    }
}

#[tokio::test]
async fn what_somebody_writes_meanwhile_is_not_lost() {
    for (tool, args) in one_of_each(NOTE) {
        let fixture = WriteFixture::new(&[("Note.md", NOTE)]);
        assert_eq!(
            fixture.overtaken(tool, args, "Note.md").await,
            "CONFLICT: `Note.md` has changed: it is not what was read; read the file again before you change it\n"
        );
    }
}

// Conformance: tool 1.10
//     Causes map to the standard codes: not there is NOT_FOUND, a missing precondition PRECONDITION_FAILED, a closed path POLICY_DENIED, another etag CONFLICT.
//     In: envelope/failure.rs
#[tokio::test]
async fn a_file_that_cannot_be_edited_is_refused() {
    let fixture = WriteFixture::new(&[("Folder/x.md", ""), (".obsidian/app.md", "")]);
    put(&fixture.folder.path().join("bytes.md"), b"\xff\xfe");
    std::os::unix::fs::symlink("nowhere.md", fixture.folder.path().join("dead.md")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", fixture.folder.path().join("out.md")).unwrap();
    let mut said = BTreeSet::new();
    for (tool, args) in one_of_each(NOTE) {
        let mut shown = String::new();
        for path in ["Note.md", "Folder", "bytes.md", "dead.md", "out.md", ".obsidian/app.md", "../x.md"] {
            shown.push_str(&fixture.call(tool, with(&args, json!({"path": path}))).await);
        }
        said.insert(shown);
    }
    assert_eq!(said.len(), 1, "all tools say the same: {said:#?}");
    expect![[r#"
        NOT_FOUND: `Note.md` does not exist; did you mean `out.md`?
        PRECONDITION_FAILED: `Folder` is a folder, not a file; list the folder, then name a file in it
        PRECONDITION_FAILED: `bytes.md` is not UTF-8 text; only text can be edited in part; overwrite the whole file instead
        NOT_FOUND: the link `dead.md` points at nothing; use a path without that link
        POLICY_DENIED: `out.md` leaves the vault through the link `out.md`; use a path that reaches its file without that link
        POLICY_DENIED: `.obsidian/app.md` lies in `.obsidian`, which belongs to another program or to Tollgate itself; use a path outside .obsidian, .git, .trash and .tollgate
        VALIDATION_ERROR: `../x.md` is not a path inside the vault: it contains `.` or `..`; name the folder itself; change the value that the message names
    "#]].assert_eq(said.first().unwrap());
}

#[tokio::test]
async fn mode_mark_and_line_endings_stay_and_a_second_name_keeps_the_old_text() {
    let note = format!("\u{feff}{}", NOTE.replace('\n', "\r\n"));
    for (tool, args) in one_of_each(&note) {
        let fixture = WriteFixture::new(&[("Note.md", &note)]);
        let at = |name: &str| fixture.folder.path().join(name);
        std::fs::set_permissions(at("Note.md"), std::fs::Permissions::from_mode(0o640)).unwrap();
        std::fs::hard_link(at("Note.md"), at("Second.md")).unwrap();
        fixture.call(tool, args).await;
        let edited = fixture.text("Note.md");
        assert_ne!(edited, note, "{tool}");
        assert_eq!(edited.matches('\n').count(), edited.matches("\r\n").count(), "{edited:?}");
        assert!(edited.starts_with('\u{feff}'), "{edited:?}");
        assert_eq!(std::fs::metadata(at("Note.md")).unwrap().mode() & 0o7777, 0o640);
        assert_eq!(fixture.text("Second.md"), note);
        assert_eq!(fixture.names(), ["Note.md", "Second.md"], "nothing hidden is left");
    }
}

#[tokio::test]
async fn a_link_is_edited_where_it_leads() {
    let fixture = WriteFixture::new(&[("Notes/Real.md", NOTE)]);
    std::os::unix::fs::symlink("Notes/Real.md", fixture.folder.path().join("Note.md")).unwrap();
    let [_, (tool, args), ..] = one_of_each(NOTE);
    fixture.check(tool, args, expect![[r#"
        Replace "milk" by "soap" in Note.md
        Replaced text at one place in Notes/Real.md (etag a166e645077375565c60222037fdec6e)
        {"path":"Notes/Real.md","etag":"a166e645077375565c60222037fdec6e","replaced":1}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"Notes/Real.md","kind":"file","beforeEtag":"71fca060129ecda96e7637336e513297","afterEtag":"a166e645077375565c60222037fdec6e"}]}
    "#]]).await;
    assert_eq!(fixture.tree()["Note.md"], "link to Notes/Real.md");
}

#[tokio::test]
async fn after_a_crash_the_file_tells_whether_it_was_edited() {
    let mut shown = String::new();
    for (tool, args) in one_of_each(NOTE) {
        let fixture = WriteFixture::new(&[("Note.md", NOTE)]);
        shown.push_str(&fixture.reconciled(tool, args, "Note.md").await);
    }
    let fixture = WriteFixture::new(&[("Note.md", NOTE)]);
    let all = json!({"path": "Note.md", "find": "milk", "replace": "soap", "all": true});
    shown.push_str(&fixture.reconciled(REPLACE, all, "Note.md").await);
    expect![[r#"
        did not happen
        happened: Patched Note.md {"path":"Note.md","etag":"a166e645077375565c60222037fdec6e","applied":true}
        unknown: what is there now is neither what was there before nor what it would have written
        did not happen
        happened: Replaced text at one place in Note.md {"path":"Note.md","etag":"a166e645077375565c60222037fdec6e","replaced":1}
        unknown: what is there now is neither what was there before nor what it would have written
        did not happen
        happened: Updated properties of Note.md {"path":"Note.md","etag":"cb8f474e171ea5b4c67826c3d4507127"}
        unknown: what is there now is neither what was there before nor what it would have written
        did not happen
        happened: Patched Note.md {"path":"Note.md","etag":"ba35c316df5fe1bbafd4b96dc32ed754","applied":true}
        unknown: what is there now is neither what was there before nor what it would have written
        did not happen
        happened: Replaced text in Note.md {"path":"Note.md","etag":"a166e645077375565c60222037fdec6e"}
        unknown: what is there now is neither what was there before nor what it would have written
    "#]].assert_eq(&shown);
}

#[tokio::test]
async fn bytes_are_written_and_appended_as_base64() {
    let fixture = WriteFixture::new(&[("a.txt", "text\r\n")]);
    let bytes = |path: &str| std::fs::read(fixture.folder.path().join(path)).unwrap();
    let create = json!({"path": "Files/a.png", "content": "iVBORw0KGgo=\n", "encoding": "base64"});
    fixture
        .check(
            "vault.createFile",
            with(&create, json!({"dryRun": true})),
            expect![[r#"
        Create Files/a.png (8 bytes)
        Would create Files/a.png (etag aaff1535a99cdd3d3e41e25ea6ef55c7)
        Dry run: nothing was written.
        {"path":"Files/a.png","created":true,"etag":"aaff1535a99cdd3d3e41e25ea6ef55c7","dryRun":true}
    "#]],
        )
        .await;
    fixture.check("vault.createFile", create.clone(), expect![[r#"
        Create Files/a.png (8 bytes)
        Created Files/a.png (etag aaff1535a99cdd3d3e41e25ea6ef55c7)
        {"path":"Files/a.png","created":true,"etag":"aaff1535a99cdd3d3e41e25ea6ef55c7"}
        {"sideEffectsObserved":["create-folder","create-file"],"created":[{"path":"Files","kind":"folder"},{"path":"Files/a.png","kind":"file"}]}
    "#]]).await;
    assert_eq!(bytes("Files/a.png"), b"\x89PNG\r\n\x1a\n");
    let append = json!({"path": "Files/a.png", "content": "AAr/", "encoding": "base64", "mode": "append"});
    fixture.check("vault.writeFile", append, expect![[r#"
        Append 3 bytes to Files/a.png
        Wrote Files/a.png (3 bytes) (etag 9b950902098d3f271eb7231b65bce431)
        {"path":"Files/a.png","etag":"9b950902098d3f271eb7231b65bce431","bytesWritten":3,"created":false}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"Files/a.png","kind":"file","beforeEtag":"aaff1535a99cdd3d3e41e25ea6ef55c7","afterEtag":"9b950902098d3f271eb7231b65bce431"}]}
    "#]]).await;
    assert_eq!(bytes("Files/a.png"), b"\x89PNG\r\n\x1a\n\0\n\xff", "no line ending is changed");
    fixture
        .check(
            "vault.writeFile",
            json!({"path": "a.txt", "content": "AP8=", "encoding": "base64"}),
            expect![[r#"
                Write a.txt (2 bytes)
                Wrote a.txt (2 bytes) (etag 1878e767f1a09c64a9e3b73ffc1af306)
                {"path":"a.txt","etag":"1878e767f1a09c64a9e3b73ffc1af306","bytesWritten":2,"created":false}
                {"sideEffectsObserved":["modify-file"],"modified":[{"path":"a.txt","kind":"file","beforeEtag":"1ab148ef8159d2daf70395cde23dd766","afterEtag":"1878e767f1a09c64a9e3b73ffc1af306"}]}
            "#]],
        )
        .await;
    assert_eq!(bytes("a.txt"), [0, 255]);
    for wrong in [
        json!({"path": "b.png", "content": "no base64", "encoding": "base64"}),
        json!({"path": "b.png", "content": "AP8=", "encoding": "base64", "frontmatter": {"a": 1}}),
    ] {
        let said = fixture.call("vault.createFile", wrong).await;
        assert!(said.starts_with("VALIDATION_ERROR: `"), "{said}");
    }
}

#[tokio::test]
async fn the_outline_of_a_note_names_what_can_be_patched() {
    let note = "---\na: 1\n---\n# Plan\n\ntext ^para\n\n## Next\n- one ^item\n\n$$\n# no\n$$\n";
    let fixture = WriteFixture::new(&[("a.md", note), ("empty.md", "")]);
    fixture.check("vault.getOutline", json!({"path": "a.md"}), expect![[r#"
        List the headings and block ids of a.md
        a.md has 2 headings and 2 block ids
        4: # Plan
        6: ^para
        8: ## Next
        9: ^item
        {"path":"a.md","etag":"b9a66cdab4f7418296328e528bf86e35","headings":[{"heading":["Plan"],"level":1,"line":4},{"heading":["Plan","Next"],"level":2,"line":8}],"blocks":[{"id":"para","line":6},{"id":"item","line":9}],"truncated":false}
    "#]]).await;
    fixture.check("vault.getOutline", json!({"path": "a.md", "limit": 2, "offset": 1}), expect![[r#"
        List the headings and block ids of a.md
        a.md has 1 headings and 1 block ids after the first 1, and there are more
        6: ^para
        8: ## Next
        … more: call again with offset 3
        {"path":"a.md","etag":"b9a66cdab4f7418296328e528bf86e35","headings":[{"heading":["Plan","Next"],"level":2,"line":8}],"blocks":[{"id":"para","line":6}],"truncated":true,"offset":1}
    "#]]).await;
    fixture.check("vault.getOutline", json!({"path": "empty.md"}), expect![[r#"
        List the headings and block ids of empty.md
        empty.md has 0 headings and 0 block ids
        {"path":"empty.md","etag":"af1349b9f5f9a1a6a0404dea36dcc949","headings":[],"blocks":[],"truncated":false}
    "#]]).await;
    fixture
        .check(
            "vault.getOutline",
            json!({"path": "b.md"}),
            expect![[r#"
        NOT_FOUND: `b.md` does not exist; did you mean `a.md`?
    "#]],
        )
        .await;
}

#[tokio::test]
async fn writing_the_content_that_is_there_is_no_change() {
    let fixture = WriteFixture::new(&[("a.md", "same\n")]);
    fixture.check("vault.writeFile", json!({"path": "a.md", "content": "same\n"}), expect![[r#"
        Write a.md (5 bytes)
        a.md already holds this (etag 8f5f79506d85d1a701be2cb38fdc2d10)
        {"path":"a.md","etag":"8f5f79506d85d1a701be2cb38fdc2d10","bytesWritten":0,"created":false,"unchanged":true}
    "#]]).await;
    fixture
        .check("vault.writeFile", json!({"path": "a.md", "content": "", "mode": "append"}), expect![[r#"
            Append 0 bytes to a.md
            a.md already holds this (etag 8f5f79506d85d1a701be2cb38fdc2d10)
            {"path":"a.md","etag":"8f5f79506d85d1a701be2cb38fdc2d10","bytesWritten":0,"created":false,"unchanged":true}
        "#]])
        .await;
    fixture
        .check(
            "vault.createFile",
            json!({"path": "a.md", "content": "same\n", "collisionStrategy": "overwrite"}),
            expect![[r#"
                Create or overwrite a.md (5 bytes)
                a.md already holds this (etag 8f5f79506d85d1a701be2cb38fdc2d10)
                {"path":"a.md","created":false,"etag":"8f5f79506d85d1a701be2cb38fdc2d10","unchanged":true}
            "#]],
        )
        .await;
}

#[test]
fn properties_that_are_json_become_yaml_and_an_undo_gives_the_json_back() {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let vault = folder.path().join("vault");
    std::fs::create_dir(&vault).unwrap();
    let (note, json) = (vault.join("a.md"), "---\n{\n\t\"b\": 1,\n\t\"a\": [\"x\"]\n}\n---\nText\n");
    put(&note, json.as_bytes());
    let runner = CallRunner::with_restore(&vault, &folder.path().join("store"));
    let update = |set: Value| runner.call("vault.updateFrontmatter", &json!({"path": "a.md", "set": set}));
    let text = || std::fs::read_to_string(&note).unwrap();
    let same = update(json!({"b": 1})).result.unwrap();
    assert_eq!((text().as_str(), &same.data["rewrittenAsYaml"]), (json, &Value::Null));
    let made = update(json!({"b": 2}));
    let said = made.result.unwrap();
    assert_eq!(said.canonical.summary_text, "Updated properties of a.md: changed b; wrote its JSON as YAML");
    assert_eq!(
        (text().as_str(), &said.data["rewrittenAsYaml"]),
        ("---\nb: 2\na:\n  - x\n---\nText\n", &json!(true))
    );
    let inverse: Vec<_> = made.changes.iter().map(envelope::VaultChange::inverse).collect();
    assert_eq!(runner.call("vault.restore", &json!({ "changes": inverse })).verdict(), "done");
    assert_eq!(text(), json);
}
