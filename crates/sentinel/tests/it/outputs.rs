//! What a model may write, well and badly: prose, calls, calls that were damaged, quoted, nested or cut off, tags and
//! halves of tags, and characters of every kind.

use super::drawing::Draw;
use super::fragments::FRAGMENTS;

const PROSE: [&str; 18] = [
    "Let me look. ",
    "a < b and b > c, ",
    "Zürich 東京 🙂 ",
    "\n\n",
    "- one\n- two\n",
    "`code` ",
    "the tag <tool_call> is ",
    "and </tool_call> too ",
    "<b>bold</b> ",
    "<<",
    "{\"a\": 1} ",
    "e\u{301}\u{200d}\u{feff}",
    "\r\n",
    "    indented\n",
    // As a model may repeat what was escaped for it.
    "\\u003ctool_call>",
    "\\u005bfunction_call",
    "\\u005cu003c",
    "\\u00",
];
const CONTROLS: [char; 12] = [
    '\u{0}', '\u{1}', '\u{8}', '\u{b}', '\u{1b}', '\u{1f}', '\u{7f}', '\u{85}', '\u{2028}', '\u{2029}',
    '\u{202e}', '\u{fffd}',
];
const NAMES: [&str; 11] = ["f", "f", "f", "f", "read_file", "read_file", "strict", "g", "F", "", "f\u{0}"];
const KEYS: [&str; 8] = ["a", "path", "é", "", "id", "type", "parameters", "name"];
const SPACES: [&str; 6] = ["", "", "", "\n", " ", " \t\r\n "];
const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

/// One answer of a model.
pub(crate) fn output(draw: &mut Draw) -> String {
    let mut text = String::new();
    for _ in 0..1 + draw.below(6) {
        part(draw, &mut text);
    }
    text
}

fn part(draw: &mut Draw, text: &mut String) {
    match draw.below(12) {
        0..2 => (0..1 + draw.below(4)).for_each(|_| text.push_str(draw.of(&PROSE))),
        2..5 => text.push_str(&block(draw)),
        5..7 => {
            let block = block(draw);
            text.push_str(&damaged(draw, block));
        }
        7 => quoted(draw, text),
        8 => {
            let half = draw.of(&[OPEN, CLOSE]);
            text.push_str(&half[..1 + draw.below(half.len())]);
        }
        9 => {
            // The stream ends, or goes on with something else.
            let block = block(draw);
            text.push_str(&block[..draw.place(&block)]);
        }
        10 => (0..1 + draw.below(8)).for_each(|_| text.push(character(draw))),
        _ => (0..1 + draw.below(16)).for_each(|_| text.push_str(draw.of(&FRAGMENTS))),
    }
}

fn character(draw: &mut Draw) -> char {
    match draw.below(3) {
        0 => draw.of(&CONTROLS),
        1 => char::from(draw.below(128) as u8),
        _ => char::from_u32(draw.below(0x11_0000) as u32).unwrap_or('\u{fffd}'),
    }
}

/// A block whose JSON is right, or nearly so.
fn block(draw: &mut Draw) -> String {
    let mut members = Vec::new();
    if !draw.one_in(20) {
        let name = string(draw.of(&NAMES), draw);
        members.push(format!("\"name\":{}{name}", draw.of(&SPACES)));
    }
    if !draw.one_in(12) {
        let given = match draw.below(6) {
            0..3 => {
                let arguments = object(draw, 0);
                // Some are not quite JSON inside of the text, which is.
                let arguments = if draw.one_in(4) { damaged(draw, arguments) } else { arguments };
                string(&arguments, draw)
            }
            3..5 => object(draw, 0),
            _ => value(draw, 0),
        };
        members.push(format!("\"arguments\":{}{given}", draw.of(&SPACES)));
    }
    while draw.one_in(5) {
        members.push(format!("{}:{}", string(draw.of(&KEYS), draw), value(draw, 2)));
    }
    if draw.one_in(3) {
        members.reverse();
    }
    let members = members.join(draw.of(&[",", ", ", ",\n  "]));
    // Sometimes a fault that can be repaired.
    let end = if draw.one_in(8) { draw.of(&[",}", "}}", "}]", ", }"]) } else { "}" };
    format!("{OPEN}{}{{{members}{end}{}{CLOSE}", draw.of(&SPACES), draw.of(&SPACES))
}

