//! Proves that the cases distinguish a correct scanner from one that only searches for the two tags.

use expect_test::expect;
use sentinel::FoundCall;
use serde_json::Value;

use super::cases;
use super::drawing::Draw;
use super::outputs::output;
use super::reading::{Said, cut, read, scanner};

/// Looks for both tags in each piece of the text, and calls whatever is JSON between them.
fn naive(chunks: &[&str]) -> Vec<Said> {
    let mut all = Vec::new();
    let mut held = String::new();
    for chunk in chunks {
        held.push_str(chunk);
        while let Some((before, rest)) = held.split_once("<tool_call>") {
            let Some((body, after)) = rest.split_once("</tool_call>") else { break };
            let raw = format!("<tool_call>{body}</tool_call>");
            all.push(Said::Text(before.to_owned()));
            all.push(match serde_json::from_str::<Value>(body) {
                Ok(value) => {
                    let arguments = value["arguments"].as_str().unwrap_or("{}").to_owned();
                    let name = value["name"].as_str().unwrap_or_default().to_owned();
                    Said::Call { raw, call: FoundCall { name, arguments, repaired: false, as_object: false } }
                }
                Err(_) => Said::Text(raw),
            });
            held = after.to_owned();
        }
        if !held.contains("<tool_call>") {
            all.push(Said::Text(std::mem::take(&mut held)));
        }
    }
    all.push(Said::Text(held));
    all
}

/// Calls, and the text for a reader when other blocks are text.
fn outcome(all: &[Said]) -> (Vec<(String, String)>, String) {
    let mut calls = Vec::new();
    let mut text = String::new();
    for said in all {
        match said {
            Said::Call { call, .. } => calls.push((call.name.clone(), call.arguments.clone())),
            Said::Text(raw) | Said::Rejected { raw, .. } => text.push_str(raw),
        }
    }
    (calls, text)
}

// Conformance: proxy 10.2
#[test]
fn a_scanner_that_only_looks_for_tags_fails_the_cases() {
    let failed = |length: usize| {
        cases::all()
            .iter()
            .filter(|case| outcome(&naive(&cut(case.text, length))) != outcome(&read(scanner(), [case.text])))
            .count()
    };
    let figures = format!(
        "{} cases; failed whole: {}, by 7: {}, by 1: {}",
        cases::all().len(),
        failed(10_000),
        failed(7),
        failed(1)
    );
    expect!["125 cases; failed whole: 53, by 7: 56, by 1: 56"].assert_eq(&figures);
}

#[test]
fn a_scanner_that_only_looks_for_tags_fails_what_is_generated() {
    let failed = (0..1_000)
        .map(|seed| output(&mut Draw::new(seed)))
        .filter(|text| outcome(&naive(&[text])) != outcome(&read(scanner(), [text.as_str()])))
        .count();
    assert!(failed > 100, "{failed} of 1000");
}
