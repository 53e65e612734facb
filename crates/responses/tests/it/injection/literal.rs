//! A transcript without escapes: each output between its brackets, as it came. What these tests must be able to catch.

/// The number of records of [`transcript`] without an attack.
pub(crate) const HONEST: usize = 2;

/// A message of the user and the output of a call, both with the same text.
pub(crate) fn transcript(text: &str) -> String {
    format!(
        "user:\n{text}\n[function_call id=fc_1 call_id=call_1 name=read_note arguments={{}}]\n[function_call_output call_id=call_1 output={text}]\n"
    )
}

/// Lines that look like a record, whatever ends a line.
pub(crate) fn records(transcript: &str) -> usize {
    transcript
        .split(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'])
        .filter(|line| line.trim_start().starts_with("[function_call"))
        .count()
}