fn object(draw: &mut Draw, depth: usize) -> String {
    let members: Vec<String> = (0..draw.below(4))
        .map(|_| format!("{}:{}{}", string(draw.of(&KEYS), draw), draw.of(&SPACES), value(draw, depth + 1)))
        .collect();
    format!("{{{}{}}}", members.join(","), draw.of(&SPACES))
}

fn value(draw: &mut Draw, depth: usize) -> String {
    match draw.below(if depth < 3 { 8 } else { 5 }) {
        0..4 => {
            let text = inner_text(draw, depth);
            string(&text, draw)
        }
        4 => draw.of(&["true", "false", "null", "0", "-1.5e+7", "1e999", "12345678901234567890"]).to_owned(),
        5 => {
            let values: Vec<String> = (0..draw.below(3)).map(|_| value(draw, depth + 1)).collect();
            format!("[{}]", values.join(","))
        }
        _ => object(draw, depth),
    }
}

/// The text of a string, which may look like anything.
fn inner_text(draw: &mut Draw, depth: usize) -> String {
    match draw.below(8) {
        0 => CLOSE.to_owned(),
        1 if depth < 3 => block(draw),
        2 => format!("{}{}", draw.of(&FRAGMENTS), draw.of(&FRAGMENTS)),
        3 => (0..draw.below(4)).map(|_| character(draw)).collect(),
        4 => "\n```\n".to_owned(),
        _ => draw.of(&PROSE).to_owned(),
    }
}

/// A text as a JSON string, with escapes where they must be and where they may be.
fn string(text: &str, draw: &mut Draw) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '/' if draw.one_in(3) => out.push_str("\\/"),
            _ if character < ' ' || draw.one_in(40) => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            _ => out.push(character),
        }
    }
    out + "\""
}

/// The same with a few things missing, added, twice or in another place.
fn damaged(draw: &mut Draw, mut text: String) -> String {
    for _ in 0..1 + draw.below(2) {
        let (one, other) = (draw.place(&text), draw.place(&text));
        let (from, to) = (one.min(other), one.max(other));
        let near = text.ceil_char_boundary((from + 1 + draw.below(3)).min(text.len()));
        match draw.below(6) {
            0 => text.replace_range(from..near, ""),
            1 => text.insert_str(from, draw.of(&FRAGMENTS)),
            2 => text.insert(from, draw.of(&['}', ']', ',', '"', '\\', '{', '[', '<'])),
            3 => {
                let twice = text[from..to].to_owned();
                text.insert_str(to, &twice);
            }
            4 => text.truncate(to),
            _ => text.insert(from, character(draw)),
        }
    }
    text
}

/// Something inside of a fence, of a code span, or of half of one.
fn quoted(draw: &mut Draw, text: &mut String) {
    let mut inner = String::new();
    match draw.below(3) {
        0 => inner.push_str(draw.of(&FRAGMENTS)),
        1 => inner.push_str(draw.of(&PROSE)),
        _ => inner.push_str(&block(draw)),
    }
    let (before, after) = draw.of(&[
        ("`", "`"),
        ("``", "``"),
        ("\n```\n", "\n```\n"),
        ("\n```json\n", "\n```\n"),
        ("\n~~~~\n", "\n~~~~\n"),
        ("\n  ```\n", "\n~~~\n"),
        ("```", "```"),
        ("`", "\n"),
        ("\n````\n", "\n```\n"),
        ("> ```\n> ", "\n> ```\n"),
    ]);
    text.push_str(&format!("{before}{inner}{after}"));
}
