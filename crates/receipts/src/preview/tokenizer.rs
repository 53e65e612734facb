//! Estimates the number of tokens of a text.
//!
//! A real tokenizer needs a vocabulary of several megabytes and half a minute of build time. A budget needs less:
//! an estimate that is close, deterministic, and rather too high than too low. So the text is split into the same
//! pieces as by `o200k_base` (a word with the character before it, three digits, punctuation with the line end
//! after it, white space), and each piece costs what such a piece costs on average: a word by its length, its case,
//! its prefix, and its letter pairs that are rare inside one token. The letter pairs distinguish a hash or a
//! foreign language from English.
//!
//! The averages were measured on Rust, Python, Markdown and JSON. `tests/it/preview/tokens.rs` compares the
//! estimate with true counts: within 10 % over all samples, and within 25 % for each of them.
//!
//! Costs are integers in hundredths of a token, so that every machine computes the same.

/// Cost of a piece that is one token.
const TOKEN: u64 = 100;
/// Divisor for the final count: slightly less than a token, because an estimate that is too high is the safe error.
const COUNTED_AS_ONE: u64 = 98;
/// Less than half a token is rounded down, so that one word is one token.
const ROUNDING: u64 = COUNTED_AS_ONE / 2 - 1;
/// Longest piece, so that a cut between pieces is never far from its ideal position.
const LONGEST_PIECE: usize = 48;

/// Estimates the number of tokens of `text`.
///
/// ```text
/// estimate("let total = count + 1;") == 8
/// ```
pub fn estimate(text: &str) -> usize {
    counted(cost_up_to(text, u64::MAX))
}

fn counted(cost: u64) -> usize {
    usize::try_from((cost + ROUNDING) / COUNTED_AS_ONE).unwrap_or(usize::MAX)
}

/// Returns true if `text` has at most `tokens` tokens. A short text is not scanned.
pub fn is_within(text: &str, tokens: usize) -> bool {
    // No byte costs more than a token or two, however it is rounded.
    text.len() <= tokens / 2 || counted(cost_up_to(text, cost_of(tokens.saturating_add(1)))) <= tokens
}

/// Returns the length of the longest prefix of `text` within `tokens`, at a character boundary.
pub fn prefix_within(text: &str, tokens: usize) -> usize {
    let allowed = cost_of(tokens);
    let (mut at, mut cost) = (0, 0);
    while at < text.len() {
        let piece = next_piece(text, at);
        cost += piece.cost;
        if cost > allowed {
            break;
        }
        at = piece.end;
    }
    // A piece that is cut off from the text after it can cost slightly more than before.
    while at > 0 && estimate(&text[..at]) > tokens {
        at = text.floor_char_boundary(at - 1);
    }
    at
}

/// Returns the cost of `text`, counted up to `limit`: the sum of many lines must not round each of them, and a line
/// of megabytes need not be read to its end.
pub(super) fn cost_up_to(text: &str, limit: u64) -> u64 {
    let (mut at, mut cost) = (0, 0);
    while at < text.len() && cost < limit {
        let piece = next_piece(text, at);
        at = piece.end;
        cost += piece.cost;
    }
    cost
}

/// Returns the highest cost, in the unit of `cost_up_to`, that still counts as `tokens`.
pub(super) fn cost_of(tokens: usize) -> u64 {
    (tokens as u64).saturating_mul(COUNTED_AS_ONE).saturating_add(ROUNDING)
}

struct TokenPiece {
    end: usize,
    cost: u64,
}

/// Character before a word that is part of its token.
#[derive(Clone, Copy)]
enum WordPrefix {
    Nothing,
    Space,
    Sign,
}

