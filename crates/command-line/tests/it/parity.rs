//! A shell never runs more than the parser lists.
//!
//! Lines are generated, parsed, and then run by real shells in which every program is a recorder that writes down its
//! words and does nothing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise, and this one is about processes"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use command_line::CommandLine;
use proptest::prelude::{ProptestConfig, Strategy, prop_oneof};
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use tempfile::TempDir;

const RECORDERS: [&str; 4] = ["alpha", "beta", "gamma", "if"];
/// Wrappers that are run as they are.
const REAL: [&str; 10] =
    ["sh", "bash", "dash", "env", "nice", "nohup", "timeout", "stdbuf", "ionice", "find"];

/// A folder in which nothing but recorders and wrappers can be found.
struct Stage {
    dir: TempDir,
    shells: Vec<&'static str>,
}

impl Stage {
    fn new() -> Stage {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        fs::create_dir(&bin).unwrap();
        fs::create_dir(dir.path().join("empty")).unwrap();
        let found = |name: &str| {
            ["/bin", "/usr/bin"].iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists())
        };
        // One write a record: recorders of a pipe run at the same time.
        let log = dir.path().join("log");
        let script =
            format!("#!/bin/sh\nprintf '%s\\0' \"$#\" \"${{0##*/}}\" \"$@\" >>{}\nexit 0\n", log.display());
        for name in RECORDERS {
            fs::write(bin.join(name), &script).unwrap();
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        for name in REAL {
            if let Some(path) = found(name) {
                symlink(path, bin.join(name)).unwrap();
            }
        }
        let shells = ["/bin/sh", "/bin/bash"].into_iter().filter(|shell| Path::new(shell).exists()).collect();
        Stage { dir, shells }
    }

