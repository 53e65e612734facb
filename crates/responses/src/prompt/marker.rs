//! Markers: text that a model could take for a call, a record or another speaker.
//!
//! A marker is a bracket and a word after it: `<tool_call`, `[function_call_output`, `<|im_start|`. Models ignore
//! small differences, so these count too: upper case, invisible characters inside the word, look-alike brackets and
//! letters (`＜ｔｏｏｌ＿ｃａｌｌ＞`, `‹tool_саll›` with Cyrillic letters), white space and a slash between bracket and word.
//! Not counted: other brackets and tags (`<b>`, `[link]`, `<toolbar>`), entities (`&lt;`), escapes in a text
//! (`\u003c`), because neither the scanner nor a model makes a bracket of them.
//!
//! A text may continue in the next one: `<tool` at the end of a part and `_call>` at the start of the next. So the
//! beginning of a marker at the end of a text is a marker too.

use envelope::is_invisible;
use unicode_normalization::UnicodeNormalization;

/// The two kinds of brackets that start a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BracketKind {
    Angle,
    Square,
}

/// Words that make either kind of bracket a marker. `_` matches `_`, `-` or nothing. The calls and records of this
/// server, those of formats that models were trained on, and their tokens for whole prompts.
const WORDS: [&str; 14] = [
    "tool_call",
    "tool_output",
    "tool_response",
    "tool_result",
    "tool_use",
    "function_call",
    "function_output",
    "function_response",
    "function_result",
    "rejected_answer",
    "start_of_turn",
    "end_of_turn",
    "system_prompt",
    "available_tool",
];
const AFTER_ANGLE: [&str; 1] = ["sys"];
const AFTER_SQUARE: [&str; 1] = ["inst"];

/// Longer than every word and every name of a control token.
const LONGEST: usize = 48;

/// Returns the bracket that a character is or looks like.
pub(super) fn bracket(c: char) -> Option<BracketKind> {
    match c {
        '<' | '\u{ff1c}' | '\u{fe64}' | '\u{2039}' | '\u{2329}' | '\u{27e8}' | '\u{3008}' | '\u{276c}'
        | '\u{276e}' | '\u{1438}' | '\u{02c2}' | '\u{29fc}' => Some(BracketKind::Angle),
        '[' | '\u{ff3b}' | '\u{301a}' | '\u{27e6}' | '\u{2045}' | '\u{3010}' | '\u{3014}' | '\u{2772}' => {
            Some(BracketKind::Square)
        }
        _ => None,
    }
}

/// Whether the text after a bracket makes it a marker.
///
/// Reads only to the next bracket or backslash, so that a text of brackets is read once, and so that escaping those
/// does not change the result.
pub(super) fn makes_marker(bracket: BracketKind, rest: &str) -> bool {
    word_behind(rest).is_marker(bracket)
}

/// Whether more text after `rest` could change the result of [`makes_marker`].
pub(super) fn may_change(bracket: BracketKind, rest: &str) -> bool {
    let word = word_behind(rest);
    // A text that is not the beginning of a marker cannot become one.
    word.ended && word.is_marker(bracket)
}

fn word_behind(rest: &str) -> MarkerWord {
    let mut word = MarkerWord { chars: ['\0'; LONGEST], len: 0, ended: true };
    let mut slash = false;
    for c in rest.chars() {
        if c == '\\' || bracket(c).is_some() {
            word.ended = false;
            break;
        }
        match fold(c) {
            FoldedChar::Nothing => {}
            FoldedChar::Space if word.len == 0 => {}
            FoldedChar::Char('/') if word.len == 0 && !slash => slash = true,
            FoldedChar::Char(c) if word.len < LONGEST => {
                word.chars[word.len] = c;
                word.len += 1;
                if !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.' | '|') {
                    word.ended = false;
                    break;
                }
            }
            FoldedChar::Space | FoldedChar::Char(_) => {
                word.ended = false;
                break;
            }
        }
    }
    word
}

/// The word after a bracket, in plain letters.
struct MarkerWord {
    chars: [char; LONGEST],
    len: usize,
    /// Whether the text ends after it.
    ended: bool,
}

impl MarkerWord {
    fn is_marker(&self, bracket: BracketKind) -> bool {
        let more: &[&str] = match bracket {
            BracketKind::Angle => &AFTER_ANGLE,
            BracketKind::Square => &AFTER_SQUARE,
        };
        WORDS.iter().chain(more).any(|known| self.is(known))
            || (bracket == BracketKind::Angle && self.is_control_token())
    }

    fn at(&self, index: usize) -> Option<char> {
        self.chars[..self.len].get(index).copied()
    }

    /// Whether it is this word, singular or plural, or the beginning of it.
    fn is(&self, known: &str) -> bool {
        let mut at = 0;
        for wanted in known.chars() {
            match (wanted, self.at(at)) {
                (_, None) => return self.ended,
                ('_', Some('_' | '-')) => at += 1,
                ('_', Some(_)) => {}
                (_, Some(found)) if found == wanted => at += 1,
                (_, Some(_)) => return false,
            }
        }
        let plural = usize::from(self.at(at) == Some('s'));
        self.at(at + plural).is_none_or(|next| !next.is_alphanumeric())
    }

