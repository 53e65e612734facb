//! Tests of how the strings of a plan are compiled and resolved.

use expect_test::{Expect, expect};
use proptest::prelude::{Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Map, Value, json};

use super::{NoteKind, Template, TemplateBindings, TemplateNote, ValueSource};
use crate::{BraceRule, TemplateScope, literal};

const SCOPE: TemplateScope<'static> =
    TemplateScope { item_name: Some("note"), index_name: Some("i"), braces: BraceRule::AroundScope };

struct World {
    steps: Map<String, Value>,
    vars: Map<String, Value>,
}

impl ValueSource for World {
    fn step(&self, id: &str) -> Option<&Value> {
        self.steps.get(id)
    }
    fn var(&self, name: &str) -> Option<&Value> {
        self.vars.get(name)
    }
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn compiled(value: &Value) -> (Template, Vec<TemplateNote>) {
    let mut notes = Vec::new();
    let template = Template::compile(value, &SCOPE, &mut notes);
    (template, notes)
}

/// Compiles and resolves a value; prints it with the notes.
#[track_caller]
fn check(value: Value, expected: &Expect) {
    let world = World {
        steps: object(json!({ "parse": { "items": [{ "t": "one" }, { "t": null }], "n": 2, "ok": true } })),
        vars: object(json!({ "folder": "Inbox", "half": 0.5, "big": 18_446_744_073_709_551_615_u64 })),
    };
    let item = json!({ "title": "Tea", "tags": ["a", "b"], "n": 7 });
    let bindings = TemplateBindings { values: &world, item: Some(&item), index: Some(3) };
    let (template, notes) = compiled(&value);
    let mut printed = match template.resolve(&bindings) {
        Ok(value) => format!("{value}\n"),
        Err(dangling) => format!("error at {:?}: {dangling}\n", dangling.pointer),
    };
    for TemplateNote { pointer, kind } in notes {
        let told = match kind {
            NoteKind::BadReference { text, why } => format!("bad reference {text}: {why}"),
            NoteKind::UnscopedBrace { text, nearest } => format!("not in scope {text}, nearest {nearest:?}"),
            NoteKind::UnscopedDollar { text, nearest } => {
                format!("not in scope {text}, nearest {nearest:?}")
            }
            NoteKind::NestedReference { text } => format!("nested {text}"),
            NoteKind::ReferenceInKey { key } => format!("in key {key}"),
        };
        printed.push_str(&format!("note at {pointer:?}: {told}\n"));
    }
    expected.assert_eq(&printed);
}

// Conformance: envelope 2.2
//     A call has concrete arguments: variables, outputs of earlier steps and the current item are filled in.
//     In: plan/template/resolve.rs
// Conformance: envelope 6.1
#[test]
fn a_string_that_is_wholly_a_reference_keeps_the_type() {
    check(
        json!([
            "$steps.parse.items",
            "$steps.parse.n",
            "$vars.half",
            "$note.tags[1]",
            "$note",
            "$i",
            "$steps.parse"
        ]),
        &expect![[r#"
            [[{"t":"one"},{"t":null}],2,0.5,"b",{"title":"Tea","tags":["a","b"],"n":7},3,{"items":[{"t":"one"},{"t":null}],"n":2,"ok":true}]
        "#]],
    );
}

// Conformance: envelope 2.2
// Conformance: envelope 6.1
#[test]
fn braces_inside_a_string_become_text() {
    check(
        json!({ "path": "{vars.folder}/{i}-{note.title}.md", "n": "{note.n}", "ok": "{steps.parse.ok} {vars.half} {vars.big}" }),
        &expect![[r#"
            {"path":"Inbox/3-Tea.md","n":"7","ok":"true 0.5 18446744073709551615"}
        "#]],
    );
}

#[test]
fn doubled_braces_and_a_leading_double_dollar_are_literal() {
    check(
        json!(["{{{note.title}}}", "$$steps.parse", "$$", "$$$", "a $$ b", "{{ }}"]),
        &expect![[r#"
            ["{Tea}","$steps.parse","$","$$","a $$ b","{{ }}"]
        "#]],
    );
}

#[test]
fn other_braces_and_dollars_stay_as_they_are() {
    check(
        json!([
            "{ color: red }",
            "a { b",
            "} c {",
            "{}",
            "{\"a\": 1}",
            "$5.00",
            "$HOME",
            "${note.n}",
            "$",
            "{0}",
            "{\nnote}"
        ]),
        &expect![[r#"
            ["{ color: red }","a { b","} c {","{}","{\"a\": 1}","$5.00","$HOME","$7","$","{0}","{\nnote}"]
        "#]],
    );
}

#[test]
fn json_and_formulas_inside_a_text_come_through_whole() {
    check(
        json!(["{\"a\":{\"b\":1}}", "x^{2^{n}} = \\frac{{a}}{b_{n}}", "{n}}", "{{\"a\":{\"b\":{}}}"]),
        &expect![[r#"
            ["{\"a\":{\"b\":1}}","x^{2^{n}} = \\frac{{a}}{b_{n}}","{n}}","{{\"a\":{\"b\":{}}}"]
            note at "/1": not in scope {n}, nearest None
            note at "/2": not in scope {n}, nearest None
        "#]],
    );
}

#[test]
fn a_word_that_is_not_in_scope_stays_and_the_nearest_is_named() {
    check(
        json!({ "a/b": ["{notes.title}", "{date}", "{ note.title }", "$step.parse.items", "$nothing.like.it"] }),
        &expect![[r#"
            {"a/b":["{notes.title}","{date}","{ note.title }","$step.parse.items","$nothing.like.it"]}
            note at "/a~1b/0": not in scope {notes.title}, nearest Some("{note.title}")
            note at "/a~1b/1": not in scope {date}, nearest Some("{note}")
            note at "/a~1b/2": not in scope { note.title }, nearest Some("{note.title}")
            note at "/a~1b/3": not in scope $step.parse.items, nearest Some("$steps.parse.items")
            note at "/a~1b/4": not in scope $nothing.like.it, nearest None
        "#]],
    );
}

#[test]
fn what_starts_like_a_reference_but_is_none_is_noted() {
    check(
        json!(["$steps.parse items", "$vars", "{steps}", "{i.x}", "{note.}", "$note.a b"]),
        &expect![[r#"
        ["$steps.parse items","$vars","{steps}","{i.x}","{note.}","$note.a b"]
        note at "/0": bad reference $steps.parse items: `parse items` is not a step id: start with a letter, then use letters, digits, `_` or `-`, at most 64 in all
        note at "/1": bad reference $vars: name the variable after it, as in `vars.<name>`
        note at "/2": bad reference {steps}: name the step after it, as in `steps.<id>.<field>`
        note at "/3": bad reference {i.x}: `i` is a number and has no parts; write `i` alone
        note at "/4": bad reference {note.}: it ends with a `.`; write a field name after it or leave the `.` out
        note at "/5": bad reference $note.a b: ` ` cannot be part of a path, which is made of `.name` and `[0]`
    "#]],
    );
}

#[test]
fn doubled_braces_are_literal_around_a_word_in_scope_and_nowhere_else() {
    check(
        json!([
            "{{date}}",
            "{{note.title}}",
            "a }} b",
            "{{ok",
            "{{ note.title }}",
            "{{{{note.title}}}}",
            "{{steps}}",
            "{{i}",
            "{i}}"
        ]),
        &expect![[r#"
            ["{{date}}","{note.title}","a }} b","{{ok","{ note.title }","{{note.title}}","{steps}","{3","3}"]
        "#]],
    );
}

#[test]
fn a_text_full_of_brace_words_draws_few_notes_and_hides_no_error() {
    let words: String = (0..1_000).map(|n| format!("{{w{n}}} ")).collect();
    let (_, notes) = compiled(&Value::String(words + "{note.}"));
    assert_eq!(notes.len(), 21);
    assert!(matches!(notes[20].kind, NoteKind::BadReference { .. }));
}

// Conformance: envelope 6.4
#[test]
fn a_reference_without_a_value_names_where_it_stands_and_why() {
    for (value, expected) in [
        (
            json!({ "a": [0, { "b~/c": "$steps.parse.none" }] }),
            expect![[r#"
            error at "/a/1/b~0~1c": `$steps.parse.none` has no value: there is no `none`
        "#]],
        ),
        (
            json!("$steps.parse.items[2]"),
            expect![[r#"
            error at "": `$steps.parse.items[2]` has no value: there is no [2] in a list of 2 items
        "#]],
        ),
        (
            json!("$steps.parse.items.t"),
            expect![[r#"
            error at "": `$steps.parse.items.t` points at nothing: `t` is asked of a list
        "#]],
        ),
        (
            json!("$steps.parse.n[0]"),
            expect![[r#"
            error at "": `$steps.parse.n[0]` points at nothing: [0] is asked of a number
        "#]],
        ),
        (
            json!("$steps.other"),
            expect![[r#"
            error at "": `$steps.other` names a step that has no output
        "#]],
        ),
        (
            json!("{vars.other}"),
            expect![[r#"
            error at "": `{vars.other}` names a variable that has no value
        "#]],
        ),
        (
            json!("<{note.tags}>"),
            expect![[r#"
            error at "": `{note.tags}` is a list, but text needs a string, a number or a boolean
        "#]],
        ),
        (
            json!("<{steps.parse.items[1].t}>"),
            expect![[r#"
            error at "": `{steps.parse.items[1].t}` is null, but text needs a string, a number or a boolean
        "#]],
        ),
    ] {
        check(value, &expected);
    }
}

#[test]
fn every_reference_is_visited_with_its_place() {
    let (template, _) = compiled(&json!({ "a": ["x", "$vars.v[0]"], "b/c": "{i} and {steps.s.t}" }));
    let mut visited = String::new();
    template.references(&mut |pointer, reference, position| {
        visited.push_str(&format!("{pointer} {reference} {position:?}\n"));
    });
    expect![[r#"
        /a/1 $vars.v[0] Whole
        /b~1c $i InText
        /b~1c $steps.s.t InText
    "#]]
    .assert_eq(&visited);
}

#[test]
fn what_holds_no_reference_is_one_literal() {
    let (template, _) = compiled(&json!({ "a": ["{{i}}", 1], "b": { "c": "$$" } }));
    assert_eq!(template, Template::Literal(json!({ "a": ["{i}", 1], "b": { "c": "$" } })));
}

/// Strings with much more template syntax than random ones would have.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[${}a.\\[\\]0 ]{0,12}",
        "\\$?\\{{0,3}(note|i|steps|vars|other)(\\.[a-z]|\\[0\\]){0,2}\\}{0,3}",
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_literal_comes_back_as_it_was(value in value()) {
        let (template, _) = compiled(&literal(&value, &SCOPE));
        prop_assert_eq!(template, Template::Literal(value));
    }

    #[test]
    fn no_text_makes_the_compiler_panic(text in text()) {
        let world = World { steps: Map::new(), vars: Map::new() };
        let (template, _) = compiled(&Value::String(text));
        // Without values a reference fails and everything else resolves; neither may panic.
        drop(template.resolve(&TemplateBindings { values: &world, item: None, index: None }));
    }

    #[test]
    fn text_without_braces_and_leading_dollar_is_unchanged(text in "[^${}][^{}]{0,40}") {
        let (template, notes) = compiled(&Value::String(text.clone()));
        prop_assert_eq!(template, Template::Literal(Value::String(text)));
        prop_assert_eq!(notes, []);
    }

    // Conformance: envelope 6.5
    //     Resolving is pure: the same values in, the same arguments out.
    //     In: plan/template/resolve.rs
    #[test]
    fn what_an_item_says_is_never_read_as_a_template(said in text()) {
        let world = World { steps: Map::new(), vars: Map::new() };
        let item = Value::String(said.clone());
        let bindings = TemplateBindings { values: &world, item: Some(&item), index: Some(0) };
        let (template, _) = compiled(&json!(["$note", "<{note}>"]));
        prop_assert_eq!(template.resolve(&bindings), Ok(json!([said, format!("<{said}>")])));
    }

    #[test]
    fn lending_and_resolving_agree(text in text()) {
        let world = World { steps: object(json!({ "a": { "a": [1] } })), vars: object(json!({ "a": "x" })) };
        let item = json!({ "a": 1 });
        let bindings = TemplateBindings { values: &world, item: Some(&item), index: Some(0) };
        let (template, _) = compiled(&Value::String(text));
        let lent = template.resolve_borrowed(&bindings).map(std::borrow::Cow::into_owned);
        prop_assert_eq!(lent, template.resolve(&bindings));
    }
}
