//! Converts results for clients: the receipt as text, and the same facts as structured content.
//!
//! Both are read by models and shown to users, so invisible characters are escaped in both. The exact data is in
//! the journal of the run.
//!
//! Some clients show the model only the text, others only the structured content, so each alone has to be
//! sufficient, and neither may exceed the receipt budget. A failure is text only: clients reject structured content
//! that does not match a tool's output schema.

use std::borrow::Cow;

use engine::Policy;
use envelope::{Fault, ReceiptFamily, ToolResult, escape_invisible, escape_value};
use receipts::preview::tokenizer::{estimate, is_within, prefix_within};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Resource};
use serde_json::{Map, Value, json};

use super::record_resources::ResourceAddress;

/// Returns the result of a finished call for the client.
pub(super) fn call_tool_result(
    result: ToolResult,
    family: ReceiptFamily,
    policy: &Policy,
    structured: bool,
) -> CallToolResult {
    let receipt = escape_invisible(&result.receipt.or(result.user_message).unwrap_or_default()).into_owned();
    let mut meta = MetaObject::new();
    meta.0.insert("tollgate/run".to_owned(), result.run_id.as_str().into());
    meta.0.insert("tollgate/call".to_owned(), result.call_id.as_str().into());
    if let Some(error) = &result.error {
        let details = json!({
            "code": error.code,
            "kind": error.kind,
            "retryable": error.retryable,
            "hint": error.recovery_hint,
        });
        meta.0.insert("tollgate/error".to_owned(), details);
        return CallToolResult::error(vec![ContentBlock::text(receipt)]).with_meta(Some(meta));
    }
    let mut content = vec![ContentBlock::text(receipt.clone())];
    content.extend(result.artifacts.iter().map(|artifact| {
        let uri = ResourceAddress::artifact_uri(result.run_id.as_str(), &artifact.path);
        ContentBlock::resource_link(Resource::new(uri, artifact.path.clone()).with_size(artifact.bytes))
    }));
    let mut output = CallToolResult::success(content).with_meta(Some(meta));
    if structured {
        let budget = policy.receipts.budget(family, None);
        let summary = match result.canonical {
            Some(canonical) => canonical.summary_text,
            None => receipt.lines().next().unwrap_or_default().to_owned(),
        };
        output.structured_content = Some(structured_content(result.data, summary, &receipt, budget));
    }
    output
}

/// Returns all data of the tool if it fits the budget, otherwise the receipt.
pub(super) fn structured_content(
    data: Option<Value>,
    summary: String,
    receipt: &str,
    budget: usize,
) -> Value {
    let Some(data) = data else { return receipt_content(&summary, receipt, budget) };
    let whole = full_content(summary, data);
    if fits_budget(&whole, budget) {
        return whole;
    }
    receipt_content(whole["summary"].as_str().unwrap_or_default(), receipt, budget)
}

/// Returns structured content with all of the data, with invisible characters escaped.
fn full_content(summary: String, data: Value) -> Value {
    let mut whole = Map::with_capacity(2);
    whole.insert("summary".to_owned(), summary.into());
    whole.insert("data".to_owned(), data);
    let whole = Value::Object(whole);
    match escape_value(&whole) {
        Cow::Borrowed(_) => whole,
        Cow::Owned(escaped) => escaped,
    }
}

/// Returns structured content with the receipt. JSON escapes can make it too long, then further lines are cut.
fn receipt_content(summary: &str, receipt: &str, budget: usize) -> Value {
    let (summary, receipt) = (&*escape_invisible(summary), &*escape_invisible(receipt));
    // The receipt begins with the outcome, so the summary may be cut where room is short.
    let short = &summary[..prefix_within(summary, budget / 4)];
    let whole = json!({ "summary": summary, "receipt": receipt });
    if fits_budget(&whole, budget) {
        return whole;
    }
    let mut allowed = budget.saturating_sub(estimate(short));
    loop {
        let kept = &receipt[..prefix_within(receipt, allowed)];
        let lines = if kept.len() == receipt.len() {
            kept
        } else {
            kept.rsplit_once('\n').map_or(kept, |(lines, _)| lines)
        };
        let left_out = receipt.len() - lines.len();
        let note = if left_out == 0 {
            String::new()
        } else {
            format!("\n… {left_out} more bytes, which the text of this result has")
        };
        let cut = json!({ "summary": short, "receipt": format!("{lines}{note}") });
        if allowed == 0 || fits_budget(&cut, budget) {
            return cut;
        }
        // JSON escapes can multiply the length of a text. It is shortened until it fits, in the end to nothing but
        // the note.
        allowed = if allowed > 8 { allowed * 7 / 8 } else { 0 };
    }
}

