//! JSON as readable text.

use expect_test::{Expect, expect};
use receipts::preview::json::readable;
use receipts::preview::tokenizer::estimate;
use receipts::preview::{PreviewInput, PreviewStyle, preview};

fn check(raw: &str, budget: usize, expected: &Expect) {
    let shown = readable(raw, budget).expect("it is JSON and fits");
    assert!(estimate(&shown.text) <= budget);
    expected.assert_eq(&format!("{}\n(shortened: {})\n", shown.text, shown.shortened));
}

#[test]
fn what_says_nothing_is_left_out_and_nothing_can_be_mistaken() {
    check(
        r#"{"name":"ledger","version":"0.3","port":8080,"big":12345678901234567890123,"exact":1.50,
            "id":"42","on":true,"word":"true","empty":"","list":[],"none":{},"null":null,
            "tags":["a","b, c","3"],"said":"she said \"hi\": fine","path":"C:\\temp\\new",
            "padded":" x ","bracket":"[not a list]","odd name: x":1,"twice":1,"twice":2}"#,
        400,
        &expect![[r#"
            name: ledger
            version: "0.3"
            port: 8080
            big: 12345678901234567890123
            exact: 1.50
            id: "42"
            on: true
            word: "true"
            empty: ""
            list: []
            none: {}
            null: null
            tags: [a, "b, c", "3"]
            said: she said "hi": fine
            path: C:\temp\new
            padded: " x "
            bracket: "[not a list]"
            "odd name: x": 1
            twice: 1
            twice: 2
            (shortened: false)
        "#]],
    );
}

#[test]
fn rows_of_one_shape_become_a_table_and_others_a_list() {
    check(
        r#"{"files":[{"path":"a.rs","size":3,"note":"x, y"},{"path":"b.rs","size":40,"note":null}],
            "mixed":[{"id":1,"tags":["long enough to take a line of its own, surely","and another one, too, to be certain"]},{"id":2},7],
            "nested":{"a":{"b":{"c":[1,2,3]}},"numbers":[100001,100002,100003,100004,100005,100006,100007,100008,100009,100010,100011,100012,100013]}}"#,
        400,
        &expect![[r#"
            files: [{path: a.rs, size: 3, note: "x, y"}, {path: b.rs, size: 40, note: null}]
            mixed:
              - id: 1
                tags: ["long enough to take a line of its own, surely", "and another one, too, to be certain"]
              - {id: 2}
              - 7
            nested:
              a: {b: {c: [1, 2, 3]}}
              numbers: [100001, 100002, 100003, 100004, 100005, 100006, 100007, 100008, 100009, 100010,
                100011, 100012, 100013]
            (shortened: false)
        "#]],
    );
}

#[test]
fn a_row_ends_with_its_line_so_only_commas_need_quotes_in_it() {
    check(
        "{\"route\":\"/orders/{id}\",\"note\":\"slow: 3 s\"}\n{\"route\":\"[all]\",\"note\":\"a, b\"}\n",
        100,
        &expect![[r#"
            [2]{route,note}:
             /orders/{id},slow: 3 s
             "[all]","a, b"
            (shortened: false)
        "#]],
    );
}

// Conformance: result 5.4
#[test]
fn texts_of_several_lines_and_json_in_texts_stand_as_they_are() {
    check(
        r#"{"stdout":"one\ntwo \"quoted\"\n","inner":"{\"a\":\"b\"}","color":"\u001b[31mred\u001b[0m \u202e"}"#,
        400,
        &expect![[r#"
            stdout: |
              one
              two "quoted"
            inner: |-
              {"a":"b"}
            color: red \u{202e}
            (shortened: false)
        "#]],
    );
}

#[test]
fn lines_of_json_are_items() {
    check(
        "{\"level\":\"info\",\"msg\":\"up\"}\n{\"level\":\"warn\",\"msg\":\"slow\"}\n",
        100,
        &expect![[r#"
            [2]{level,msg}:
             info,up
             warn,slow
            (shortened: false)
        "#]],
    );
    check(
        "{\"level\":\"info\",\"msg\":\"up\"}\n{\"level\":\"warn\",\"took\":3}\n[1]\n",
        100,
        &expect![[r#"
        - {level: info, msg: up}
        - {level: warn, took: 3}
        - [1]
        (shortened: false)
    "#]],
    );
}

#[test]
fn rows_that_follow_each_other_are_a_table_among_other_items() {
    let row = |n: u32| format!("{{\"at\":{n},\"msg\":\"request\"}}\n");
    let log: String = (1..=9)
        .map(|n| match n {
            5 => "{\"at\":5,\"msg\":\"declined\",\"order\":9127}\n".to_owned(),
            n => row(n),
        })
        .collect();
    check(
        &log,
        200,
        &expect![[r#"
            [4]{at,msg}:
             1,request
             2,request
             3,request
             4,request
            - {at: 5, msg: declined, order: 9127}
            [4]{at,msg}:
             6,request
             7,request
             8,request
             9,request
            (shortened: false)
        "#]],
    );
}

#[test]
fn what_does_not_fit_is_left_out_inside_with_a_count() {
    let rows: Vec<_> = (0..500).map(|n| serde_json::json!({"id": n, "name": format!("item {n}")})).collect();
    let value = serde_json::json!({"total": 500, "items": rows, "log": "x".repeat(5000), "end": "here"});
    check(
        &value.to_string(),
        150,
        &expect![[r#"
            total: 500
            items[500]{id,name}:
             0,item 0
             1,item 1
             2,item 2
             3,item 3
             4,item 4
             5,item 5
             6,item 6
             7,item 7
             [... 491 more rows]
             499,item 499
            log: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...[4,920 more characters]
            end: here
            (shortened: true)
        "#]],
    );
}

#[test]
fn what_is_not_json_is_not_touched() {
    for text in
        ["", "42", "\"text\"", "{", "[INFO] started", "{} trailing", "{'a': 1}", "[01]", "{\"a\":\"\\x\"}"]
    {
        assert_eq!(readable(text, 1000), None, "{text}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(readable(&deep, 1000), None);
}

#[test]
fn a_log_that_is_json_is_shown_readable_even_if_it_is_coloured() {
    let coloured = "\u{1b}[1m{\n  \u{1b}[34m\"a\"\u{1b}[0m: \u{1b}[32m\"b\"\u{1b}[0m\n}\u{1b}[0m\n";
    for raw in ["{\n  \"a\": \"b\"\n}\n", coloured] {
        let shown = preview(&PreviewInput::whole(raw.as_bytes()), 100, PreviewStyle::Log);
        assert_eq!((shown.text.as_str(), shown.from_json, shown.lines), ("a: b", true, 3));
    }
    let text = preview(&PreviewInput::whole(b"{\"a\":\"b\"}"), 100, PreviewStyle::Text);
    assert_eq!((text.text.as_str(), text.from_json), ("{\"a\":\"b\"}", false));
}