/// Returns the piece that begins at `start`, which must be inside the text.
fn next_piece(text: &str, start: usize) -> TokenPiece {
    let bytes = text.as_bytes();
    let after = bytes.get(start + 1).copied().unwrap_or(b'\n');
    match bytes[start] {
        b'a'..=b'z' | b'A'..=b'Z' => word_piece(bytes, start, WordPrefix::Nothing),
        b' ' if after.is_ascii_alphabetic() => word_piece(bytes, start + 1, WordPrefix::Space),
        b' ' if is_sign(after) => sign_piece(bytes, start + 1),
        // Part of the following token, except before digits.
        b' ' if !after.is_ascii() => TokenPiece { end: start + 1, cost: 12 },
        b' ' | b'\t' | b'\n' | b'\r' => space_piece(bytes, start),
        b'0'..=b'9' => digit_piece(bytes, start),
        0x80.. => script_piece(text, start),
        _ if after.is_ascii_alphabetic() => word_piece(bytes, start + 1, WordPrefix::Sign),
        _ => sign_piece(bytes, start),
    }
}

/// Letters: capitals first, then lower case, as in `HTTPServer`, which is one piece.
fn word_piece(bytes: &[u8], start: usize, lead: WordPrefix) -> TokenPiece {
    let mut end = start;
    let limit = bytes.len().min(start + LONGEST_PIECE);
    let (mut before, mut seldom) = (None, 0);
    let mut capitals = 0;
    let mut small = 0;
    while end < limit {
        let byte = bytes[end];
        match byte {
            b'a'..=b'z' => small += 1,
            b'A'..=b'Z' if small == 0 => capitals += 1,
            // A letter with an accent belongs to the word, and often splits it into two tokens.
            0xc3 if end + 1 < bytes.len() && end > start => {
                seldom += 1;
                small += 1;
                before = None;
                end += 2;
                continue;
            }
            _ => break,
        }
        let letter = usize::from((byte | 0x20) - b'a');
        if let Some(before) = before {
            seldom += u64::from(COMMON_PAIRS[before] >> letter & 1 == 0);
        }
        before = Some(letter);
        end += 1;
    }
    let costs = match (capitals, small, lead) {
        (0, _, WordPrefix::Space) => &SMALL_AFTER_SPACE,
        (0, _, WordPrefix::Nothing) => &SMALL_ALONE,
        (0, _, WordPrefix::Sign) => &SMALL_AFTER_SIGN,
        (1, 1.., WordPrefix::Space | WordPrefix::Nothing) => &CAPITALISED,
        (1, 1.., WordPrefix::Sign) => &CAPITALISED_AFTER_SIGN,
        (_, _, _) => &CAPITALS,
    };
    let letters = capitals + small;
    let longest = costs.len() - 1;
    let base = u64::from(costs[letters.min(longest)]);
    let beyond = letters.saturating_sub(longest) as u64 * PER_FURTHER_LETTER;
    TokenPiece { end, cost: base + beyond + seldom * PER_SELDOM_PAIR }
}

fn digit_piece(bytes: &[u8], start: usize) -> TokenPiece {
    let limit = bytes.len().min(start + 3);
    let end = (start..limit).find(|&at| !bytes[at].is_ascii_digit()).unwrap_or(limit);
    TokenPiece { end, cost: TOKEN }
}

/// Punctuation, and the line ends directly after it. A line of one repeated character, as below a heading, is about
/// one token.
fn sign_piece(bytes: &[u8], start: usize) -> TokenPiece {
    let limit = bytes.len().min(start + LONGEST_PIECE);
    let mut end = start;
    let mut changes: u64 = 0;
    let mut json = true;
    while end < limit && is_sign(bytes[end]) {
        json &= matches!(bytes[end], b'"' | b':' | b',' | b'{' | b'}' | b'[' | b']');
        changes += u64::from(end > start && bytes[end] != bytes[end - 1]);
        end += 1;
    }
    let length = (end - start) as u64;
    while end < limit && matches!(bytes[end], b'\n' | b'\r') {
        end += 1;
    }
    let cost = match changes {
        0 | 1 => TOKEN + 4 * length.saturating_sub(2),
        // `","` and `":{"` and similar sequences are so common that they are one token.
        2.. if json => TOKEN + (changes - 2) * 30,
        2 => TOKEN + 30,
        3.. => TOKEN + 30 + (changes - 2) * 58,
    };
    TokenPiece { end, cost }
}

