//! Parts of the output of a call that its canonical result and its receipt repeat.
//!
//! The text of a note that was read is in all three. A line has it once, in `data`; the others leave it out, and
//! `repeats` says where. A part is found if it begins or ends like the text in `data`, which is how previews are cut.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Shorter parts are not left out: naming one takes about as many bytes.
const SHORTEST_PART: usize = 128;
/// Bytes at an end of a text by which a part is found.
const ANCHOR: usize = 64;
/// Texts of an output that are searched for; the longest ones.
const MAX_TEXTS: usize = 4;
const RECEIPT: &str = "/receipt";
const CANONICAL: &str = "/canonical/result";

/// A part of a text in `data` that was left out of another text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RepeatedPart {
    /// JSON pointer of the text that it was left out of, from the line.
    text: String,
    /// Byte offset in that text, without this part and those after it in the list.
    at: usize,
    /// JSON pointer of the text that has it, from `data`.
    of: String,
    from: usize,
    bytes: usize,
}

/// The texts without the parts that are in `data`. `None` for one that repeats nothing.
#[derive(Default)]
pub(crate) struct WithoutRepeats {
    pub(crate) canonical: Option<Value>,
    pub(crate) receipt: Option<String>,
    pub(crate) parts: Vec<RepeatedPart>,
}

/// Leaves the parts out that `data` has.
pub(crate) fn leave_out(data: &Value, canonical: Option<&Value>, receipt: Option<&str>) -> WithoutRepeats {
    let mut texts = Vec::new();
    add_long_texts(data, &mut String::new(), &mut texts);
    if texts.is_empty() {
        return WithoutRepeats::default();
    }
    texts.sort_by_key(|(_pointer, text)| std::cmp::Reverse(text.len()));
    texts.truncate(MAX_TEXTS);
    let mut parts = Vec::new();
    let receipt = receipt.and_then(|receipt| cut(receipt, RECEIPT, &texts, &mut parts));
    let before = parts.len();
    let mut left = canonical.cloned();
    if let Some(left) = &mut left {
        cut_in(left, &mut CANONICAL.to_owned(), &texts, &mut parts);
    }
    WithoutRepeats { canonical: left.filter(|_left| parts.len() > before), receipt, parts }
}

/// The most bytes that parts of one record may have: far more than a canonical result and a receipt can hold.
const MAX_REPEATED: usize = 64 << 20;

/// Puts the parts back. Returns an error text if one does not fit.
pub(crate) fn put_back(
    parts: &[RepeatedPart],
    data: Option<&Value>,
    mut canonical: Option<&mut Value>,
    mut receipt: Option<&mut String>,
) -> Result<(), String> {
    let total = parts.iter().try_fold(0, |total: usize, part| total.checked_add(part.bytes));
    if total.is_none_or(|total| total > MAX_REPEATED) {
        return Err("the parts that are repeated are larger than any record".to_owned());
    }
    for part in parts.iter().rev() {
        let wrong = || format!("the part that `{}` repeats is not in `data`", part.text);
        let text = match part.text.strip_prefix(CANONICAL) {
            Some(pointer) => match canonical.as_mut().and_then(|canonical| canonical.pointer_mut(pointer)) {
                Some(Value::String(text)) => text,
                Some(_) | None => return Err(wrong()),
            },
            None => receipt.as_deref_mut().filter(|_| part.text == RECEIPT).ok_or_else(wrong)?,
        };
        let source = data.and_then(|data| data.pointer(&part.of)).and_then(Value::as_str);
        let end = part.from.checked_add(part.bytes).ok_or_else(wrong)?;
        let repeated = source.and_then(|source| source.get(part.from..end)).ok_or_else(wrong)?;
        if !text.is_char_boundary(part.at) {
            return Err(wrong());
        }
        text.insert_str(part.at, repeated);
    }
    Ok(())
}

