//! The programs of one call, as far as they can be told from its text.

use super::program::{is_relative, name_of, system_name};
use super::shown::{shown_argv, shown_text};
use super::text::{ReadCommand, read};
use super::workdir::plain_folder;
use super::wrappers::{Inner, behind};

/// A longer line is more than anyone can be expected to judge.
const MAX_BYTES: usize = 64 * 1024;
const MAX_COMMANDS: usize = 50;
const MAX_WRAPPERS: usize = 8;

/// One call that runs commands: its words, and everything else that decides what they do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Every command that was found, in the order of the text. All of them when the line is not opaque.
    pub commands: Vec<SimpleCommand>,
    /// Why the line is not understood in full.
    pub opaque: Option<String>,
    /// The line is larger than anyone can be expected to judge.
    pub over_limit: bool,
    /// Exactly what is run, for people: control characters escaped, never shortened.
    pub shown: String,
    /// Names of the variables that the call sets.
    pub env: Vec<String>,
    /// Folder that the call starts in, relative to the vault. `None` is the vault's root.
    pub workdir: Option<String>,
    /// Whether the call gives the program an input.
    pub input: CallInput,
    /// Whether the line changes its folder, as `cd sub && make` does.
    pub changes_folder: bool,
}

/// Input that a call gives to its program, besides the words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallInput {
    /// Text on standard input.
    pub stdin: bool,
    /// A terminal, into which more can be typed later.
    pub tty: bool,
}

/// One program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    pub argv: Vec<String>,
    /// The wrappers it was found behind, outermost first, such as `bash -c`.
    pub through: Vec<String>,
    /// Whether it reads what the command before it prints.
    pub piped: bool,
}

impl SimpleCommand {
    /// Whether the program is a file outside of the system's folders, such as `./x`. A copy of a program, or a
    /// link to one, looks like that.
    pub fn is_by_path(&self) -> bool {
        self.argv.first().is_some_and(|program| program.contains('/') && system_name(program) == program)
    }
}

impl CommandLine {
    /// A program that is started directly, with exactly these words.
    pub fn of_argv(argv: &[String], env: Vec<String>) -> CommandLine {
        let mut found = Found::default();
        if argv.iter().map(String::len).sum::<usize>() > MAX_BYTES {
            found.too_much(format!("it is longer than {MAX_BYTES} bytes"));
        } else {
            if argv.iter().any(|word| word.contains('\0')) {
                found.doubt("a NUL character, at which a word would end".to_owned());
            }
            found.command(ReadCommand { argv: argv.to_vec(), piped: false }, &[]);
        }
        found.into_line(shown_argv(argv), env)
    }

    /// A text that is handed to `/bin/sh -c`.
    pub fn of_shell(text: &str, env: Vec<String>) -> CommandLine {
        let mut found = Found::default();
        if text.len() > MAX_BYTES {
            found.too_much(format!("it is longer than {MAX_BYTES} bytes"));
        } else {
            found.text(text, &[]);
        }
        found.into_line(shown_text(text), env)
    }

    /// The same call, started in a folder of the vault.
    pub fn in_folder(self, workdir: Option<&str>) -> CommandLine {
        CommandLine { workdir: workdir.and_then(plain_folder), ..self }
    }

    /// The same call, with an input.
    pub fn with_input(self, input: CallInput) -> CommandLine {
        CommandLine { input, ..self }
    }

    /// Whether the words are all there is: the vault's root as folder, no input, no terminal, no variables.
    pub fn is_words_only(&self) -> bool {
        self.workdir.is_none()
            && self.input == CallInput::default()
            && self.env.is_empty()
            && !self.changes_folder
    }

    /// Whether a yes to this very line may be kept for the next time: nothing in it is hidden, and nothing in
    /// it decides what later words mean.
    pub fn can_be_remembered(&self) -> bool {
        self.opaque.is_none() && !self.commands.iter().any(|command| super::is_wrapper(&command.argv))
    }
}

#[derive(Default)]
struct Found {
    commands: Vec<SimpleCommand>,
    opaque: Option<String>,
    over_limit: bool,
    /// The line has changed its folder: from there on a relative program is another one than it looks.
    moved: bool,
}

impl Found {
    /// The first reason is the one that is told.
    fn doubt(&mut self, why: String) {
        self.opaque.get_or_insert(why);
    }

    fn too_much(&mut self, why: String) {
        if !self.over_limit {
            self.opaque = Some(why);
        }
        self.over_limit = true;
    }

    fn text(&mut self, text: &str, through: &[String]) {
        let reading = read(text, MAX_COMMANDS + 1);
        if let Some(why) = reading.doubt {
            self.doubt(why);
        }
        if reading.commands.is_empty() {
            self.doubt("no command".to_owned());
        }
        for command in reading.commands {
            self.command(command, through);
        }
    }

    fn command(&mut self, command: ReadCommand, through: &[String]) {
        let ReadCommand { argv, piped } = command;
        if self.over_limit {
            return;
        }
        if self.commands.len() >= MAX_COMMANDS {
            return self.too_much(format!("it has more than {MAX_COMMANDS} commands"));
        }
        let Some(program) = argv.first().filter(|program| !program.is_empty()) else {
            return self.doubt("a command without a name".to_owned());
        };
        if self.moved && is_relative(program) {
            self.doubt(format!("`{program}` after a change of folder"));
        }
        self.moved |= matches!(name_of(program), "cd" | "pushd" | "popd");
        let inner = behind(&argv);
        self.commands.push(SimpleCommand { argv, through: through.to_vec(), piped });
        for inner in inner {
            self.inner(inner, through);
        }
    }

    fn inner(&mut self, inner: Inner, through: &[String]) {
        let deeper = |label: String| through.iter().cloned().chain([label]).collect::<Vec<_>>();
        match inner {
            Inner::Hidden { why } => self.doubt(why),
            Inner::Command { .. } | Inner::Text { .. } if through.len() >= MAX_WRAPPERS => {
                self.too_much(format!("a command stands behind more than {MAX_WRAPPERS} others"));
            }
            Inner::Guess { by, argv } => {
                if self.commands.len() < MAX_COMMANDS && !argv.is_empty() {
                    self.commands.push(SimpleCommand { argv, through: deeper(by), piped: false });
                }
            }
            Inner::Command { by, argv } => self.command(ReadCommand { argv, piped: false }, &deeper(by)),
            Inner::Text { by, text } => self.text(&text, &deeper(by)),
        }
    }

    fn into_line(self, shown: String, env: Vec<String>) -> CommandLine {
        let Found { commands, opaque, over_limit, moved } = self;
        let (workdir, input) = (None, CallInput::default());
        CommandLine { commands, opaque, over_limit, shown, env, workdir, input, changes_folder: moved }
    }
}
