//! Splits the words of a program into options and operands.

/// The options of a program.
#[derive(Clone, Copy)]
pub(super) struct OptionTable {
    /// Short options without a value.
    pub(super) flags: &'static str,
    /// Short options with a value, which is the rest of the word or the next word.
    pub(super) values: &'static str,
    pub(super) long_flags: &'static [&'static str],
    pub(super) long_values: &'static [&'static str],
}

impl OptionTable {
    pub(super) const fn short(flags: &'static str, values: &'static str) -> OptionTable {
        OptionTable { flags, values, long_flags: &[], long_values: &[] }
    }

    pub(super) const fn long(
        self,
        long_flags: &'static [&'static str],
        long_values: &'static [&'static str],
    ) -> OptionTable {
        OptionTable { long_flags, long_values, ..self }
    }

    /// Splits the words of a program into its options and the rest. Also returns the first unknown option: it may take
    /// a value.
    pub(super) fn split<'a>(&self, words: &'a [String]) -> OptionSplit<'a> {
        let mut at = 0;
        let mut unknown = None;
        while let Some(word) = words.get(at) {
            if word == "--" {
                at += 1;
                break;
            }
            if !word.starts_with('-') || word == "-" {
                break;
            }
            let takes_next = match word.strip_prefix("--") {
                Some(long) => self.long_takes_next(long),
                None => self.short_takes_next(&word[1..]),
            };
            at += 1 + usize::from(takes_next == Some(true));
            if takes_next.is_none() {
                unknown.get_or_insert(word.as_str());
            }
        }
        let at = at.min(words.len());
        OptionSplit { options: &words[..at], rest: &words[at..], unknown }
    }

    fn long_takes_next(&self, word: &str) -> Option<bool> {
        let (name, has_value) = word.split_once('=').map_or((word, false), |(name, _)| (name, true));
        if self.long_values.contains(&name) {
            return Some(!has_value);
        }
        self.long_flags.contains(&name).then_some(false)
    }

    /// Returns whether the last option of a group of short options takes the next word as its value. `None` if one of them is
    /// unknown.
    pub(super) fn short_takes_next(&self, letters: &str) -> Option<bool> {
        for (at, letter) in letters.char_indices() {
            if self.values.contains(letter) {
                return Some(at + letter.len_utf8() == letters.len());
            }
            if !self.flags.contains(letter) {
                return None;
            }
        }
        Some(false)
    }
}

pub(super) struct OptionSplit<'a> {
    pub(super) options: &'a [String],
    pub(super) rest: &'a [String],
    pub(super) unknown: Option<&'a str>,
}

impl OptionSplit<'_> {
    /// Whether one of these short options is given.
    pub(super) fn has_short(&self, letters: &str) -> bool {
        let mut short = self.options.iter().filter(|word| word.starts_with('-') && !word.starts_with("--"));
        short.any(|word| word.contains(|c| letters.contains(c)))
    }
}

/// Whether a word is the option, in any spelling: `-x` also in a bundle or with its value attached, `--long` also
/// abbreviated or with a value, `-word` also with two dashes, `NAME=` with any value, `+` as a beginning. `=-x` matches
/// `-x` exactly, for programs without bundles.
pub(super) fn is_option(word: &str, option: &str) -> bool {
    if let Some(exact) = option.strip_prefix('=') {
        return word == exact;
    }
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    if let Some(long) = option.strip_prefix("--") {
        let given = name.strip_prefix("--").unwrap_or_default();
        return !given.is_empty() && long.starts_with(given);
    }
    match option.strip_prefix('-') {
        Some(letter) if letter.chars().count() == 1 => {
            word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
        }
        Some(single) => name.strip_prefix("--").or(name.strip_prefix('-')) == Some(single),
        None => word.starts_with(option),
    }
}

#[cfg(test)]
mod tests {
    use super::{OptionTable, is_option};

    #[test]
    fn options_end_where_the_program_would_see_them_end() {
        const OPTIONS: OptionTable = OptionTable::short("ab", "n").long(&["quiet"], &["level"]);
        for (words, rest, unknown) in [
            ("-a -n 5 cmd -x", "cmd -x", None),
            ("-abn5 cmd", "cmd", None),
            ("-an 5 cmd", "cmd", None),
            ("--level 3 --quiet cmd", "cmd", None),
            ("--level=3 -- -cmd", "-cmd", None),
            ("- cmd", "- cmd", None),
            ("-z cmd", "cmd", Some("-z")),
            ("--lev 3 cmd", "3 cmd", Some("--lev")),
            ("-n", "", None),
        ] {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            let split = OPTIONS.split(&words);
            assert_eq!((split.rest.join(" ").as_str(), split.unknown), (rest, unknown), "{words:?}");
        }
    }

    #[test]
    fn an_option_is_known_however_it_is_spelled() {
        for (word, option, expected) in [
            ("-c", "-c", true),
            ("-cx=y", "-c", true),
            ("-xIf", "-I", true),
            ("--cached", "-c", false),
            ("--to-command=sh", "--to-command", true),
            ("--to-c=sh", "--to-command", true),
            ("--to-commander", "--to-command", false),
            ("--", "--to-command", false),
            ("-exec", "-exec", true),
            ("--exec=x", "-exec", true),
            ("-execdir", "-exec", false),
            ("SHELL=/tmp/x", "SHELL=", true),
            ("+!sh", "+", true),
            ("-B", "=-B", true),
            ("-DNDEBUG", "=-B", false),
        ] {
            assert_eq!(is_option(word, option), expected, "{word} {option}");
        }
    }
}