/// White space up to its last line end; otherwise all but the space that is part of the next piece.
fn space_piece(bytes: &[u8], start: usize) -> TokenPiece {
    let limit = bytes.len().min(start + LONGEST_PIECE);
    let mut end = start;
    let mut line_end = None;
    while end < limit && matches!(bytes[end], b' ' | b'\t' | b'\n' | b'\r') {
        if matches!(bytes[end], b'\n' | b'\r') {
            line_end = Some(end + 1);
        }
        end += 1;
    }
    if let Some(end) = line_end {
        return TokenPiece { end, cost: TOKEN };
    }
    let next_takes_one = end > start + 1 && end < bytes.len() && !bytes[end].is_ascii_digit();
    TokenPiece { end: if next_takes_one { end - 1 } else { end }, cost: TOKEN }
}

/// One character beyond ASCII, by its script.
fn script_piece(text: &str, start: usize) -> TokenPiece {
    let Some(c) = text[start..].chars().next() else { return TokenPiece { end: text.len(), cost: 0 } };
    let end = start + c.len_utf8();
    let repeated = text[..start].ends_with(c);
    let cost = match u32::from(c) {
        _ if repeated && !c.is_alphabetic() => 30,
        0x00c0..=0x024f => 80,
        0x0370..=0x03ff => 34,
        0x0400..=0x052f => 26,
        0x0590..=0x08ff => 33,
        0x0900..=0x0dff => 30,
        0x0e00..=0x0eff => 52,
        0x2000..=0x25ff => 115,
        0x2600..=0x27ff => 140,
        0x2800..=0x28ff => 230,
        0x3000..=0x30ff => 72,
        0x3400..=0x9fff => 70,
        0xac00..=0xd7af => 67,
        0xf000..=0xffff => 100,
        0x1_0000.. => 220,
        _ => 110,
    };
    TokenPiece { end, cost }
}

fn is_sign(byte: u8) -> bool {
    byte.is_ascii() && !byte.is_ascii_alphanumeric() && !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

const PER_FURTHER_LETTER: u64 = 36;
const PER_SELDOM_PAIR: u64 = 46;

/// By the number of letters, in hundredths of a token. The measured values are smoothed so that they never
/// decrease.
const SMALL_AFTER_SPACE: [u16; 17] =
    [0, 100, 100, 102, 102, 103, 104, 106, 110, 114, 116, 123, 130, 134, 140, 150, 190];
const SMALL_ALONE: [u16; 17] =
    [0, 100, 100, 102, 105, 109, 118, 130, 155, 165, 170, 188, 195, 205, 222, 250, 300];
const SMALL_AFTER_SIGN: [u16; 17] =
    [0, 101, 112, 118, 122, 132, 137, 148, 170, 196, 204, 216, 255, 260, 270, 300, 350];
const CAPITALISED: [u16; 17] =
    [0, 100, 104, 105, 105, 111, 112, 113, 135, 138, 142, 160, 172, 182, 205, 230, 260];
const CAPITALISED_AFTER_SIGN: [u16; 17] =
    [0, 102, 180, 158, 158, 160, 165, 185, 190, 195, 225, 250, 285, 300, 320, 340, 360];
const CAPITALS: [u16; 17] =
    [0, 100, 108, 136, 155, 172, 192, 200, 235, 260, 290, 335, 385, 420, 450, 470, 500];

/// For each letter the letters that often follow it inside one token: bit 0 is `a`, bit 25 is `z`.
const COMMON_PAIRS: [u32; 26] = [
    0x03fe_bd7e, // a
    0x011e_4b1d, // b
    0x011e_dd9d, // c
    0x013e_595f, // d
    0x01ff_fdff, // e
    0x011e_6931, // f
    0x001e_79d1, // g
    0x011e_5911, // h
    0x02ae_fc7f, // i
    0x0014_4011, // j
    0x0044_2951, // k
    0x013c_cd7f, // l
    0x011c_f91b, // m
    0x013c_fdfd, // n
    0x01fe_ff7f, // o
    0x011e_c99d, // p
    0x0010_0000, // q
    0x017e_fd7f, // r
    0x017f_fdbd, // s
    0x01de_d9bd, // t
    0x008e_f97f, // u
    0x0000_4111, // v
    0x0006_6191, // w
    0x0008_9115, // x
    0x004c_f910, // y
    0x0000_4111, // z
];
