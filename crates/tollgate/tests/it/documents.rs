//! README.md and the pages of `docs`: every command works in the order of its page, with the exit code and the output
//! that the page shows.
//!
//! A block `sh` has commands; a block `console` has commands behind `$ ` and their standard output. A comment behind a
//! command names its exit code (`# exit code 2`) and whether it asks (`# asks`), which is answered with yes. In an
//! output, a line `...` stands for any lines and `…` for any text. A block whose first line is `# Not run by the tests:`
//! with a reason is left out.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{TestTerminal, build, scrub};

/// Introduces the reason why a block is left out.
const NOT_RUN: &str = "# Not run by the tests: ";

/// A stand-in for cargo: it starts the program that the tests have built, and notes what it does not do.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
  "run --release -- "*) shift 3; exec tollgate "$@" ;;
  "xtask test" | "install --path crates/tollgate --profile dist") echo "cargo $*" >> "$HOME/not-run" ;;
  *) echo "no such command: cargo $*" >&2; exit 97 ;;
esac
"#;

/// A command of a page.
#[derive(Debug, PartialEq)]
struct PageCommand {
    line: usize,
    text: String,
    exit_code: i32,
    asks: bool,
    /// The standard output that the page shows.
    output: Option<Vec<String>>,
}

/// The commands of a page, and the blocks that are left out.
#[derive(Debug, Default, PartialEq)]
struct Page {
    commands: Vec<PageCommand>,
    /// Line and reason.
    not_run: Vec<(usize, String)>,
}

impl Page {
    fn parse(text: &str) -> Page {
        let mut page = Page::default();
        let mut lines = text.lines().enumerate();
        while let Some((_, line)) = lines.next() {
            let shows_output = match line {
                "```sh" | "```bash" => false,
                "```console" => true,
                _ => {
                    if line.starts_with("```") {
                        lines.by_ref().find(|(_, line)| *line == "```");
                    }
                    continue;
                }
            };
            let block: Vec<(usize, &str)> = lines
                .by_ref()
                .take_while(|(_, line)| *line != "```")
                .map(|(number, line)| (number + 1, line))
                .collect();
            page.add_block(&block, shows_output);
        }
        page
    }

    fn add_block(&mut self, block: &[(usize, &str)], shows_output: bool) {
        if let Some(reason) = block.first().and_then(|(_, line)| line.strip_prefix(NOT_RUN)) {
            self.not_run.push((block[0].0, reason.to_owned()));
            return;
        }
        let mut command: Option<(usize, CommandText)> = None;
        for &(number, line) in block {
            let start = if shows_output { line.strip_prefix("$ ") } else { Some(line) };
            match (&mut command, start) {
                (Some((_, open)), _) if !open.is_complete() => open.push(line),
                (_, Some(start)) => {
                    self.end(command.take());
                    let mut text = CommandText::default();
                    text.push(start);
                    command = Some((number, text));
                }
                (Some(_), None) => {
                    self.end(command.take());
                    self.commands.last_mut().expect("a command precedes its output").show(line);
                }
                (None, None) => {
                    self.commands.last_mut().expect("a command precedes its output").show(line);
                }
            }
        }
        self.end(command);
    }

    /// Adds a command that is complete, unless it is only a comment.
    fn end(&mut self, command: Option<(usize, CommandText)>) {
        let Some((line, command)) = command else { return };
        assert!(command.is_complete(), "line {line} opens a quote or a text that nothing closes");
        if command.is_empty() {
            return;
        }
        let digits_after = |words: &str| {
            let (_, rest) = command.comment.split_once(words)?;
            rest.split(|c: char| !c.is_ascii_digit()).next()
        };
        self.commands.push(PageCommand {
            line,
            exit_code: digits_after("exit code ").map_or(0, |code| code.parse().unwrap()),
            asks: command.comment.contains("asks"),
            text: command.text,
            output: None,
        });
    }
}

impl PageCommand {
    fn show(&mut self, line: &str) {
        self.output.get_or_insert_default().push(line.to_owned());
    }
}

/// The lines of one command, with what is still open in them.
#[derive(Default)]
struct CommandText {
    text: String,
    comment: String,
    quote: Option<char>,
    /// The word that ends a text between lines.
    until: Option<String>,
    continues: bool,
}