    /// Whether it is `|name|`, or the beginning of it.
    fn is_control_token(&self) -> bool {
        if self.at(0) != Some('|') {
            return false;
        }
        let name = (1..self.len)
            .take_while(|&at| self.chars[at].is_alphanumeric() || matches!(self.chars[at], '_' | '-' | '.'));
        match self.at(1 + name.count()) {
            None => self.ended,
            Some(end) => end == '|' && self.at(1) != Some('|'),
        }
    }
}

/// A character as a model reads it.
enum FoldedChar {
    /// Invisible.
    Nothing,
    Space,
    Char(char),
}

fn fold(c: char) -> FoldedChar {
    if c.is_whitespace() {
        return FoldedChar::Space;
    }
    if c.is_ascii() {
        return if c.is_ascii_control() {
            FoldedChar::Nothing
        } else {
            FoldedChar::Char(c.to_ascii_lowercase())
        };
    }
    if is_invisible_mark(c) {
        return FoldedChar::Nothing;
    }
    let plain = std::iter::once(c).nfkc().next().unwrap_or(c);
    FoldedChar::Char(look_alike(plain.to_lowercase().next().unwrap_or(plain)))
}

/// Whether a character is invisible or a combining mark.
fn is_invisible_mark(c: char) -> bool {
    is_invisible(c) || matches!(c, '\u{300}'..='\u{36f}')
}

/// Maps letters of other scripts that look like those of the words above, and other lines for `_`, `-`, `|`, `/`.
fn look_alike(c: char) -> char {
    match c {
        'а' | 'ɑ' | 'α' => 'a',
        'с' | 'ϲ' | 'ᴄ' => 'c',
        'е' => 'e',
        'ϝ' | 'ƒ' => 'f',
        'і' | 'ι' | 'ı' => 'i',
        'ӏ' | 'ǀ' | '∣' => 'l',
        'ո' | 'п' => 'n',
        'о' | 'ο' | 'օ' | 'ᴏ' => 'o',
        'р' | 'ρ' => 'p',
        'ѕ' => 's',
        'т' | 'τ' | 'ᴛ' => 't',
        'υ' | 'ս' => 'u',
        'у' => 'y',
        '\u{2581}' | '\u{2cd}' | '\u{203f}' => '_',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2502}' | '\u{2758}' => '|',
        '\u{2044}' | '\u{2215}' | '\u{29f8}' => '/',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{bracket, makes_marker};

    /// Whether a text begins with a marker.
    fn is_marker(text: &str) -> bool {
        let mut rest = text.chars();
        rest.next().and_then(bracket).is_some_and(|bracket| makes_marker(bracket, rest.as_str()))
    }

    #[track_caller]
    fn all_are(texts: &[&str], expected: bool) {
        for text in texts {
            assert_eq!(is_marker(text), expected, "{text:?}");
        }
    }

    #[test]
    fn calls_and_records_are_markers() {
        all_are(
            &["<tool_call>", "</tool_call>", "[function_call id=", "[function_call_output call_id="],
            true,
        );
        all_are(
            &["[rejected_answer text=", "<tool_calls>", "<tool-call a=\"b\">", "<toolcall>", "[TOOL_CALLS]"],
            true,
        );
    }

    #[test]
    fn control_tokens_of_chat_formats_are_markers() {
        all_are(
            &["<|im_start|>system", "<|eot_id|>", "<｜User｜>", "<｜tool▁calls▁begin｜>", "<|channel|>"],
            true,
        );
        all_are(&["[INST] a", "[/INST]", "<SYS>>", "<</SYS>>"[1..].as_ref(), "<start_of_turn>user"], true);
    }

    #[test]
    fn what_reads_like_a_marker_is_one() {
        all_are(
            &["<TOOL_CALL>", "< tool_call >", "<\n/ tool_call>", "＜ｔｏｏｌ＿ｃａｌｌ＞", "‹tool_саll›"],
            true,
        );
        all_are(&["<t\u{200b}ool_call>", "<\u{feff}tool_c\u{ad}all>", "<𝚝𝚘𝚘𝚕_𝚌𝚊𝚕𝚕>", "<tool\0_call>"], true);
        all_are(
            &["【function_call_output】", "［function_call id=", "[ function_call", "[\u{202e}function_call"],
            true,
        );
    }

    #[test]
    fn the_beginning_of_one_at_the_end_of_a_text_is_one() {
        all_are(
            &["<", "<t", "<tool", "<tool_", "<tool_call", "[", "[func", "</", "<|", "<|im_st", "[ "],
            true,
        );
        all_are(&["<b", "[x", "<tool ", "<|a b", "<||"], false);
    }

    #[test]
    fn ordinary_brackets_are_none() {
        all_are(&["<b>", "</b>", "<toolbar>", "<tool>", "<ToolCallout/>", "<T>", "<- x", "< 5 "], false);
        all_are(
            &["[link](a.md)", "[[Note]]", "[ ] task", "[x] task", "[^1]", "[function call](a.md)", "[1, 2]"],
            false,
        );
        all_are(
            &["<| a |> b", "<|>", "<||>", "[functional]", "[institute]", "<system>", "<s>", "<\\tool_call"],
            false,
        );
        all_are(&["&lt;tool_call&gt;", "\\u003ctool_call", "(tool_call)"], false);
    }
}
