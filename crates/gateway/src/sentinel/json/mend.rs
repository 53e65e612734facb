//! The one repair. What is mended was read by [`Cursor`](super::Cursor), which found nothing else wrong with it.

/// The same JSON without the commas that stand before a closing bracket and without the stray bracket, and
/// with line breaks and tabs inside strings written as escapes.
pub(in crate::sentinel) fn mended(text: &str, stray: Option<usize>) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut in_string = false;
    let mut escaped = false;
    // Where the last comma stands, as long as there was only white space behind it.
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
