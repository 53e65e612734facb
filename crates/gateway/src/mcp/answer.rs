//! A result as clients get it: the receipt as text, and the same facts as data.
//!
//! Both are read by models and shown to people, so in both every invisible character is spelled out. The exact data is
//! in the record of the run.
//!
//! Some clients show the model only the text, others only the data, so each alone has to be enough, and neither may
//! be longer than a receipt may be. A failure is text: clients refuse data that does not match a tool's schema.

use std::borrow::Cow;

use engine::Policy;
use envelope::{Family, Fault, ToolResult, escape_invisible, escape_value};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Resource};
use serde_json::{Map, Value, json};
use toolkit::preview::tokens::{estimate, is_within, prefix_within};

use super::records::Address;

/// What the client gets for a call that ended.
pub(super) fn told(result: ToolResult, family: Family, policy: &Policy, structured: bool) -> CallToolResult {
    let receipt = escape_invisible(&result.receipt.or(result.user_message).unwrap_or_default()).into_owned();
    let mut meta = MetaObject::new();
    meta.0.insert("tollgate/run".to_owned(), result.run_id.as_str().into());
    meta.0.insert("tollgate/call".to_owned(), result.call_id.as_str().into());
    if let Some(error) = &result.error {
        let told = json!({
            "code": error.code,
            "kind": error.kind,
            "retryable": error.retryable,
            "hint": error.recovery_hint,
        });
        meta.0.insert("tollgate/error".to_owned(), told);
        return CallToolResult::error(vec![ContentBlock::text(receipt)]).with_meta(Some(meta));
    }
    let mut content = vec![ContentBlock::text(receipt.clone())];
    content.extend(result.artifacts.iter().map(|artifact| {
        let uri = Address::artifact_uri(result.run_id.as_str(), &artifact.path);
        ContentBlock::resource_link(Resource::new(uri, artifact.path.clone()).with_size(artifact.bytes))
    }));
    let mut told = CallToolResult::success(content).with_meta(Some(meta));
    if structured {
        let budget = policy.receipts.budget(family, None);
        let summary = match result.canonical {
            Some(canonical) => canonical.summary_text,
            None => receipt.lines().next().unwrap_or_default().to_owned(),
        };
        told.structured_content = Some(data(result.data, summary, &receipt, budget));
    }
    told
}

/// All that the tool gave if a model may read that much, else the receipt.
pub(super) fn data(data: Option<Value>, summary: String, receipt: &str, budget: usize) -> Value {
    let Some(data) = data else { return in_place_of_data(&summary, receipt, budget) };
    let whole = whole(summary, data);
    if fits(&whole, budget) {
        return whole;
    }
    in_place_of_data(whole["summary"].as_str().unwrap_or_default(), receipt, budget)
}

/// The structured content with all of the data, in which nothing is invisible.
fn whole(summary: String, data: Value) -> Value {
    let mut whole = Map::with_capacity(2);
    whole.insert("summary".to_owned(), summary.into());
    whole.insert("data".to_owned(), data);
    let whole = Value::Object(whole);
    match escape_value(&whole) {
        Cow::Borrowed(_) => whole,
        Cow::Owned(escaped) => escaped,
    }
}

/// The receipt as data. It was made to fit as text; spelled as JSON it may have to lose some lines more.
fn in_place_of_data(summary: &str, receipt: &str, budget: usize) -> Value {
    let (summary, receipt) = (&*escape_invisible(summary), &*escape_invisible(receipt));
    // A receipt begins with the outcome, which is not said a second time where room is short.
    let short = &summary[..prefix_within(summary, budget / 4)];
    let whole = json!({ "summary": summary, "receipt": receipt });
    if fits(&whole, budget) {
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
        if allowed == 0 || fits(&cut, budget) {
            return cut;
        }
        // Spelled as data a text can be several times as long. It gets shorter until it fits, at last nothing but the note.
        allowed = if allowed > 8 { allowed * 7 / 8 } else { 0 };
    }
}

/// Whether this, as a client would show it to its model, is no more than a model may be given.
fn fits(value: &Value, budget: usize) -> bool {
    // A result that is short enough whatever it is spelled like need not be spelled out.
    if spelled_at_most(value) <= budget / 2 {
        return true;
    }
    let text = value.to_string();
    // An estimate costs a look at every byte; what is far too long needs none.
    text.len() <= budget.saturating_mul(16) && is_within(&text, budget)
}

/// A number of bytes that the value is not longer than, spelled as JSON.
fn spelled_at_most(value: &Value) -> usize {
    // A byte of a text is six at most, a number no more than twenty-four.
    let text = |text: &str| text.len() * 6 + 2;
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 24,
        Value::String(string) => text(string),
        Value::Array(values) => values.iter().map(|value| spelled_at_most(value) + 1).sum::<usize>() + 2,
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| text(key) + spelled_at_most(value) + 2).sum::<usize>() + 2
        }
    }
}

/// A failure of ours, outside of any call.
pub(super) fn failed(fault: &Fault) -> CallToolResult {
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
    use serde_json::{Value, json};
    use toolkit::preview::tokens::estimate;

    use super::{failed, in_place_of_data, spelled_at_most, whole};

    #[test]
    fn no_invisible_character_is_left_in_structured_content() {
        for c in ('\0'..=char::MAX).filter(|&c| is_invisible(c) && !matches!(c, '\n' | '\t' | '\r')) {
            let text = format!("a{c}b");
            let data = json!({ "text": text, "list": [{ text.clone(): [text] }] });
            let cut = in_place_of_data(&text, &text.repeat(50), 60);
            let failed = failed(&Fault::new(Failure::NotFound, text.clone()).hint(text.clone()));
            let failed = serde_json::to_value(failed.content).unwrap();
            for told in [whole(text.clone(), data), in_place_of_data(&text, &text, 500), cut, failed] {
                assert!(is_escaped(&told), "{}: {told:?}", c.escape_unicode());
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
            assert!(value.to_string().len() <= spelled_at_most(&value), "{value}");
        }
    }

    #[test]
    fn a_receipt_that_grows_when_it_is_spelled_as_data_loses_lines_and_says_so() {
        let kept = in_place_of_data("Read a.md", "Read a.md\n\"a\"", 60);
        assert_eq!(kept, json!({ "summary": "Read a.md", "receipt": "Read a.md\n\"a\"" }));
        for line in ["\"\\\"\\\n", "a line of words\n", "\u{1}\u{2}\u{3}", "一二三四\n"] {
            let receipt = format!("Read a.md\n{}", line.repeat(400));
            for budget in [50, 200, 1_000] {
                let cut = in_place_of_data("Read a.md", &receipt, budget);
                assert!(estimate(&cut.to_string()) <= budget, "{line:?} {budget}: {cut}");
                assert_eq!(cut["summary"], "Read a.md");
                assert!(cut["receipt"].as_str().unwrap().contains(" more bytes"), "{cut}");
            }
        }
    }
}