/// Adds the texts in a value that are long enough, each with its JSON pointer.
fn add_long_texts<'v>(value: &'v Value, pointer: &mut String, texts: &mut Vec<(String, &'v str)>) {
    let length = pointer.len();
    match value {
        Value::String(text) if text.len() >= SHORTEST_PART => texts.push((pointer.clone(), text)),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                push_index(pointer, index);
                add_long_texts(item, pointer, texts);
                pointer.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                push_key(pointer, key);
                add_long_texts(field, pointer, texts);
                pointer.truncate(length);
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Cuts the parts out of every text in a value.
fn cut_in(value: &mut Value, pointer: &mut String, texts: &[(String, &str)], parts: &mut Vec<RepeatedPart>) {
    let length = pointer.len();
    match value {
        Value::String(text) => {
            if let Some(left) = cut(text, pointer, texts, parts) {
                *text = left;
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                push_index(pointer, index);
                cut_in(item, pointer, texts, parts);
                pointer.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                push_key(pointer, key);
                cut_in(field, pointer, texts, parts);
                pointer.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the text without the parts that begin or end like one of `texts`; `None` if there are none.
fn cut(text: &str, name: &str, texts: &[(String, &str)], parts: &mut Vec<RepeatedPart>) -> Option<String> {
    let before = parts.len();
    let mut left = text.to_owned();
    for (of, source) in texts {
        for find in [first_part, last_part] {
            let Some((at, from, bytes)) = find(&left, source).filter(|part| part.2 >= SHORTEST_PART) else {
                continue;
            };
            left.replace_range(at..at + bytes, "");
            parts.push(RepeatedPart { text: name.to_owned(), at, of: of.clone(), from, bytes });
        }
    }
    (parts.len() > before).then_some(left)
}

/// Returns the part of `text` that begins like `source`: where it is in both, and its length.
fn first_part(text: &str, source: &str) -> Option<(usize, usize, usize)> {
    let anchor = source.get(..source.floor_char_boundary(ANCHOR))?;
    let at = memchr::memmem::find(text.as_bytes(), anchor.as_bytes())?;
    let same = text.as_bytes()[at..].iter().zip(source.as_bytes()).take_while(|(a, b)| a == b).count();
    Some((at, 0, source.floor_char_boundary(same)))
}

/// Returns the part of `text` that ends like `source`, whose blank end a preview leaves out.
fn last_part(text: &str, source: &str) -> Option<(usize, usize, usize)> {
    let source = source.trim_end();
    let anchor = source.get(source.ceil_char_boundary(source.len().checked_sub(ANCHOR)?)..)?;
    let end = memchr::memmem::rfind(text.as_bytes(), anchor.as_bytes())? + anchor.len();
    let same =
        text.as_bytes()[..end].iter().rev().zip(source.as_bytes().iter().rev()).take_while(|(a, b)| a == b);
    let from = source.ceil_char_boundary(source.len() - same.count());
    let bytes = source.len() - from;
    Some((end - bytes, from, bytes))
}

fn push_index(pointer: &mut String, index: usize) {
    pointer.push('/');
    pointer.push_str(&index.to_string());
}

fn push_key(pointer: &mut String, key: &str) {
    pointer.push('/');
    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::{any, prop, proptest};
    use serde_json::{Value, json};

    use super::{WithoutRepeats, leave_out, put_back};

    /// Leaves out what `data` has, puts it back, and returns what was left out.
    #[track_caller]
    fn round_trip(data: &Value, canonical: &Value, receipt: &str) -> WithoutRepeats {
        let without = leave_out(data, Some(canonical), Some(receipt));
        let mut restored = without.canonical.clone().unwrap_or_else(|| canonical.clone());
        let mut text = without.receipt.clone().unwrap_or_else(|| receipt.to_owned());
        put_back(&without.parts, Some(data), Some(&mut restored), Some(&mut text)).unwrap();
        assert_eq!((&restored, text.as_str()), (canonical, receipt));
        without
    }

    fn lines(range: std::ops::Range<u32>) -> String {
        range.map(|line| format!("line {line} of the – note\n")).collect()
    }

    #[test]
    fn a_text_and_both_ends_of_a_cut_one_are_left_out() {
        let text = lines(0..100);
        let data = json!({ "path": "a.md", "a/b~": { "content": text } });
        let canonical = json!({ "path": "a.md", "previews": [text, "short"] });
        let receipt =
            format!("Read a.md\n{}[80 lines left out]\n{}", lines(0..10), lines(90..100).trim_end());
        let without = round_trip(&data, &canonical, &receipt);
        expect![[r#"
            {"path":"a.md","previews":["","short"]}
            Read a.md
            [80 lines left out]
            [{"text":"/receipt","at":10,"of":"/a~1b~0/content","from":0,"bytes":230},{"text":"/receipt","at":29,"of":"/a~1b~0/content","from":2149,"bytes":240},{"text":"/canonical/result/previews/0","at":0,"of":"/a~1b~0/content","from":0,"bytes":2390}]"#]].assert_eq(&format!(
            "{}\n{}\n{}",
            without.canonical.unwrap(),
            without.receipt.unwrap(),
            json!(without.parts)
        ));
    }

    #[test]
    fn a_short_text_stays() {
        let data = json!({ "content": "hello\n" });
        let without = round_trip(&data, &json!({ "content_preview": "hello\n" }), "Read a.md\nhello");
        assert!(without.parts.is_empty() && without.canonical.is_none() && without.receipt.is_none());
    }

    #[test]
    fn a_part_that_is_not_in_the_data_is_an_error() {
        let (text, receipt) = (lines(0..100), lines(0..50));
        let without = leave_out(&json!({ "content": text }), None, Some(&receipt));
        for data in [json!({ "content": "short" }), json!({ "text": text }), json!({ "content": 1 })] {
            let mut left = without.receipt.clone().unwrap();
            let error = put_back(&without.parts, Some(&data), None, Some(&mut left)).unwrap_err();
            assert_eq!(error, "the part that `/receipt` repeats is not in `data`");
        }
        assert!(put_back(&without.parts, None, None, None).is_err());
    }

    proptest! {
        #[test]
        fn any_texts_are_put_together_again(
            pieces in prop::collection::vec("[ab–]{1,40}", 1..40),
            picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..6),
            other in any::<String>(),
        ) {
            let whole = pieces.concat();
            let mut receipt = other.clone();
            for (start, end) in picks {
                let (start, end) = (start.index(whole.len() + 1), end.index(whole.len() + 1));
                let (start, end) = (start.min(end), start.max(end));
                let part = &whole[whole.floor_char_boundary(start)..whole.floor_char_boundary(end)];
                receipt.push_str(part);
                receipt.push_str(&other);
            }
            let data = json!({ "a": whole, "b": [receipt, other] });
            round_trip(&data, &json!([receipt, { "c": whole, "d": [whole, other] }]), &receipt);
        }
    }
}
