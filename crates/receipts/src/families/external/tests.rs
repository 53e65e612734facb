//! Answers of external tools, projected and rendered.

use expect_test::{Expect, expect};
use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

use super::{ExternalOutput, OutputBlock, project, project_blocks, render};
use crate::families::Projection;
use crate::families::test_support::{DiscardingSink, cases};
use crate::preview::tokenizer::estimate;

#[track_caller]
fn check(output: &Value, budget: usize, expected: &Expect) {
    let sink = DiscardingSink::default();
    let result = project(output, &mut Projection::new(budget, Some(&sink))).unwrap().result;
    expected.assert_eq(&format!("{result}\n---\n{}\n", render("The tool answered", &result, budget)));
}

#[track_caller]
fn check_blocks(blocks: Vec<OutputBlock<'_>>, budget: usize, expected: &Expect) {
    let sink = DiscardingSink::default();
    let output = ExternalOutput { blocks };
    let result = project_blocks(&output, &mut Projection::new(budget, Some(&sink))).unwrap().result;
    expected.assert_eq(&format!("{result}\n---\n{}\n", render("The tool answered", &result, budget)));
}

#[test]
fn what_fits_is_the_result_as_it_stands_and_is_read_without_braces() {
    check(
        &json!({"city": "Bern", "now": {"celsius": 7, "wind": [1, 2]}}),
        1_500,
        &expect![[r#"
        {"city":"Bern","now":{"celsius":7,"wind":[1,2]}}
        ---
        The tool answered
        city: Bern
        now: {celsius: 7, wind: [1, 2]}
    "#]],
    );
    check(
        &json!("plain \u{1b}[31mtext\u{1b}[0m\nof two lines"),
        1_500,
        &expect![[r#"
        "plain \u001b[31mtext\u001b[0m\nof two lines"
        ---
        The tool answered
        plain text
        of two lines
    "#]],
    );
    check(
        &Value::Null,
        1_500,
        &expect![[r#"
        null
        ---
        The tool answered
    "#]],
    );
    check(
        &json!(true),
        1_500,
        &expect![[r#"
        true
        ---
        The tool answered
        true
    "#]],
    );
}

#[test]
fn json_in_a_text_is_shown_as_json() {
    let inner = json!({"rows": [{"id": 1, "name": "a"}, {"id": 2, "name": "b \"quoted\""}]}).to_string();
    check(
        &json!(inner),
        1_500,
        &expect![[r#"
        "{\"rows\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b \\\"quoted\\\"\"}]}"
        ---
        The tool answered
        rows: [{id: 1, name: a}, {id: 2, name: b "quoted"}]
    "#]],
    );
    check(
        &json!({"content": [{"type": "text", "text": inner}]}),
        1_500,
        &expect![[r#"
        {"content":[{"type":"text","text":"{\"rows\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b \\\"quoted\\\"\"}]}"}]}
        ---
        The tool answered
        content: [{type: text, text: {rows: [{id: 1, name: a}, {id: 2, name: b "quoted"}]}}]
    "#]],
    );
}

// Conformance: result 3.2
#[test]
fn what_is_too_large_keeps_its_shape_and_is_kept_whole() {
    let rows: Vec<Value> =
        (0..500).map(|n| json!({"id": n, "text": "lorem ipsum dolor ".repeat(40)})).collect();
    check(
        &json!({"rows": rows, "total": 500}),
        200,
        &expect![[r#"
            {"output_preview":{"rows":[{"id":0,"text":"lorem ipsum dolor lorem ipsum dolor lorem ipsum dolor lorem ...[660 more bytes]"},{"id":1,"text":"lorem ipsum dolor lorem ipsum dolor lorem ipsum dolor lorem ...[660 more bytes]"},{"id":2,"text":"lorem ipsum dolor lorem ipsum dolor lorem ipsum dolor lorem ...[660 more bytes]"},{"id":3,"text":"lorem ipsum dolor lorem ipsum dolor lorem ipsum dolor lorem ...[660 more bytes]"},"...[496 more]"],"total":500},"truncated":true,"artifacts":[{"path":"artifacts/output-1.json"}],"output_artifact":0,"output_bytes":383425,"output_digest":"b3:6d37a1da58f04a3b80126ebb259bc8efe20ff7adbd0de94d6304ab4fff8f799a"}
            ---
            The tool answered
            Full output: artifacts/output-1.json (383425 bytes); page it with artifact_read
            rows:
              [4]{id,text}:
               0,lorem ipsum dolor lorem ipsum dolor lorem ipsum dolor lorem ...[660 more bytes]
               1,lorem ipsum dolor lorem ipsum dolor lorem ipsum dolor lorem ...[660 more bytes]
               2,lorem ipsum dolor lorem ipsum dolor lorem ipsum dolor lorem ...[660 more bytes]
               3,lorem ipsum dolor lorem ipsum dolor lorem ipsum dolor lorem ...[660 more bytes]
              - "...[496 more]"
            total: 500
        "#]],
    );
    let log: String = (1..=300).map(|n| format!("line {n}\n")).collect();
    check(
        &json!(log),
        140,
        &expect![[r#"
        {"output_preview":"line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\n...\n[output truncated: showing first 7 and last 7 lines of 300]\n...\nline 294\nline 295\nline 296\nline 297\nline 298\nline 299\nline 300","truncated":true,"artifacts":[{"path":"artifacts/output-1.txt"}],"output_artifact":0,"output_bytes":2592,"output_digest":"b3:b711c04d181dc0a864f5180bfa64eddf27af15559f28e17884c64b0fdd1bfbd4"}
        ---
        The tool answered
        Full output: artifacts/output-1.txt (2592 bytes); page it with artifact_read
        line 1
        line 2
        line 3
        line 4
        line 5
        line 6
        line 7
        ...
        [output truncated: showing first 7 and last 7 lines of 300]
        ...
        line 294
        line 295
        line 296
        line 297
        line 298
        line 299
        line 300
    "#]],
    );
}

// Conformance: result 1.3
#[test]
fn blocks_stand_side_by_side_and_bytes_are_described() {
    let value = json!({"width": 2, "height": 3});
    let long = "word ".repeat(400);
    check_blocks(
        vec![
            OutputBlock::Text("Here is the picture."),
            OutputBlock::Json(&value),
            OutputBlock::Binary { media_type: "image/png", bytes: b"\x89PNG\r\n\x1a\n" },
            OutputBlock::Text(&long),
        ],
        600,
        &expect![[r#"
            {"blocks":[{"type":"text","text":"Here is the picture."},{"type":"json","value":{"width":2,"height":3}},{"type":"binary","media_type":"image/png","artifact":0,"bytes":8,"digest":"b3:aaff1535a99cdd3d3e41e25ea6ef55c7b5373722ea588867f02fea01067ff8a8"},{"type":"part","preview":"word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word...[1,521 more characters]","truncated":true,"artifact":1,"bytes":2000,"digest":"b3:ed7745c5ef5950d7228b6b7252cabd790c05ea03865a77595b03121e664625d1"}],"truncated":true,"artifacts":[{"path":"artifacts/output-1.png"},{"path":"artifacts/output-2.txt"}]}
            ---
            The tool answered
            Here is the picture.
            width: 2
            height: 3
            image/png: artifacts/output-1.png (8 bytes)
            Full text: artifacts/output-2.txt (2000 bytes); page it with artifact_read
            word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word...[1,521 more characters]
        "#]],
    );
    check_blocks(
        vec![OutputBlock::Text("only text")],
        600,
        &expect![[r#"
        "only text"
        ---
        The tool answered
        only text
    "#]],
    );
}

#[test]
fn where_nothing_can_be_kept_the_receipt_says_so() {
    let long = json!("word ".repeat(400));
    let result = project(&long, &mut Projection::new(100, None)).unwrap().result;
    expect![[r#"
        The tool answered
        The output has 2000 bytes; what does not fit was not kept
        word word word word word word word word word word word word...[1,941 more characters]"#]]
    .assert_eq(&render("The tool answered", &result, 100));
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a-z \n\u{1b}]{0,400}".prop_map(Value::from),
        any::<Vec<u8>>().prop_map(|bytes| json!(bytes).to_string().into()),
    ];
    leaf.prop_recursive(4, 48, 16, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..16).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..16)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(cases(64))]

    // Conformance: result 1.1
    // Conformance: result 3.4
    //     Both stages give the same for the same output, policy and artifacts.
    //     In: receipts/families/mod.rs
    #[test]
    fn result_and_receipt_stay_within_the_budget_and_are_always_the_same(
        value in values(), budget in 120_usize..2_000,
    ) {
        let mapped = || {
            let sink = DiscardingSink::default();
            let result = project(&value, &mut Projection::new(budget, Some(&sink))).unwrap().result;
            let receipt = render("The tool answered", &result, budget);
            (result, receipt, sink.kept())
        };
        let (result, receipt, kept) = mapped();
        prop_assert!(estimate(&receipt) <= budget, "{} {receipt}", estimate(&receipt));
        prop_assert!(estimate(&result.to_string()) <= 2 * budget, "{result}");
        prop_assert!(!receipt.contains('\x1b'));
        prop_assert_eq!(result == value, kept.is_empty());
        prop_assert_eq!(mapped(), (result, receipt, kept));
    }
}
