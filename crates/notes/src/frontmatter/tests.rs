//! Tests every frontmatter rule by example, and by random edits that all other bytes stay the same.

use envelope::Failure;
use expect_test::{Expect, expect};
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::select;
use serde_json::{Map, Value, json};

use super::{FrontmatterUpdate, UpdatedNote, update_frontmatter};

/// `{"set": …, "remove": …, "append": …}`
fn given(parts: &Value) -> FrontmatterUpdate {
    let map = |name: &str| parts.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
    let remove = parts.get("remove").and_then(Value::as_array).cloned().unwrap_or_default();
    FrontmatterUpdate {
        set: map("set"),
        remove: remove.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        append: map("append"),
    }
}

#[test]
fn placeholders_of_a_template_are_text_and_keep_their_bytes() {
    const TEMPLATE: &str = "---\ntitle: {{title}} # {{c}}\ndate: {{date:YYYY-MM-DD}} {{time}}\nquoted: \"{{a}}: 1\"\ntags:\n  - {{tag}}\n  - b\nlist: [{{x}}, y]\nblock: |\n  {{z}}: 1\n---\n{{content}}\n";
    let only = |parts: Value, from: &str, to: &str| {
        let updated = update_frontmatter(TEMPLATE, &given(&parts)).unwrap();
        assert_eq!(updated.text, TEMPLATE.replacen(from, to, 1), "{parts}");
    };
    only(json!({"set": {"title": "T"}}), "{{title}}", "T");
    only(json!({"set": {"quoted": "q"}}), "{{a}}: 1", "q");
    only(json!({"append": {"tags": ["{{tag}}", "c"]}}), "  - b\n", "  - b\n  - c\n");
    only(json!({"append": {"list": "z"}}), "y]", "y, z]");
    only(json!({"remove": ["date"]}), "date: {{date:YYYY-MM-DD}} {{time}}\n", "");
    only(json!({"set": {"title": "{{title}}"}}), "", "");
    check(
        "---\na: {{x}}\nb: {{y\n---\n",
        &json!({"set": {"a": 1}}),
        expect![[r#"
        precondition_failed: the frontmatter cannot be edited: line 2: a template placeholder such as `{{title}}` cannot be read here unless it is quoted
        fix that line of the frontmatter, then try again"#]],
    );
    check(
        "---\na: {{x}}\n  more\nb: 1\n---\n",
        &json!({"set": {"b": 2}}),
        expect![[r#"
        precondition_failed: the frontmatter cannot be edited: line 2: a template placeholder such as `{{title}}` cannot be read here unless it is quoted
        fix that line of the frontmatter, then try again"#]],
    );
}

#[test]
fn tags_in_one_text_become_a_list_when_something_is_appended() {
    let append = |note: &str, parts: Value, expected| check(note, &json!({ "append": parts }), expected);
    append(
        "---\ntags: a, b c # why\nx: 1\n---\n",
        json!({"tags": ["b", "d"]}),
        expect![[r#"
        ---
        tags: # why
          - a
          - b
          - c
          - d
        x: 1
        ---

        = changed: tags"#]],
    );
    append(
        "---\naliases: 'One of, 2024'\n---\n",
        json!({"aliases": "Two"}),
        expect![[r#"
        ---
        aliases:
          - One of
          - "2024"
          - Two
        ---

        = changed: aliases"#]],
    );
    append(
        "---\ntags: a, b\n---\n",
        json!({"tags": ["a"]}),
        expect![[r#"
        ---
        tags: a, b
        ---

        = unchanged: tags"#]],
    );
    append(
        "---\nother: a, b\n---\n",
        json!({"other": ["c"]}),
        expect![[r#"
        precondition_failed: the property `other` is not a list, so nothing can be appended to it
        set the property to the whole list instead"#]],
    );
    append(
        "---\ntags: {{a}}, b\n---\n",
        json!({"tags": ["c"]}),
        expect![[r#"
        precondition_failed: the property `tags` is not a list, so nothing can be appended to it
        set the property to the whole list instead"#]],
    );
    // A block that ends in three dots keeps its end.
    append(
        "---\ntags: a\n...\n# T\n",
        json!({"tags": ["c"]}),
        expect![[r#"
        ---
        tags:
          - a
          - c
        ...
        # T

        = changed: tags"#]],
    );
    append(
        "---\n{\"tags\": [\"a\"]}\n---\n",
        json!({"tags": ["c"]}),
        expect![[r#"
            ---
            tags:
              - a
              - c
            ---

            = changed: tags"#]],
    );
}

#[track_caller]
fn check(note: &str, parts: &Value, expected: Expect) {
    let shown = match update_frontmatter(note, &given(parts)) {
        Ok(UpdatedNote { text, added, changed, removed, unchanged, was_json: _ }) => {
            let mut shown = text.replace('\r', "␍");
            for (word, names) in
                [("added", added), ("changed", changed), ("removed", removed), ("unchanged", unchanged)]
            {
                if !names.is_empty() {
                    shown.push_str(&format!("\n= {word}: {}", names.join(", ")));
                }
            }
            shown
        }
        Err(fault) => format!("{}: {fault}\n{}", fault.failure, fault.recovery_hint()),
    };
    expected.assert_eq(&shown);
}

const NOTE: &str = "\
---
# About this note
title: \"A: b\" # keep me
status:   open   # now
tags:
  - idea   # first
  # between
  - 'to do'

# Links
up: \"[[Home]]\"
nested:
  deep: {a: 1, b: [x, y]} # flow
text: |
  # no comment
  line

list: [a, \"b\"]
---
# Text
";

#[test]
fn a_value_changes_and_the_comment_behind_it_stays() {
    check(
        NOTE,
        &json!({"set": {"status": "done", "title": "C", "up": "[[Other]]"}}),
        expect![[r#"
            ---
            # About this note
            title: "C" # keep me
            status:   done   # now
            tags:
              - idea   # first
              # between
              - 'to do'

            # Links
            up: "[[Other]]"
            nested:
              deep: {a: 1, b: [x, y]} # flow
            text: |
              # no comment
              line

            list: [a, "b"]
            ---
            # Text

            = changed: status, title, up"#]],
    );
}

#[test]
fn values_of_several_lines_are_replaced_and_removed_whole() {
    check(
        NOTE,
        &json!({"set": {"tags": ["x"], "text": "short", "status": ["a", "b"]}, "remove": ["nested"]}),
        expect![[r##"
            ---
            # About this note
            title: "A: b" # keep me
            status:   # now
              - a
              - b
            tags:
              - x

            # Links
            up: "[[Home]]"
            text: short

            list: [a, "b"]
            ---
            # Text

            = changed: tags, text, status
            = removed: nested"##]],
    );
}

#[test]
fn lists_grow_in_their_own_style_and_hold_nothing_twice() {
    check(
        NOTE,
        &json!({"append": {"tags": ["idea", "new", "#x"], "list": ["c, d", "a", "e"], "more": "first"}}),
        expect![[r##"
            ---
            # About this note
            title: "A: b" # keep me
            status:   open   # now
            tags:
              - idea   # first
              # between
              - 'to do'
              - new
              - "#x"

            # Links
            up: "[[Home]]"
            nested:
              deep: {a: 1, b: [x, y]} # flow
            text: |
              # no comment
              line

            list: [a, "b", "c, d", e]
            more:
              - first
            ---
            # Text

            = added: more
            = changed: tags, list"##]],
    );
}

#[test]
fn what_is_already_so_changes_nothing() {
    check(
        "---\na: 1.5\nb: [x]\nc:\nd: yes\ne: '1'\n---\n",
        &json!({"set": {"a": 1.5, "c": null, "d": "yes", "e": "1"}, "remove": ["zzz"], "append": {"b": "x"}}),
        expect![[r#"
            ---
            a: 1.5
            b: [x]
            c:
            d: yes
            e: '1'
            ---

            = unchanged: a, c, d, e, zzz, b"#]],
    );
}

#[test]
fn doubtful_values_are_quoted() {
    check(
        "---\na: x\n---\n",
        &json!({"set": {"a": "yes", "b": "1.0", "c": "[[Note]]", "d": true, "e": {"k": ["v", null]}, "f": [],
                        "g": "line\nline", "h: i": "2026-11-15", "j": null}}),
        expect![[r#"
            ---
            a: "yes"
            b: "1.0"
            c: "[[Note]]"
            d: true
            e: {"k": ["v", null]}
            f: []
            g: "line\nline"
            "h: i": 2026-11-15
            j:
            ---

            = added: b, c, d, e, f, g, h: i, j
            = changed: a"#]],
    );
}

#[test]
fn quotes_and_brackets_stay_where_the_kind_of_value_does() {
    check(
        "---\na: 'x' # c\nb: \"y\"\nc: [1, 2] # d\nd: 'z'\ne: [ ]\n---\n",
        &json!({"set": {"a": "it's", "b": "plain", "c": [3, "a, b"], "d": 4, "e": null}}),
        expect![[r#"
            ---
            a: 'it''s' # c
            b: "plain"
            c: [3, "a, b"] # d
            d: 4
            e:
            ---

            = changed: a, b, c, d, e"#]],
    );
}

#[test]
fn a_note_without_properties_gets_a_block() {
    check(
        "Text",
        &json!({"set": {"a": 1}}),
        expect![[r#"
        ---
        a: 1
        ---
        Text
        = added: a"#]],
    );
    check(
        "\u{feff}One\r\nTwo",
        &json!({"append": {"tags": ["a"]}}),
        expect!["\u{feff}---␍\ntags:␍\n  - a␍\n---␍\nOne␍\nTwo\n= added: tags"],
    );
    check(
        "---\nnever closed\n",
        &json!({"set": {"a": 1}}),
        expect![[r#"
        ---
        a: 1
        ---
        ---
        never closed

        = added: a"#]],
    );
    check(
        "Text",
        &json!({"remove": ["a"]}),
        expect![[r#"
        Text
        = unchanged: a"#]],
    );
    check(
        "---\n---\nText",
        &json!({"set": {"a": 1}}),
        expect![[r#"
        ---
        a: 1
        ---
        Text
        = added: a"#]],
    );
}

#[test]
fn the_block_goes_with_its_last_property_unless_something_is_left_in_it() {
    check(
        "---\na: 1\n---\nText",
        &json!({"remove": ["a"]}),
        expect![[r#"
        Text
        = removed: a"#]],
    );
    check(
        "---\n# why\na: 1\n---\nText",
        &json!({"remove": ["a"]}),
        expect![[r#"
        ---
        # why
        ---
        Text
        = removed: a"#]],
    );
    // Without its empty block this text would become frontmatter.
    check(
        "---\na: 1\n---\n---\nb: 2\n---\n",
        &json!({"remove": ["a"]}),
        expect![[r#"
        ---
        ---
        ---
        b: 2
        ---

        = removed: a"#]],
    );
}

#[test]
fn line_endings_stay() {
    check(
        "---\r\na: 1 # c\r\ntags:\r\n- x\r\n---\r\nText\r\n",
        &json!({"set": {"a": [1, 2]}, "append": {"tags": ["y"], "aliases": "z"}}),
        expect![[r#"
            ---␍
            a: # c␍
              - 1␍
              - 2␍
            tags:␍
            - x␍
            - "y"␍
            aliases:␍
              - z␍
            ---␍
            Text␍

            = added: aliases
            = changed: a, tags"#]],
    );
}

#[test]
fn a_single_value_becomes_a_list_only_where_a_list_is_meant() {
    check(
        "---\ntags: \"#a\" # c\naliases:\ncssclasses: \"\"\n---\n",
        &json!({"append": {"tags": "b", "aliases": "One", "cssclasses": "wide"}}),
        expect![[r##"
            ---
            tags: # c
              - "#a"
              - b
            aliases:
              - One
            cssclasses:
              - wide
            ---

            = changed: tags, aliases, cssclasses"##]],
    );
    let is_no_list = expect![[r#"
        precondition_failed: the property `status` is not a list, so nothing can be appended to it
        set the property to the whole list instead"#]];
    check("---\nstatus: open\n---\n", &json!({"append": {"status": "b"}}), is_no_list);
    check(
        "---\ntags: a, b\n---\n",
        &json!({"append": {"tags": "c"}}),
        expect![[r#"
            ---
            tags:
              - a
              - b
              - c
            ---

            = changed: tags"#]],
    );
}

#[test]
fn a_name_in_another_case_means_the_one_that_is_there() {
    check(
        "---\nStatus: a\n---\n",
        &json!({"set": {"status": "b"}}),
        expect![[r#"
        ---
        Status: b
        ---

        = changed: Status"#]],
    );
    check(
        "---\nTags: a\nTAGS: b\n---\n",
        &json!({"set": {"tags": "c"}}),
        expect![[r#"
        conflict: `tags` could mean `Tags` or `TAGS`
        spell the name as the note does"#]],
    );
    check(
        "---\nTags: a\nTAGS: b\n---\n",
        &json!({"set": {"TAGS": "c"}}),
        expect![[r#"
            ---
            Tags: a
            TAGS: c
            ---

            = changed: TAGS"#]],
    );
    check(
        "---\na: 1\n---\n",
        &json!({"set": {"A": 2}, "remove": ["a"]}),
        expect![[r#"
        invalid_arguments: `a` is named twice
        name each property once; upper and lower case make no difference"#]],
    );
}

#[test]
fn what_cannot_be_read_for_certain_is_not_touched() {
    let set = json!({"set": {"new": 1}});
    check(
        "---\na: 1\nb: \"open\n---\n",
        &set,
        expect![[r#"
        precondition_failed: the frontmatter cannot be edited: line 3: while scanning a quoted scalar, found unexpected end of stream
        fix that line of the frontmatter, then try again"#]],
    );
    check(
        "---\na: 1\nb: 2\na: 3\n---\n",
        &set,
        expect![[r#"
            precondition_failed: the frontmatter cannot be edited: line 4: the name `a` appears twice
            fix that line of the frontmatter, then try again"#]],
    );
    check(
        "---\n{a: 1}\n---\n",
        &set,
        expect![[r#"
        precondition_failed: the frontmatter cannot be edited: line 2: the properties are in braces and are not JSON
        fix that line of the frontmatter, then try again"#]],
    );
    check(
        "---\nSome text between two rules.\n---\n",
        &set,
        expect![[r#"
        precondition_failed: the frontmatter cannot be edited: line 2: it is not a list of `name: value` lines
        fix that line of the frontmatter, then try again"#]],
    );
    check(
        "---\na: 1\n...\n---\n",
        &set,
        expect![[r#"
            ---
            a: 1
            new: 1
            ...
            ---

            = added: new"#]],
    );
    check(
        "---\n? a\n: 1\n---\n",
        &json!({"set": {"a": 2}}),
        expect![[r#"
        precondition_failed: the frontmatter cannot be edited without changing other parts of it: `a` is not written as `a:` on a line of its own
        change the text of the frontmatter directly"#]],
    );
    check(
        "---\na: &x 1\nb: *x\n---\n",
        &json!({"set": {"a": 2}}),
        expect![[r#"
        precondition_failed: the frontmatter cannot be edited without changing other parts of it: the result would not read as asked
        change the text of the frontmatter directly"#]],
    );
    check(
        "---\na: 1\n---\n",
        &json!({}),
        expect![[r#"
        invalid_arguments: the update names no property
        give `set`, `remove` or `append`"#]],
    );
}

#[test]
fn deep_nesting_is_refused_and_not_a_crash() {
    let note = format!("---\na: {}{}\n---\n", "[".repeat(5_000), "]".repeat(5_000));
    assert!(update_frontmatter(&note, &given(&json!({"set": {"b": 1}}))).is_err());
}

/// One property; its name is inserted later.
fn property() -> impl Strategy<Value = &'static str> {
    select(vec![
        "NAME: plain",
        "NAME: plain # comment",
        "NAME:   'single''s'   # comment",
        "NAME: \"double \\\" # no comment\"",
        "\"NAME\": 12",
        "NAME : x",
        "NAME:",
        "NAME: # only a comment",
        "NAME: [a, 'b', \"c\"]",
        "NAME: [a, b, ] # trailing comma",
        "NAME: [a,\n  b, # inside\n  c\n  ]",
        "NAME: []",
        "NAME: {k: v, l: [1, 2]}",
        "NAME:\n  - a\n  - b",
        "NAME:\n- a\n- b: 1\n  c: 2",
        "NAME: # list\n    - a # first\n    # between\n    -\n    - 'é'",
        "NAME:\n  k: v\n  l:\n    m: |\n      # text\n      more\n  n: x",
        "NAME: |\n  # no comment\n  text\n\n  more",
        "NAME: |+\n  kept\n\n",
        "NAME: >-\n  folded\n  text\n",
        "NAME: two\n  lines # c",
        "NAME: \"two\n  lines\"",
        "NAME:\n  below",
        "NAME: 日本語 😀",
        "NAME: !!str 5",
        "NAME: 2026-11-15",
        "NAME: ~",
    ])
}

/// Lines between properties.
fn between() -> impl Strategy<Value = &'static str> {
    select(vec!["", "", "# a comment\n", "\n", "\n# é\n\n"])
}

fn body() -> impl Strategy<Value = String> {
    proptest::collection::vec((between(), property()), 1..6).prop_map(|parts| {
        parts
            .iter()
            .enumerate()
            .map(|(n, (between, property))| {
                format!("{between}{}\n", property.replace("NAME", &format!("key{n}")))
            })
            .collect()
    })
}

fn json_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        any::<String>().prop_map(Value::String),
        select(vec!["", "yes", "null", "1", "[[x]]", "a: b", "# c", "- d", "x\ny", "---", "{{t}}", " e "])
            .prop_map(Value::from),
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
    ];
    text.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::vec((any::<String>(), inner), 0..3)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Returns the parts of a body that an edit of `key` must not touch: the text before its line, and the text
/// from the next property, or from the comments before it.
fn around<'a>(body: &'a str, key: &str) -> (&'a str, &'a str) {
    let starts = |name: &str| {
        body.match_indices(name).map(|(at, _)| at).find(|at| {
            let line = body[..*at].rfind('\n').map_or(0, |newline| newline + 1);
            body[line..*at].chars().all(|c| c == '"')
        })
    };
    let line = |at: usize| body[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let start = line(starts(key).unwrap());
    let number: usize = key[3..].parse().unwrap();
    let end = starts(&format!("key{}", number + 1)).map_or(body.len(), line);
    (&body[..start], &body[end..])
}

proptest! {
    #[test]
    fn an_edit_changes_no_byte_outside_of_the_lines_of_its_property(
        body in body(),
        crlf in any::<bool>(),
        mark in any::<bool>(),
        key in 0..6_usize,
        work in 0..3_u8,
        value in json_value(),
        tail in select(vec!["", "# Text\n", "Text", "---\na: 1\n---\n"]),
    ) {
        let ending = |text: &str| if crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        let body = ending(&body);
        let head = if mark { "\u{feff}" } else { "" };
        let (fence, tail) = (ending("---\n"), ending(tail));
        let note = format!("{head}{fence}{body}{fence}{tail}");
        let name = format!("key{key}");
        let parts = match work {
            0 => json!({"set": {(name.clone()): value}}),
            1 => json!({"remove": [name]}),
            _ => json!({"append": {(name.clone()): value}}),
        };
        let Ok(updated) = update_frontmatter(&note, &given(&parts)) else { return Ok(()) };
        prop_assert!(updated.text.ends_with(&tail), "{}", updated.text);
        if updated.text == format!("{head}{tail}") {
            return Ok(());
        }
        let new = updated.text
            .strip_prefix(&format!("{head}{fence}"))
            .and_then(|rest| rest.strip_suffix(&format!("{fence}{tail}")))
            .unwrap();
        if updated.changed.is_empty() && updated.removed.is_empty() {
            // Unchanged, or a new property below all others.
            prop_assert!(new.starts_with(&body));
            return Ok(());
        }
        let (before, after) = around(&body, &name);
        prop_assert!(new.starts_with(before), "before\n{body}\nafter\n{new}");
        prop_assert!(new[before.len()..].ends_with(after), "before\n{body}\nafter\n{new}");
        // A comment at the end of the line with the name stays while the property stays.
        let one_line = updated.removed.is_empty() && ["# comment", "# trailing comma", "# only a comment", "# list"]
            .iter()
            .any(|comment| body.lines().any(|line| line.contains(&name) && line.ends_with(comment)));
        prop_assert!(!one_line || new.lines().any(|line| line.contains(&name) && line.contains('#')), "{new}");
    }

    #[test]
    fn the_usual_edits_are_possible_on_every_block(body in body(), value in json_value(), crlf in any::<bool>()) {
        let note = format!("---\n{body}---\n");
        let note = if crlf { note.replace('\n', "\r\n") } else { note };
        for parts in [
            json!({"set": {"key0": value}}),
            json!({"set": {"fresh": value}}),
            json!({"append": {"fresh": value}}),
            json!({"remove": ["key0"]}),
        ] {
            let updated = update_frontmatter(&note, &given(&parts));
            prop_assert!(updated.is_ok(), "{parts}\n{note}\n{updated:?}");
            // Repeating the edit changes nothing.
            let once = updated.unwrap().text;
            prop_assert_eq!(&update_frontmatter(&once, &given(&parts)).unwrap().text, &once);
        }
    }

    #[test]
    fn any_text_is_answered_without_a_crash(
        body in "([a-c:\\-#\\[\\]{}|>&*!%@`'\", ?~\t\r\nέ\u{feff}0-2]|: |\n  |- ){0,40}",
        value in json_value(),
    ) {
        let note = format!("---\n{body}\n---\n");
        for parts in [json!({"set": {"a": value, "new": 1}}), json!({"remove": ["a", "b"]}), json!({"append": {"a": value}})] {
            let _answer = update_frontmatter(&note, &given(&parts));
            let _answer = update_frontmatter(&body, &given(&parts));
        }
    }
}

#[test]
fn json_becomes_yaml_by_the_first_change_and_nothing_else_of_the_note_changes() {
    let json = "\u{feff}---\r\n{\r\n  \"title\": \"A: \\u00e9 \\\"x\\\"\",\r\n  \"tags\": [\"a\", \"no\"],\r\n  \"n\": 1.0, \"deep\": {\"k\": [null, true]}, \"link\": \"[[Note]]\"\r\n}\r\n---\r\nText {\"n\": 2}\r\n";
    let update = given(&json!({"set": {"N": 2, "new": "x"}, "append": {"tags": ["b"]}, "remove": ["link"]}));
    let updated = update_frontmatter(json, &update).unwrap();
    assert!(
        updated.was_json
            && updated.text.starts_with("\u{feff}---\r\n")
            && !updated.text.replace("\r\n", "").contains('\n')
    );
    expect![[r#"
        ---
        title: "A: é \"x\""
        tags:
          - a
          - "no"
          - b
        "n": 2
        deep: {"k": [null, true]}
        new: x
        ---
        Text {"n": 2}
    "#]]
    .assert_eq(&updated.text.replace("\r\n", "\n").replace('\u{feff}', ""));
    for same in [json!({"set": {"n": 1.0}}), json!({"remove": ["none"]}), json!({"append": {"tags": ["a"]}})]
    {
        let left = update_frontmatter(json, &given(&same)).unwrap();
        assert_eq!((left.text.as_str(), left.was_json), (json, false), "{same}");
    }
    let cleared =
        update_frontmatter("---\n{\"a\": 1}\n---\ntext\n", &given(&json!({"remove": ["a"]}))).unwrap();
    assert_eq!(cleared.text, "text\n");
    let filled = update_frontmatter("---\n{}\n---\ntext\n", &given(&json!({"set": {"a": 1}}))).unwrap();
    assert_eq!(filled.text, "---\na: 1\n---\ntext\n");
}

#[test]
fn json_that_would_read_otherwise_as_yaml_is_refused() {
    for (json, reason) in [
        (r#"{"a": 1, "a": 2}"#, "twice"),
        (r#"{"a": {"b": 1, "b": 2}}"#, "twice"),
        (r#"{"a": 12345678901234567890123}"#, "would change"),
        (r#"{"a": [1e3]}"#, "would change"),
        (r#"{"a": 1} trailing"#, ""),
        (r#"{"a": 1,}"#, "not JSON"),
        (r#"["a"]"#, "not a list of"),
    ] {
        let note = format!("---\n{json}\n---\ntext\n");
        let fault = update_frontmatter(&note, &given(&json!({"set": {"b": 1}}))).unwrap_err();
        assert_eq!(fault.failure, Failure::PreconditionFailed, "{json}");
        assert!(fault.message.contains(reason), "{json}: {fault}");
    }
}

proptest! {
    #[test]
    fn json_and_the_yaml_that_it_becomes_have_the_same_properties(
        names in proptest::collection::btree_set("[a-zA-Z\u{e9}: #\"\\\\-]{1,6}", 1..5),
        texts in proptest::collection::vec("[a-z\u{e9}:#\\[\\]{},\"'\\\\\n\t -]{0,12}", 5),
        numbers in proptest::collection::vec(any::<i32>(), 5),
        pretty in any::<bool>(),
    ) {
        let mut wanted = serde_json::Map::new();
        for (n, name) in names.iter().enumerate() {
            let value = match n % 4 {
                0 => json!(texts[n]),
                1 => json!([texts[n], numbers[n], null]),
                2 => json!({texts[n].clone(): [numbers[n], true]}),
                _ => json!(numbers[n]),
            };
            wanted.insert(name.clone(), value);
        }
        let json = if pretty { serde_json::to_string_pretty(&wanted) } else { serde_json::to_string(&wanted) };
        let note = format!("---\n{}\n---\nText\n", json.unwrap());
        let update = given(&json!({"set": {"zz new": 1}}));
        // Names that differ only in case, or are blank, are refused as in YAML.
        let Ok(updated) = update_frontmatter(&note, &update) else { return Ok(()) };
        wanted.insert("zz new".to_owned(), json!(1));
        let body = super::block::find(&updated.text).unwrap().body;
        let read = super::parser::parse_properties(&updated.text[body]).unwrap();
        assert_eq!(read.len(), wanted.len());
        for (property, (name, value)) in read.iter().zip(&wanted) {
            assert!(property.name == *name && property.value.equals_json(value), "{note} {}", updated.text);
        }
        assert!(updated.text.ends_with("---\nText\n"));
    }
}
