//! Repairs JSON. [`JsonTokenizer`](super::JsonTokenizer) has read it and found no other fault.

/// Returns the JSON without commas before closing brackets and without the stray bracket, and with line breaks and
/// tabs in strings as escapes.
pub(crate) fn repaired(text: &str, stray: Option<usize>) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut in_string = false;
    let mut escaped = false;
    // The position of the last comma, if only white space followed it.
    let mut comma: Option<usize> = None;
    for (at, character) in text.char_indices() {
        if in_string {
            match character {
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                plain => out.push(plain),
            }
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        if stray == Some(at) {
            continue;
        }
        match character {
            ',' => comma = Some(out.len()),
            ' ' | '\n' | '\r' | '\t' => {}
            '}' | ']' => {
                if let Some(at) = comma.take() {
                    out.remove(at);
                }
            }
            other => {
                comma = None;
                in_string = other == '"';
            }
        }
        out.push(character);
    }
    out
}