impl CommandText {
    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        if let Some(end) = &self.until {
            if line == end {
                self.until = None;
            }
            return;
        }
        self.scan(line);
        if self.quote.is_none()
            && let Some((_, word)) = line.split_once("<<")
        {
            self.until = Some(word.split_whitespace().next().unwrap().trim_matches('\'').to_owned());
        }
        self.continues = line.ends_with('\\');
    }

    fn scan(&mut self, line: &str) {
        let mut before = ' ';
        for (at, c) in line.char_indices() {
            match self.quote {
                None if c == '#' && before == ' ' => {
                    self.comment = line[at..].to_owned();
                    return;
                }
                None if c == '\'' || c == '"' => self.quote = Some(c),
                Some(quote) if c == quote && !(quote == '"' && before == '\\') => self.quote = None,
                None | Some(_) => {}
            }
            before = c;
        }
    }

    fn is_complete(&self) -> bool {
        self.quote.is_none() && self.until.is_none() && !self.continues
    }

    fn is_empty(&self) -> bool {
        let text = self.text.trim_start();
        text.is_empty() || text.starts_with('#') && text.lines().count() == 1
    }
}

/// Whether an output is what the page shows.
fn is_shown(shown: &[&str], output: &[&str]) -> bool {
    match (shown.first(), output.first()) {
        (None, None) => true,
        (Some(&"..."), _) => (0..=output.len()).any(|skipped| is_shown(&shown[1..], &output[skipped..])),
        (Some(pattern), Some(line)) => is_line(pattern, line) && is_shown(&shown[1..], &output[1..]),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// Whether a line fits a pattern in which `…` stands for any text.
fn is_line(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

/// A home folder with a sample vault in `~/Notes`.
struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    fn new() -> Home {
        let dir = tempfile::tempdir().unwrap();
        let home = Home { dir };
        for folder in ["home", "bin", "out"] {
            std::fs::create_dir(home.path(folder)).unwrap();
        }
        copy_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-vault"), &home.path("home/Notes"));
        std::os::unix::fs::symlink(build::binary(), home.path("bin/tollgate")).unwrap();
        let cargo = home.path("bin/cargo");
        std::fs::write(&cargo, CARGO).unwrap();
        std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    /// Runs the commands one after the other in one shell at a terminal, whose standard output goes to a file.
    fn run(&self, page: &Page, folder: &str) {
        let mut script = String::new();
        for (number, command) in page.commands.iter().enumerate() {
            let out = self.path("out").join(number.to_string());
            script.push_str(&format!(
                "echo '%%{number}%%' >&2\n{{ {}}} > '{}'\necho $? > '{}.code'\n",
                command.text,
                out.display(),
                out.display()
            ));
        }
        let file = self.path("commands.sh");
        std::fs::write(&file, script).unwrap();
        let mut shell = Command::new("sh");
        let path = std::env::var("PATH").unwrap();
        shell
            .arg(&file)
            .current_dir(self.path(folder))
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("HOME", self.path("home"))
            .env("TZ", "UTC")
            .env_remove("XDG_STATE_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("CLAUDE_CONFIG_DIR")
            .env_remove("CODEX_HOME");
        let answer = |screen: &str| {
            let asking = screen.rsplit("%%").nth(1).and_then(|number| number.parse::<usize>().ok());
            let asks = asking.is_some_and(|number| page.commands[number].asks);
            if asks { "y\n" } else { "n\n" }
        };
        let (screen, _) = TestTerminal::open(&shell).answer_all("N]", answer);
        for (number, command) in page.commands.iter().enumerate() {
            self.check(number, command, &screen);
        }
    }

    #[track_caller]
    fn check(&self, number: usize, command: &PageCommand, screen: &str) {
        let (line, text) = (command.line, command.text.trim_end());
        let output = std::fs::read_to_string(self.path("out").join(number.to_string())).unwrap_or_default();
        let code = std::fs::read_to_string(self.path(&format!("out/{number}.code"))).unwrap_or_default();
        let on_screen = screen.split(&format!("%%{number}%%")).nth(1).unwrap_or_default();
        let on_screen = on_screen.split("%%").next().unwrap_or_default();
        assert_eq!(
            code.trim(),
            command.exit_code.to_string(),
            "the exit code of line {line}: {text}\n{output}\n{on_screen}"
        );
        let Some(shown) = &command.output else { return };
        let plain = |text: &str| scrub(&text.replace(self.path("home").to_str().unwrap(), "/home/me"));
        let (shown, output) = (plain(&shown.join("\n")), plain(&output));
        let (shown_lines, lines): (Vec<&str>, Vec<&str>) =
            (shown.lines().collect(), output.lines().collect());
        assert!(
            is_shown(&shown_lines, &lines),
            "the output of line {line}: {text}\nThe page shows:\n{shown}\nIt is:\n{output}"
        );
    }
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, target) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            std::fs::copy(&path, target).unwrap();
        }
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read_page(name: &str) -> Page {
    let page = Page::parse(&std::fs::read_to_string(repository().join(name)).unwrap());
    for (line, reason) in &page.not_run {
        assert!(!reason.trim().is_empty());
        eprintln!("not run: {name} line {line}: {reason}");
    }
    page
}

#[test]
fn the_readme_works_from_top_to_bottom() {
    let page = read_page("README.md");
    let set_up: Vec<&str> = page.commands.iter().take(2).map(|command| command.text.trim_end()).collect();
    assert!(set_up[0].starts_with("cargo run --release -- demo"), "{set_up:?}");
    assert!(set_up[1].starts_with("cargo xtask test"), "{set_up:?}");
    assert!(page.not_run.len() <= 6, "too much is left out: {:?}", page.not_run);
    let home = Home::new();
    home.run(&page, "home");
    let not_run = std::fs::read_to_string(home.path("home/not-run")).unwrap();
    assert_eq!(not_run, "cargo xtask test\ncargo install --path crates/tollgate --profile dist\n");
}

#[test]
fn the_commands_of_every_page_work() {
    let mut names: Vec<String> = std::fs::read_dir(repository().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".md"))
        .collect();
    names.sort();
    let mut commands = 0;
    for name in names {
        let page = read_page(&format!("docs/{name}"));
        if page.commands.is_empty() {
            continue;
        }
        eprintln!("docs/{name}: {} commands", page.commands.len());
        commands += page.commands.len();
        Home::new().run(&page, "home/Notes");
    }
    assert!(commands > 20, "only {commands} commands were found");
}

#[test]
fn a_page_is_read_as_commands_codes_and_outputs() {
    let page = Page::parse(
        "Text\n```sh\ncd a   # a comment that isn't closed\n# only a comment\ncat > b <<'END'\nit's\n```json\nEND\nrun 'x\ny' # asks, exit code 3\n```\n\
         ```json\n{}\n```\n```console\n$ ls -l\ntotal 0\n...\n$ pwd\n```\n```sh\n# Not run by the tests: it is slow.\nsleep 9\n```\n",
    );
    let command =
        |line: usize, text: &str, exit_code: i32, asks: bool, output: Option<&[&str]>| PageCommand {
            line,
            text: text.to_owned(),
            exit_code,
            asks,
            output: output.map(|lines| lines.iter().map(|line| (*line).to_owned()).collect()),
        };
    assert_eq!(
        page.commands,
        [
            command(3, "cd a   # a comment that isn't closed\n", 0, false, None),
            command(5, "cat > b <<'END'\nit's\n```json\nEND\n", 0, false, None),
            command(9, "run 'x\ny' # asks, exit code 3\n", 3, true, None),
            command(16, "ls -l\n", 0, false, Some(&["total 0", "..."])),
            command(19, "pwd\n", 0, false, None),
        ]
    );
    assert_eq!(page.not_run, [(22, "it is slow.".to_owned())]);
}

#[test]
fn an_output_is_compared_line_by_line() {
    let lines = ["one", "two 123 bytes", "three"];
    for shown in [
        &["one", "two 123 bytes", "three"][..],
        &["...", "three"],
        &["one", "..."],
        &["one", "...", "three"],
        &["one", "two … bytes", "three"],
        &["…e", "tw…", "..."],
        &["..."],
    ] {
        assert!(is_shown(shown, &lines), "{shown:?}");
    }
    for shown in [
        &["one", "two 124 bytes", "three"][..],
        &["one", "three"],
        &["one", "two 123 bytes"],
        &["one", "two … byte", "three"],
        &["...", "four"],
        &[],
    ] {
        assert!(!is_shown(shown, &lines), "{shown:?}");
    }
}