/// Returns true if the value, as JSON text, fits the budget.
fn fits_budget(value: &Value, budget: usize) -> bool {
    // A value that is short in any spelling need not be serialized.
    if max_json_length(value) <= budget / 2 {
        return true;
    }
    let text = value.to_string();
    // The estimate reads every byte; a text that is much too long needs none.
    text.len() <= budget.saturating_mul(16) && is_within(&text, budget)
}

/// Returns an upper bound for the length of the value as JSON.
fn max_json_length(value: &Value) -> usize {
    // A byte of text becomes at most six bytes, a number at most twenty-four.
    let text = |text: &str| text.len() * 6 + 2;
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 24,
        Value::String(string) => text(string),
        Value::Array(values) => values.iter().map(|value| max_json_length(value) + 1).sum::<usize>() + 2,
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| text(key) + max_json_length(value) + 2).sum::<usize>() + 2
        }
    }
}

/// Returns the result for a fault outside of any call.
pub(super) fn error_result(fault: &Fault) -> CallToolResult {
    let hint = fault.hint.as_deref().map(|hint| format!("\n{hint}")).unwrap_or_default();
    let mut meta = MetaObject::new();
    meta.0
        .insert("tollgate/error".to_owned(), json!({ "code": fault.failure.code(), "kind": fault.failure }));
    let text = format!("{}{hint}", fault.message);
    CallToolResult::error(vec![ContentBlock::text(escape_invisible(&text))]).with_meta(Some(meta))
}

#[cfg(test)]
mod tests {
    use envelope::{Failure, Fault, is_invisible};
    use receipts::preview::tokenizer::estimate;
    use serde_json::{Value, json};

    use super::{error_result, full_content, max_json_length, receipt_content};

    #[test]
    fn no_invisible_character_is_left_in_structured_content() {
        for c in ('\0'..=char::MAX).filter(|&c| is_invisible(c) && !matches!(c, '\n' | '\t' | '\r')) {
            let text = format!("a{c}b");
            let data = json!({ "text": text, "list": [{ text.clone(): [text] }] });
            let cut = receipt_content(&text, &text.repeat(50), 60);
            let failed = error_result(&Fault::new(Failure::NotFound, text.clone()).hint(text.clone()));
            let failed = serde_json::to_value(failed.content).unwrap();
            for content in [full_content(text.clone(), data), receipt_content(&text, &text, 500), cut, failed]
            {
                assert!(is_escaped(&content), "{}: {content:?}", c.escape_unicode());
            }
        }
    }

    fn is_escaped(value: &Value) -> bool {
        let plain = |text: &str| !text.replace('\n', "").contains(is_invisible);
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
            Value::String(text) => plain(text),
            Value::Array(items) => items.iter().all(is_escaped),
            Value::Object(map) => map.iter().all(|(key, value)| plain(key) && is_escaped(value)),
        }
    }

    #[test]
    fn nothing_is_longer_than_it_may_be_at_most() {
        for value in [
            json!(null),
            json!(false),
            json!(i64::MIN),
            json!(u64::MAX),
            json!(-2.225_073_858_507_201_4e-308),
            json!("\u{1}\u{1f}\"\\é😀"),
            json!([]),
            json!([[], {}, null, "\u{0}"]),
            json!({ "\u{7}": { "a": [1, -1.5e300] }, "b": "" }),
        ] {
            assert!(value.to_string().len() <= max_json_length(&value), "{value}");
        }
    }

    #[test]
    fn a_receipt_that_grows_when_it_is_spelled_as_data_loses_lines_and_says_so() {
        let kept = receipt_content("Read a.md", "Read a.md\n\"a\"", 60);
        assert_eq!(kept, json!({ "summary": "Read a.md", "receipt": "Read a.md\n\"a\"" }));
        for line in ["\"\\\"\\\n", "a line of words\n", "\u{1}\u{2}\u{3}", "一二三四\n"] {
            let receipt = format!("Read a.md\n{}", line.repeat(400));
            for budget in [50, 200, 1_000] {
                let cut = receipt_content("Read a.md", &receipt, budget);
                assert!(estimate(&cut.to_string()) <= budget, "{line:?} {budget}: {cut}");
                assert_eq!(cut["summary"], "Read a.md");
                assert!(cut["receipt"].as_str().unwrap().contains(" more bytes"), "{cut}");
            }
        }
    }
}
