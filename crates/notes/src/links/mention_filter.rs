//! Cheap filter for texts that cannot contain a link to any of some files.
//!
//! Every link to a file contains the file's name, plain or escaped. A text without the name in any place
//! where a link address can be does not need parsing. The filter can return true for a text without such a
//! link, but never false for a text with one.

use aho_corasick::AhoCorasick;
use envelope::VaultPath;

use super::body::may_hold_links;
use super::destination::percent_decoded;
use super::fold::{fold, linked_path};
use super::properties::frontmatter;

/// The names to search for.
pub(super) struct MentionFilter {
    /// `None` if there are too many names for one search; then every text counts as a possible match.
    names: Option<AhoCorasick>,
}

impl MentionFilter {
    pub(super) fn new<'a>(paths: impl Iterator<Item = &'a VaultPath>) -> MentionFilter {
        let mut names: Vec<String> = paths
            .map(|path| {
                let name = fold(linked_name(&linked_path(path)));
                name.strip_suffix(".md").map(str::to_owned).unwrap_or(name)
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        MentionFilter { names: AhoCorasick::builder().ascii_case_insensitive(true).build(names).ok() }
    }

    /// Whether a note could contain a link to one of the files.
    pub(super) fn may_mention(&self, text: &str) -> bool {
        let Some(names) = &self.names else {
            return true;
        };
        let block = frontmatter(text).map_or("", |frontmatter| &text[frontmatter.block]);
        // Escapes in a double-quoted string can spell anything, even the brackets.
        block.contains('\\') || in_addresses(names, text) || block_mentions(names, block)
    }
}

fn linked_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// A quoted string can span several lines, and doubles the quotes in it.
fn block_mentions(names: &AhoCorasick, block: &str) -> bool {
    if !may_hold_links(block) {
        return false;
    }
    let line = block.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    in_addresses(names, &line) || (line.contains("''") && in_addresses(names, &line.replace("''", "'")))
}

/// Searches only where a link address can be: folding the whole text would take longer than parsing it.
fn in_addresses(names: &AhoCorasick, text: &str) -> bool {
    // Unterminated addresses overlap. If there are many of them, the parser is faster.
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

/// Returns the text up to `]]` or the end of the line.
fn wiki_address(rest: &str) -> &str {
    let bytes = rest.as_bytes();
    let ends = |at: &usize| bytes[*at] == b'\n' || bytes[*at..].starts_with(b"]]");
    &rest[..(0..bytes.len()).find(ends).unwrap_or(bytes.len())]
}

/// Returns the longest possible destination. It can begin on the next line, after the `>` of a quote.
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
    // Character references such as `&eacute;` need the parser.
    if part.contains('&') && part.contains(';') {
        return true;
    }
    let plain = part.contains('\\').then(|| part.replace('\\', ""));
    if plain.as_deref().is_some_and(is_in) {
        return true;
    }
    part.contains('%') && is_in(&percent_decoded_in_pieces(plain.as_deref().unwrap_or(part)))
}

/// Decodes each word separately: a word that does not decode to UTF-8 must not hide the others.
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

    use super::MentionFilter;

    #[test]
    fn a_name_is_seen_however_it_is_written_and_only_near_a_link() {
        let paths = ["x/Café R&D_1.md", "p.png"].map(|path| VaultPath::parse(path).unwrap());
        let mentions = MentionFilter::new(paths.iter());
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
            assert_eq!(mentions.may_mention(text), possible, "{text:?}");
        }
    }
}
