//! A rule over the words of a command: the program, then the words that must follow it.
//!
//! The same words are matched in two ways: as widely as possible by rules that forbid, and as narrowly as possible by
//! rules that allow. A doubt leads to a question, never to an approval.
//!
//! A rule that allows covers exactly its words. More words are covered if the whole command is known to be harmless, or
//! if the rule asks for them: `"*"` is one word, `"..."` at the end is any number of words.

use serde::{Deserialize, Serialize};

use super::SimpleCommand;
use super::harmless::{has_table, is_harmless};
use super::option_table::is_option;
use super::program_name::{name_of, program_family, system_name};
use super::risky_options::{reaches_further, runs_another};
use super::shell_parser::is_assignment;
use super::wrappers::{chooses_program, git, is_wrapper};

/// One word of a prefix, or a list of alternatives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PrefixWord {
    One(String),
    Any(Vec<String>),
}

impl PrefixWord {
    fn choices(&self) -> &[String] {
        match self {
            PrefixWord::One(word) => std::slice::from_ref(word),
            PrefixWord::Any(words) => words,
        }
    }
}

/// Matches one word.
const ANY_WORD: &str = "*";
/// Matches any number of words, at the end.
const ANY_REST: &str = "...";

/// All spellings are checked when the rule is loaded.
const MAX_SPELLINGS: usize = 1000;

/// Pattern of one word after the program.
#[derive(Debug, Clone, PartialEq, Eq)]
enum WordPattern {
    Named(Vec<String>),
    AnyWord,
}

/// A compiled prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPrefix {
    program: Vec<String>,
    words: Vec<WordPattern>,
    /// The prefix ends in `...`.
    open: bool,
}

impl CommandPrefix {
    /// Compiles a prefix. Fails with a message if it could never match as intended.
    pub fn compile(words: &[PrefixWord]) -> Result<CommandPrefix, String> {
        let choices: Vec<&[String]> = words.iter().map(PrefixWord::choices).collect();
        if choices.iter().any(|choices| choices.is_empty() || choices.iter().any(String::is_empty)) {
            return Err("a word of `command` is empty".to_owned());
        }
        let Some((program, words)) = choices.split_first() else {
            return Err("`command` is empty; name at least the program".to_owned());
        };
        if let Some(several) = program.iter().find(|name| name.contains(char::is_whitespace)) {
            let apart: Vec<String> = several.split_whitespace().map(|word| format!("{word:?}")).collect();
            return Err(format!("`{several}` is more than one word; write [{}]", apart.join(", ")));
        }
        if program.iter().any(|name| is_wildcard(name)) {
            return Err("`command` has no program; its first word must name one".to_owned());
        }
        let spellings =
            choices.iter().try_fold(1, |product: usize, choices| product.checked_mul(choices.len()));
        if spellings.is_none_or(|spellings| spellings > MAX_SPELLINGS) {
            return Err(format!("`command` has more than {MAX_SPELLINGS} spellings; write several rules"));
        }
        let (words, open) = match words.split_last() {
            Some((last, before)) if *last == [ANY_REST] => (before, true),
            Some(_) | None => (words, false),
        };
        let words = words.iter().map(|choices| word_pattern(choices)).collect::<Result<_, _>>()?;
        Ok(CommandPrefix { program: program.to_vec(), words, open })
    }

    /// Whether the prefix ends in `...`, which has no effect in a rule that forbids.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Returns why a rule with this prefix must not allow anything.
    pub fn cannot_allow(&self) -> Option<String> {
        for argv in self.combinations() {
            let shown = argv.join(" ");
            let (Some(program), words) = (argv.first(), argv.get(1..).unwrap_or_default()) else {
                continue;
            };
            let named = words.iter().position(|word| is_wildcard(word)).unwrap_or(words.len());
            if named < words.len() && chooses_program(program, &words[..named]) {
                return Some(format!(
                    "`{shown}` leaves open what is run: name the script or the command of `{program}` before `*` or `...`"
                ));
            }
            // A word in place of `*` that has no meaning to the program.
            let sample: Vec<String> = argv
                .iter()
                .filter(|word| *word != ANY_REST)
                .map(|word| if word == ANY_WORD { "p".to_owned() } else { word.clone() })
                .collect();
            // `sed` alone has no script; with a plain script it is known to be harmless.
            let is_begun = || has_table(program) && !is_wrapper(&[&sample[..], &["p".to_owned()]].concat());
            if is_wrapper(&sample) && !is_begun() {
                return Some(format!("`{shown}` runs what it is given: a shell wrapper cannot be allowed"));
            }
        }
        None
    }

    /// Returns every combination of alternatives.
    fn combinations(&self) -> Vec<Vec<String>> {
        let any = [ANY_WORD.to_owned()];
        let rest = [ANY_REST.to_owned()];
        let places = self.words.iter().map(|place| match place {
            WordPattern::Named(choices) => choices.as_slice(),
            WordPattern::AnyWord => &any,
        });
        let places = std::iter::once(self.program.as_slice()).chain(places);
        let mut all = vec![Vec::new()];
        for choices in places.chain(self.open.then_some(rest.as_slice())) {
            let longer = |begun: &Vec<String>| {
                let begun = begun.clone();
                choices.iter().map(move |choice| [&begun[..], std::slice::from_ref(choice)].concat())
            };
            all = all.iter().flat_map(longer).collect();
        }
        all
    }

