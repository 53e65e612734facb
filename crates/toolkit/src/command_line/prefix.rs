//! A rule over the words of a command: the program, then the words that must follow it.
//!
//! The same words are read in two ways. What forbids is read as widely as it can be meant, what allows as
//! narrowly: a doubt ends in a question, never in a yes.

use serde::{Deserialize, Serialize};

use super::SimpleCommand;
use super::flags::{reaches_further, runs_another};
use super::options::is_option;
use super::program::{family, name_of, system_name};
use super::wrappers::{git, is_wrapper};

/// One word of a prefix: itself, or any of several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Word {
    One(String),
    Any(Vec<String>),
}

impl Word {
    fn choices(&self) -> &[String] {
        match self {
            Word::One(word) => std::slice::from_ref(word),
            Word::Any(words) => words,
        }
    }
}

/// Each is looked at when the rule is loaded.
const MAX_SPELLINGS: usize = 1000;

/// A prefix that is ready to be compared with commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix {
    program: Vec<String>,
    words: Vec<Vec<String>>,
}

impl Prefix {
    /// Says what is wrong with a prefix that could never match as it was meant.
    pub fn compile(words: &[Word]) -> Result<Prefix, String> {
        let choices: Vec<Vec<String>> = words.iter().map(|word| word.choices().to_vec()).collect();
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
        let spellings =
            choices.iter().try_fold(1, |product: usize, choices| product.checked_mul(choices.len()));
        if spellings.is_none_or(|spellings| spellings > MAX_SPELLINGS) {
            return Err(format!("`command` has more than {MAX_SPELLINGS} spellings; write several rules"));
        }
        Ok(Prefix { program: program.clone(), words: words.to_vec() })
    }

    /// Why a rule with this prefix must not allow anything.
    pub fn cannot_allow(&self) -> Option<String> {
        for mut argv in self.spellings() {
            let shown = argv.join(" ");
            // With a word behind it, as any use would have: an interpreter alone would read its input.
            argv.push("p".to_owned());
            if is_wrapper(&argv) {
                return Some(format!("`{shown}` runs what it is given: a shell wrapper cannot be allowed"));
            }
        }
        None
    }

    /// Every way to choose one word for each place.
    fn spellings(&self) -> Vec<Vec<String>> {
        let mut all = vec![Vec::new()];
        for choices in std::iter::once(&self.program).chain(&self.words) {
            let longer = |begun: &Vec<String>| {
                let begun = begun.clone();
                choices.iter().map(move |choice| [&begun[..], std::slice::from_ref(choice)].concat())
            };
            all = all.iter().flat_map(longer).collect();
        }
        all
    }

    /// Whether the command is one that the prefix allows: exactly these words, found behind nothing, and
    /// without an option that makes more of the program.
    pub fn allows(&self, command: &SimpleCommand) -> bool {
        let Some((program, words)) = command.argv.split_first() else {
            return false;
        };
        let named = |name: &String| name == program || name == system_name(program);
        command.through.is_empty()
            && self.program.iter().any(named)
            && words.len() >= self.words.len()
            && self.words.iter().zip(words).all(|(choices, word)| choices.contains(word))
            && !is_wrapper(&command.argv)
            && runs_another(&command.argv).is_none()
            && reaches_further(&command.argv).is_none()
            && !(family(program) == "git" && git::reaches_further(words).is_some())
    }

    /// Whether the command could be meant: by whatever path it is called, with options in between, its own
    /// options in any order and spelling.
    pub fn mentions(&self, command: &SimpleCommand) -> bool {
        let Some((program, words)) = command.argv.split_first() else {
            return false;
        };
        let named = |name: &String| name == program || name_of(name) == name_of(program);
        self.program.iter().any(named) && self.operands_are_in(words) && self.options_are_in(words)
    }

    /// The operands come in this order, with nothing but options and their values in between.
    fn operands_are_in(&self, words: &[String]) -> bool {
        let mut rest = words.iter();
        for choices in self.words.iter().filter(|choices| !has_options(choices)) {
            let mut may_be_value = false;
            loop {
                let Some(word) = rest.next() else {
                    return false;
                };
                if choices.contains(word) {
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
        let mut wanted = self.words.iter().filter(|choices| has_options(choices));
        wanted.all(|choices| choices.iter().any(|choice| is_among(choice, words)))
    }
}

/// A place in a prefix that an option fills. Alternatives are of one kind in any sensible rule; if they are
/// mixed, the place counts as one for options, which is the wider reading.
fn has_options(choices: &[String]) -> bool {
    choices.iter().any(|choice| choice.starts_with('-') && choice.len() > 1)
}

fn is_among(choice: &str, words: &[String]) -> bool {
    if words.iter().any(|word| word == choice) {
        return true;
    }
    match choice.strip_prefix('-') {
        // `-rf` is said by `-fr` and by `-r -f` too.
        Some(letters) if !letters.starts_with('-') && !letters.is_empty() => {
            letters.chars().all(|letter| words.iter().any(|word| is_option(word, &format!("-{letter}"))))
        }
        Some(_) | None => choice.starts_with("--") && words.iter().any(|word| is_option(word, choice)),
    }
}
