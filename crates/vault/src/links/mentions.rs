//! Tells cheaply that a text cannot hold a link to any of some files.
//!
//! Every link to a file holds the name of the file, written out or escaped. A text without the name in any
//! place where an address can stand need not be parsed. The answer may be yes for nothing; it is never no
//! for something.

use aho_corasick::AhoCorasick;
use envelope::VaultPath;

use super::body::may_hold_links;
use super::destination::percent_decoded;
use super::fold::fold;
use super::properties::frontmatter;

/// The names to look for.
pub(super) struct Mentions {
    /// `None` when there are too many names to look for at once; then every text may hold one.
    names: Option<AhoCorasick>,
}

impl Mentions {
    pub(super) fn new<'a>(paths: impl Iterator<Item = &'a VaultPath>) -> Mentions {
        let mut names: Vec<String> = paths
            .map(|path| {
                let name = fold(path.name());
                name.strip_suffix(".md").map(str::to_owned).unwrap_or(name)
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        Mentions { names: AhoCorasick::builder().ascii_case_insensitive(true).build(names).ok() }
    }

    /// Whether a note may hold a link to one of the files.
    pub(super) fn possible_in(&self, text: &str) -> bool {
        let Some(names) = &self.names else {
            return true;
        };
        let block = frontmatter(text).map_or("", |frontmatter| &text[frontmatter.block]);
        // A string in double quotes can spell anything with escapes, even the brackets.
        block.contains('\\') || in_addresses(names, text) || in_block(names, block)
    }
}

/// A quoted string can go on over several lines, and doubles its quotes.
fn in_block(names: &AhoCorasick, block: &str) -> bool {
    if !may_hold_links(block) {
        return false;
    }
    let line = block.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    in_addresses(names, &line) || (line.contains("''") && in_addresses(names, &line.replace("''", "'")))
}

/// Looks only where an address can stand: to fold the whole text would take longer than to parse it.
fn in_addresses(names: &AhoCorasick, text: &str) -> bool {
    // Addresses that do not end overlap. Where there are many of them, the parser is quicker.
    let mut budget = 4 * text.len();
    for mark in ["[[", "](", "]:"] {
        for (at, _) in text.match_indices(mark) {
            let rest = &text[at + mark.len()..];
            let address = if mark == "[[" { wiki_address(rest) } else { destination(rest) };
            match budget.checked_sub(address.len()) {
                Some(left) => budget = left,
                None => return true,
            }
            if in_part(names, address) {
                return true;
            }
        }
    }
    false
}

/// Up to `]]` or the end of the line.
fn wiki_address(rest: &str) -> &str {
    let bytes = rest.as_bytes();
    let ends = |at: &usize| bytes[*at] == b'\n' || bytes[*at..].starts_with(b"]]");
    &rest[..(0..bytes.len()).find(ends).unwrap_or(bytes.len())]
}

/// What a destination can be at most. It may begin on the next line, behind the `>` of a quote.
fn destination(rest: &str) -> &str {
    let rest = rest.trim_start_matches([' ', '\t', '\r', '\n', '>']);
    let length = match rest.strip_prefix('<') {
        Some(angle) => angle.find(['<', '>', '\n']).map(|length| length + 1),
        None => rest.find([' ', '\t', '\r', '\n']),
    };
    &rest[..length.unwrap_or(rest.len())]
}

fn in_part(names: &AhoCorasick, part: &str) -> bool {
    let is_in = |part: &str| if part.is_ascii() { names.is_match(part) } else { names.is_match(&fold(part)) };
    if is_in(part) {
        return true;
    }
    // `&eacute;` and its like. What they stand for is known to the parser.
    if part.contains('&') && part.contains(';') {
        return true;
    }
    let plain = part.contains('\\').then(|| part.replace('\\', ""));
    if plain.as_deref().is_some_and(is_in) {
        return true;
    }
    part.contains('%') && is_in(&percent_decoded_in_pieces(plain.as_deref().unwrap_or(part)))
}

/// Decodes each word for itself: one word that is no text when decoded must not hide the others.
fn percent_decoded_in_pieces(part: &str) -> String {
    let mut decoded = String::with_capacity(part.len());
    for word in part.split_inclusive([' ', '(', ')', '<', '>', '#', ']', ':', '|', '"', '\'', '\t']) {
        decoded.push_str(&percent_decoded(word));
    }
    decoded
}

#[cfg(test)]
mod tests {
    use envelope::VaultPath;

    use super::Mentions;

    #[test]
    fn a_name_is_seen_however_it_is_written_and_only_near_a_link() {
        let paths = ["x/Café R&D_1.md", "p.png"].map(|path| VaultPath::parse(path).unwrap());
        let mentions = Mentions::new(paths.iter());
        for (text, possible) in [
            ("[[café r&d_1]]", true),
            ("[[CAFE\u{301} R&D_1#h|x]]", true),
            ("[a](caf%C3%A9%20r&d_1.md)", true),
            ("[a](<café r\\&d\\_1.md>)", true),
            ("[a](caf&eacute;%20r&amp;d_1.md)", true),
            ("> [a](\n> <café r&d_1.md>)", true),
            ("[a]:\n  P.PNG", true),
            ("---\na: \"[[café\n  r&d_1]]\"\n---\n", true),
            ("---\na: \"\\x5b[caf\\xe9 r&d_1]]\"\n---\n", true),
            ("café r&d_1\n\n[[other]]", false),
            ("[[caf]] ![[p]]", false),
            ("p.png", false),
            ("[![i](in.png)](<café r&d_1.md>)", true),
            ("[[a [x](<b [x](\np.png)", true),
            ("[[other|café r&d_1", true),
            ("[[other]] café r&d_1 [x](y \"café r&d_1\")", false),
        ] {
            assert_eq!(mentions.possible_in(text), possible, "{text:?}");
        }
    }
}