    /// Returns the words that the recorders wrote.
    fn run(&self, shell: &str, text: &str) -> Vec<Vec<String>> {
        let log = self.dir.path().join("log");
        fs::write(&log, "").unwrap();
        Command::new(shell)
            .args(["-c", text])
            .env_clear()
            .env("PATH", self.dir.path().join("bin"))
            .env("LC_ALL", "C.UTF-8")
            .current_dir(self.dir.path().join("empty"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        let log = fs::read(&log).unwrap();
        let mut fields = log.split(|byte| *byte == 0).map(|field| String::from_utf8(field.to_vec()).unwrap());
        let mut records = Vec::new();
        while let Some(count) = fields.next().filter(|count| !count.is_empty()) {
            let words = count.parse::<usize>().unwrap() + 1;
            records.push(fields.by_ref().take(words).collect());
        }
        records
    }

    /// Compares a line that is not opaque with the shells. Returns whether there was anything to compare.
    fn compare(&self, text: &str) -> bool {
        let line = CommandLine::of_shell(text, Vec::new());
        if line.opaque.is_some() {
            return false;
        }
        let named = |argv: &Vec<String>| {
            let mut argv = argv.clone();
            argv[0] = argv[0].rsplit('/').next().unwrap().to_owned();
            argv
        };
        let listed: Vec<Vec<String>> = line.commands.iter().map(|command| named(&command.argv)).collect();
        for shell in &self.shells {
            let ran = self.run(shell, text);
            let mut left = listed.clone();
            for argv in &ran {
                let at = left.iter().position(|listed| listed == argv);
                let at = at.unwrap_or_else(|| panic!("{shell} ran {argv:?}, which is not in {line:?}"));
                left.remove(at);
            }
            // Without a condition, everything that is listed has its turn.
            let plain = line.commands.iter().all(|command| RECORDERS.contains(&command.argv[0].as_str()));
            if plain && !text.contains("||") {
                assert!(left.is_empty(), "{shell} did not run {left:?} of {line:?}");
            }
        }
        true
    }
}

/// Words as people and models spell them, and as attackers do.
fn word() -> impl Strategy<Value = String> {
    let plain = select(vec![
        "a", "-x", "--long=1", "a=b", "a/b", "2", "HEAD~1", "b~", "{}", "]", "!", "a!b", "%1", "@", "if",
        "time", "a#b", "+", ":", "^", "ü", "猫", ",", "-", "--",
    ]);
    let quoted = prop_oneof![
        "[a b$`\"\\\\*?;&|#\n]{0,5}".prop_map(|text| format!("'{text}'")),
        "[a b'*?;&|#~{}\n]{0,5}".prop_map(|text| format!("\"{text}\"")),
        "[a$`\"\\\\]{1,3}".prop_map(|text| text.chars().flat_map(|c| ['\\', c]).collect()),
        "[a \\\\]{0,3}".prop_map(|text| format!("\"{}\"", text.replace('\\', "\\\\"))),
        "[a b'*;&|#~{}]{1,3}".prop_map(|text| text.chars().flat_map(|c| ['\\', c]).collect::<String>()),
        select(vec!["\"\\a\"", "\"\\\nb\"", "''", "\"\"", "\\\n"]).prop_map(str::to_owned),
    ];
    let piece = prop_oneof![3 => plain.prop_map(str::to_owned), 2 => quoted];
    proptest::collection::vec(piece, 1..3).prop_map(|pieces| pieces.concat())
}

fn simple() -> impl Strategy<Value = String> {
    let program = select(vec![
        "alpha",
        "beta",
        "gamma",
        "'alpha'",
        "al\\pha",
        "\"be\"ta",
        "\\if",
        "alp\\\nha",
        "A=b alpha",
    ]);
    let extra = select(vec!["", "", "", " 2>&1", " >/dev/null", " 2> /dev/null", "2>&1", " # c", " \\\n x"]);
    let words = proptest::collection::vec(word(), 0..4);
    (program, words, extra)
        .prop_map(|(program, words, extra)| format!("{program} {}{extra}", words.join(" ")))
}

fn wrapped() -> impl Strategy<Value = String> {
    let wrapper = select(vec![
        "env ",
        "env -i ",
        "env A=b ",
        "env -u A ",
        "nice ",
        "nice -n 1 ",
        "nohup ",
        "timeout 9 ",
        "stdbuf -oL ",
        "command ",
        "exec ",
        "eval ",
        "time ",
        "find . -maxdepth 0 -exec ",
        "",
    ]);
    let quote = |text: String| format!("'{}'", text.replace('\'', "'\\''"));
    let inner = simple().prop_recursive(2, 4, 1, move |inner| {
        let shell = select(vec!["sh -c ", "bash -ec ", "dash -c ", "eval ", "env sh -c "]);
        (shell, inner).prop_map(move |(shell, inner)| format!("{shell}{}", quote(inner)))
    });
    (wrapper, inner).prop_map(|(wrapper, inner)| match wrapper.starts_with("find") {
        true => format!("{wrapper}{inner} ';'"),
        false => format!("{wrapper}{inner}"),
    })
}

fn sequence() -> impl Strategy<Value = String> {
    let join =
        select(vec![";", " ; ", "\n", " && ", "&&\n", " | ", "|", " || ", ";\n# c\n", "\n\n", "&", ";;"]);
    proptest::collection::vec((prop_oneof![3 => simple(), 1 => wrapped()], join), 1..4).prop_map(|parts| {
        let last = parts.len() - 1;
        let all = parts.into_iter().enumerate();
        all.map(|(at, (text, join))| if at == last { text } else { format!("{text}{join}") }).collect()
    })
}

/// Whatever the keys of a keyboard give.
fn soup() -> impl Strategy<Value = String> {
    let piece = select(vec![
        "alpha",
        "beta",
        " ",
        " ",
        " ",
        "\n",
        "\t",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "'",
        "\"",
        "\\",
        "\\\n",
        "#",
        "a",
        "2",
        ">",
        "2>&1",
        ">/dev/null",
        "=",
        "!",
        "~",
        "{}",
        "{",
        "$a",
        "time ",
        "if",
        "\r",
        "\u{a0}",
        "*",
        "(",
        ")",
        "-c",
        "sh -c ",
        "A=b ",
        "env ",
        "eval ",
        "time -p ",
        "exec ",
        "--",
        "<",
        "[",
    ]);
    proptest::collection::vec(piece, 1..12).prop_map(|pieces| pieces.concat())
}

/// How many lines to make up: as many as take a few seconds, or as many as prove something.
fn cases(few: u32) -> u32 {
    if std::env::var_os("RUN_SLOW_TESTS").is_some() { few * 5 } else { few }
}

#[track_caller]
fn hold(lines: impl Strategy<Value = String>, few: u32, at_least: f64) {
    let stage = Stage::new();
    let config = ProptestConfig { cases: cases(few), failure_persistence: None, ..ProptestConfig::default() };
    let held = std::cell::Cell::new(0);
    TestRunner::new(config)
        .run(&lines, |text| {
            held.set(held.get() + u32::from(stage.compare(&text)));
            Ok(())
        })
        .unwrap();
    let share = f64::from(held.get()) / f64::from(cases(few));
    assert!(share >= at_least, "only {share} of the lines were understood, so little was shown");
}

// Conformance: result 6.7
#[test]
fn a_shell_runs_nothing_that_was_not_listed() {
    hold(sequence(), 400, 0.25);
}

#[test]
fn no_spelling_gets_a_command_past_the_list() {
    hold(soup(), 1_500, 0.05);
}

#[test]
fn every_plain_line_of_the_table_is_run_as_listed() {
    let stage = Stage::new();
    for (text, ran) in [
        ("alpha 'a b' \"c\" d\\ e", vec![vec!["alpha", "a b", "c", "d e"]]),
        ("alpha # beta\ngamma ''", vec![vec!["alpha"], vec!["gamma", ""]]),
        ("alpha 2>&1 && beta >/dev/null", vec![vec!["alpha"], vec!["beta"]]),
        ("env -S 'alpha -l' x", vec![vec!["alpha", "-l", "x"]]),
        ("env -u A alpha -S 'a b'", vec![vec!["alpha", "-S", "a b"]]),
        ("timeout 9 sh -c 'exec beta \"a b\"'", vec![vec!["beta", "a b"]]),
        ("find . -maxdepth 0 -exec alpha '{' \\;", vec![vec!["alpha", "{"]]),
        ("trap 'alpha x' EXIT; beta", vec![vec!["beta"], vec!["alpha", "x"]]),
    ] {
        assert!(stage.compare(text), "{text}");
        assert_eq!(stage.run("/bin/sh", text), ran, "{text}");
    }
}