    /// Whether a rule that allows covers the command: its words and no others, unless all of them are known to be
    /// harmless or the prefix asks for more. A command inside of a wrapper is not covered.
    pub fn allows(&self, command: &SimpleCommand) -> bool {
        let Some((program, words)) = command.argv.split_first() else {
            return false;
        };
        let named = |name: &String| name == program || name == system_name(program);
        let begins = command.through.is_empty()
            && self.program.iter().any(named)
            && words.len() >= self.words.len()
            && self.words.iter().zip(words).all(|(place, word)| place.allows(word))
            && !is_wrapper(&command.argv);
        if !begins {
            return false;
        }
        let fits = words.len() == self.words.len() || self.open;
        let is_literal = !self.open && !self.words.contains(&WordPattern::AnyWord);
        fits && (is_literal || !has_risky_option(&command.argv)) || is_harmless(&command.argv)
    }

    /// Whether a rule that forbids covers the command: called by any path, with options in between, its own options in
    /// any order and spelling.
    pub fn restricts(&self, command: &SimpleCommand) -> bool {
        let Some((program, words)) = command.argv.split_first() else {
            return false;
        };
        let named = |name: &String| name == program || name_of(name) == name_of(program);
        self.program.iter().any(named) && self.operands_are_in(words) && self.options_are_in(words)
    }

    /// Whether the operands come in this order, with only options and their values in between.
    fn operands_are_in(&self, words: &[String]) -> bool {
        let mut rest = words.iter();
        for place in self.words.iter().filter(|place| place.options().is_none()) {
            let mut may_be_value = false;
            loop {
                let Some(word) = rest.next() else {
                    return false;
                };
                if place.matches(word) {
                    break;
                }
                let is_option = word.starts_with(['-', '+']);
                if !is_option && !may_be_value {
                    return false;
                }
                may_be_value = is_option;
            }
        }
        true
    }

    fn options_are_in(&self, words: &[String]) -> bool {
        let mut wanted = self.words.iter().filter_map(WordPattern::options);
        wanted.all(|choices| choices.iter().any(|choice| is_among(choice, words)))
    }
}

impl WordPattern {
    /// Whether a rule that allows covers the word. `*` does not match an option, a variable or a file with arguments:
    /// those decide what a program does, so a rule has to name them.
    fn allows(&self, word: &String) -> bool {
        match self {
            WordPattern::Named(choices) => choices.contains(word),
            WordPattern::AnyWord => !word.starts_with(['-', '+', '@']) && !is_assignment(word),
        }
    }

    /// Whether a rule that forbids matches the word.
    fn matches(&self, word: &String) -> bool {
        match self {
            WordPattern::Named(choices) => choices.contains(word),
            WordPattern::AnyWord => true,
        }
    }

    /// Returns the alternatives if the pattern is an option. Alternatives should be of one kind; if they are mixed, the
    /// pattern counts as an option, which matches more.
    fn options(&self) -> Option<&[String]> {
        match self {
            WordPattern::Named(choices) => {
                let is_option = |choice: &String| choice.starts_with('-') && choice.len() > 1;
                choices.iter().any(is_option).then_some(choices)
            }
            WordPattern::AnyWord => None,
        }
    }
}

fn is_wildcard(word: &str) -> bool {
    matches!(word, ANY_WORD | ANY_REST)
}

fn word_pattern(choices: &[String]) -> Result<WordPattern, String> {
    match choices {
        [one] if one == ANY_WORD => Ok(WordPattern::AnyWord),
        [one] if one == ANY_REST => {
            Err("`...` stands for all further words, so it must be the last".to_owned())
        }
        choices => match choices.iter().find(|word| is_wildcard(word)) {
            Some(word) => Err(format!("`{word}` cannot be an alternative; write it as a word of its own")),
            None => Ok(WordPattern::Named(choices.to_vec())),
        },
    }
}

/// Whether an option lets the program start another one, or access more than its name says.
fn has_risky_option(argv: &[String]) -> bool {
    let Some((program, words)) = argv.split_first() else {
        return true;
    };
    runs_another(argv).is_some()
        || reaches_further(argv).is_some()
        || (program_family(program) == "git" && git::reaches_further(words).is_some())
}

fn is_among(choice: &str, words: &[String]) -> bool {
    if words.iter().any(|word| word == choice) {
        return true;
    }
    match choice.strip_prefix('-') {
        // `-rf` can also be written `-fr` and `-r -f`.
        Some(letters) if !letters.starts_with('-') && !letters.is_empty() => {
            letters.chars().all(|letter| words.iter().any(|word| is_option(word, &format!("-{letter}"))))
        }
        Some(_) | None => choice.starts_with("--") && words.iter().any(|word| is_option(word, choice)),
    }
}
