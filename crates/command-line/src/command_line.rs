//! The commands of one call, as far as its text shows them.

use super::display::{escape_text, quote_argv};
use super::program_name::{is_relative, name_of, system_name};
use super::shell_parser::{ParsedCommand, parse_text};
use super::workdir::normalize_folder;
use super::wrappers::{InnerCommand, inner_commands};

/// Limits of a line that a user or a rule can judge.
const MAX_BYTES: usize = 64 * 1024;
const MAX_COMMANDS: usize = 50;
const MAX_WRAPPERS: usize = 8;

/// A call that runs commands: its words, and everything else that decides what they do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Every command that was found, in the order of the text. Complete if the line is not opaque.
    pub commands: Vec<SimpleCommand>,
    /// Why the line could not be parsed completely.
    pub opaque: Option<String>,
    /// The line exceeds the limits.
    pub over_limit: bool,
    /// The exact command for display: control characters are escaped, and it is never shortened.
    pub shown: String,
    /// Names of the variables that the call sets.
    pub env: Vec<String>,
    /// Working directory relative to the vault. `None` is the vault's root.
    pub workdir: Option<String>,
    /// Input of the program.
    pub input: CallInput,
    /// Whether the line changes its folder, as `cd sub && make` does.
    pub changes_folder: bool,
}

/// Input that a call gives to its program, besides the words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallInput {
    /// Text on standard input.
    pub stdin: bool,
    /// A terminal, which can be written to later.
    pub tty: bool,
}

/// One program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    pub argv: Vec<String>,
    /// The wrappers around it, outermost first, such as `bash -c`.
    pub through: Vec<String>,
    /// Whether it reads the output of the command before it.
    pub piped: bool,
}

impl SimpleCommand {
    /// Whether the program is a file outside of the system's folders, such as `./x`. It may be a copy of a program or a
    /// link to one.
    pub fn is_by_path(&self) -> bool {
        self.argv.first().is_some_and(|program| program.contains('/') && system_name(program) == program)
    }
}

impl CommandLine {
    /// Parses a program that is started directly, with exactly these words.
    pub fn of_argv(argv: &[String], env: Vec<String>) -> CommandLine {
        let mut found = LineBuilder::default();
        if argv.iter().map(String::len).sum::<usize>() > MAX_BYTES {
            found.exceed_limit(format!("it is longer than {MAX_BYTES} bytes"));
        } else {
            if argv.iter().any(|word| word.contains('\0')) {
                found.mark_opaque("a NUL character, at which a word would end".to_owned());
            }
            found.add_command(ParsedCommand { argv: argv.to_vec(), piped: false }, &[]);
        }
        found.into_line(quote_argv(argv), env)
    }

    /// Parses a text for `/bin/sh -c`.
    pub fn of_shell(text: &str, env: Vec<String>) -> CommandLine {
        let mut found = LineBuilder::default();
        if text.len() > MAX_BYTES {
            found.exceed_limit(format!("it is longer than {MAX_BYTES} bytes"));
        } else {
            found.add_text(text, &[]);
        }
        found.into_line(escape_text(text), env)
    }

    /// Returns the same call in a folder of the vault.
    pub fn in_folder(self, workdir: Option<&str>) -> CommandLine {
        CommandLine { workdir: workdir.and_then(normalize_folder), ..self }
    }

    /// Returns the same call with an input.
    pub fn with_input(self, input: CallInput) -> CommandLine {
        CommandLine { input, ..self }
    }

    /// Whether the call consists of its words only: in the vault's root, without input, terminal or variables.
    pub fn is_words_only(&self) -> bool {
        self.workdir.is_none()
            && self.input == CallInput::default()
            && self.env.is_empty()
            && !self.changes_folder
    }

    /// Whether an approval of this line can be remembered: nothing in it is hidden, and nothing in it changes the
    /// meaning of later words.
    pub fn can_be_remembered(&self) -> bool {
        self.opaque.is_none() && !self.commands.iter().any(|command| super::is_wrapper(&command.argv))
    }
}

#[derive(Default)]
struct LineBuilder {
    commands: Vec<SimpleCommand>,
    opaque: Option<String>,
    over_limit: bool,
    /// The line has changed its folder: from there on, a relative path names another program.
    moved: bool,
}

impl LineBuilder {
    /// Stores the first reason only.
    fn mark_opaque(&mut self, why: String) {
        self.opaque.get_or_insert(why);
    }

    fn exceed_limit(&mut self, why: String) {
        if !self.over_limit {
            self.opaque = Some(why);
        }
        self.over_limit = true;
    }

    fn add_text(&mut self, text: &str, through: &[String]) {
        let reading = parse_text(text, MAX_COMMANDS + 1);
        if let Some(why) = reading.doubt {
            self.mark_opaque(why);
        }
        if reading.commands.is_empty() {
            self.mark_opaque("no command".to_owned());
        }
        for command in reading.commands {
            self.add_command(command, through);
        }
    }

    fn add_command(&mut self, command: ParsedCommand, through: &[String]) {
        let ParsedCommand { argv, piped } = command;
        if self.over_limit {
            return;
        }
        if self.commands.len() >= MAX_COMMANDS {
            return self.exceed_limit(format!("it has more than {MAX_COMMANDS} commands"));
        }
        let Some(program) = argv.first().filter(|program| !program.is_empty()) else {
            return self.mark_opaque("a command without a name".to_owned());
        };
        if self.moved && is_relative(program) {
            self.mark_opaque(format!("`{program}` after a change of folder"));
        }
        self.moved |= matches!(name_of(program), "cd" | "pushd" | "popd");
        let inner = inner_commands(&argv);
        self.commands.push(SimpleCommand { argv, through: through.to_vec(), piped });
        for inner in inner {
            self.add_inner(inner, through);
        }
    }

    fn add_inner(&mut self, inner: InnerCommand, through: &[String]) {
        let deeper = |label: String| through.iter().cloned().chain([label]).collect::<Vec<_>>();
        match inner {
            InnerCommand::Hidden { why } => self.mark_opaque(why),
            InnerCommand::Command { .. } | InnerCommand::Text { .. } if through.len() >= MAX_WRAPPERS => {
                self.exceed_limit(format!("a command is inside of more than {MAX_WRAPPERS} others"));
            }
            InnerCommand::Guess { by, argv } => {
                if self.commands.len() < MAX_COMMANDS && !argv.is_empty() {
                    self.commands.push(SimpleCommand { argv, through: deeper(by), piped: false });
                }
            }
            InnerCommand::Command { by, argv } => {
                self.add_command(ParsedCommand { argv, piped: false }, &deeper(by));
            }
            InnerCommand::Text { by, text } => self.add_text(&text, &deeper(by)),
        }
    }

    fn into_line(self, shown: String, env: Vec<String>) -> CommandLine {
        let LineBuilder { commands, opaque, over_limit, moved } = self;
        let (workdir, input) = (None, CallInput::default());
        CommandLine { commands, opaque, over_limit, shown, env, workdir, input, changes_folder: moved }
    }
}
