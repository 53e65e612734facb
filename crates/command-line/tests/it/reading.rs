//! Command lines, and what is made of them: a table of what must be understood, and of what must not be.
use std::fmt::Write as _;

use crate::corpus;
use command_line::{
    CallInput, CommandLine, CommandPrefix, PrefixWord, RulePurpose, SimpleCommand, check_examples,
    is_wrapper, reads_its_program,
};
use expect_test::{ExpectFile, expect, expect_file};
use proptest::prelude::{any, proptest};

fn shell(text: &str) -> CommandLine {
    CommandLine::of_shell(text, Vec::new())
}

fn argv(words: &[&str]) -> CommandLine {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    CommandLine::of_argv(&words, Vec::new())
}

fn plain(words: &[&str]) -> SimpleCommand {
    let argv = words.iter().map(|&word| word.to_owned()).collect();
    SimpleCommand { argv, through: Vec::new(), piped: false }
}

fn prefix(words: &[&[&str]]) -> CommandPrefix {
    let own = |choices: &&[&str]| match choices {
        [one] => PrefixWord::One((*one).to_owned()),
        several => PrefixWord::Any(several.iter().map(|&word| word.to_owned()).collect()),
    };
    CommandPrefix::compile(&words.iter().map(own).collect::<Vec<_>>()).unwrap()
}

/// Words apart by `|`, wrappers before `>`, one command a line.
fn rendered(text: &str, line: &CommandLine) -> String {
    let mut out = format!("{}\n", text.escape_debug());
    for SimpleCommand { argv, through, .. } in &line.commands {
        let words: Vec<String> = argv.iter().map(|word| word.escape_debug().to_string()).collect();
        let behind: String = through.iter().map(|by| format!("{by} > ")).collect();
        let _infallible = writeln!(out, "    {behind}{}", words.join("|"));
    }
    if let Some(why) = &line.opaque {
        let _infallible = writeln!(out, "    ? {}", why.escape_debug());
    }
    out
}

#[track_caller]
fn check(texts: &[&str], opaque: bool, expect: ExpectFile) {
    let mut all = String::new();
    for text in texts {
        let line = shell(text);
        assert_eq!(line.opaque.is_some(), opaque, "{text:?}: {line:?}");
        assert!(!line.over_limit, "{text:?}");
        all.push_str(&rendered(text, &line));
    }
    expect.assert_eq(&all);
}

#[test]
fn the_table_is_large_enough_to_mean_something() {
    let lines =
        corpus::PLAIN.len() + corpus::WRAPPED.len() + corpus::OPAQUE.len() + corpus::odd_characters().len();
    assert!(lines + corpus::here_documents().len() >= 300, "{lines}");
}

#[test]
fn plain_lines_are_understood_word_by_word() {
    check(corpus::PLAIN, false, expect_file!["plain.txt"]);
}

#[test]
fn wrappers_are_seen_through() {
    check(corpus::WRAPPED, false, expect_file!["wrapped.txt"]);
}

#[test]
fn what_a_shell_would_do_more_is_named() {
    check(corpus::OPAQUE, true, expect_file!["opaque.txt"]);
}

#[test]
fn a_here_document_is_opaque_whatever_is_in_it() {
    for text in corpus::here_documents() {
        assert_eq!(shell(&text).opaque.as_deref(), Some("a here-document (<<)"), "{text:?}");
    }
}

#[test]
fn a_character_that_two_readers_take_differently_is_opaque_wherever_it_stands() {
    for (text, odd) in corpus::odd_characters() {
        let why = format!("the character U+{:04X}", u32::from(odd));
        assert_eq!(shell(&text).opaque, Some(why), "{text:?}");
    }
}

#[test]
fn a_command_behind_a_doubt_is_still_found() {
    for text in corpus::HIDING_RM {
        let line = shell(text);
        assert!(line.opaque.is_some(), "{text:?}");
        assert!(prefix(&[&["rm"]]).covers_line(&line, RulePurpose::Restricts), "{text:?}: {line:?}");
    }
}

#[test]
fn words_of_a_direct_call_are_taken_as_they_are() {
    let line = argv(&["echo", "$(id)", "a; rm -rf /", "*", "\r\u{a0}"]);
    assert_eq!(line.opaque, None);
    assert_eq!(line.commands, [plain(&["echo", "$(id)", "a; rm -rf /", "*", "\r\u{a0}"])]);
    expect![[r"echo '$(id)' 'a; rm -rf /' '*' $'\r\U000000a0'"]].assert_eq(&line.shown);
    for odd in [argv(&[]), argv(&[""]), argv(&["ls", "a\0b"])] {
        assert!(odd.opaque.is_some(), "{odd:?}");
    }
}

#[test]
fn a_direct_call_is_seen_through_too() {
    let line = argv(&["env", "-S", "bash -c", "rm -rf /"]);
    assert_eq!(
        line.commands,
        [
            plain(&["env", "-S", "bash -c", "rm -rf /"]),
            SimpleCommand { through: vec!["env".to_owned()], ..plain(&["bash", "-c", "rm -rf /"]) },
            SimpleCommand {
                through: vec!["env".to_owned(), "bash -c".to_owned()],
                ..plain(&["rm", "-rf", "/"])
            },
        ]
    );
}

#[test]
fn what_is_too_large_to_judge_is_said_to_be() {
    let many = vec!["ls"; 51].join("; ");
    let deep = format!("{} ls", ["nice"; 9].join(" "));
    let long = format!("echo {}", "x".repeat(64 * 1024));
    let heap: Vec<String> = vec!["x".repeat(40 * 1024); 2];
    for (line, why) in [
        (shell(&many), "it has more than 50 commands"),
        (shell(&deep), "a command is inside of more than 8 others"),
        (shell(&long), "it is longer than 65536 bytes"),
        (CommandLine::of_argv(&heap, Vec::new()), "it is longer than 65536 bytes"),
        (shell(&format!("{many} $x")), "it has more than 50 commands"),
    ] {
        assert!(line.over_limit);
        assert_eq!(line.opaque.as_deref(), Some(why));
    }
    for text in [vec!["ls"; 50].join("; "), format!("{} ls", ["nice"; 8].join(" "))] {
        assert_eq!((shell(&text).over_limit, shell(&text).opaque), (false, None), "{text}");
    }
}

#[test]
fn all_of_a_line_is_shown() {
    let text = format!("echo {} && rm -rf x # \u{1b}[2J", "y".repeat(60_000));
    let shown = shell(&text).shown;
    assert_eq!(shown, text.replace('\u{1b}', "\\u{1b}"));
    let whole = "z".repeat(200_000);
    assert_eq!(shell(&whole).shown, whole);
}

#[test]
fn a_wrapper_is_known_by_its_words() {
    for words in corpus::WRAPPERS {
        let argv: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert!(is_wrapper(&argv), "{words}");
    }
    for words in corpus::NO_WRAPPERS {
        let argv: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert!(!is_wrapper(&argv), "{words}");
    }
}

#[test]
fn only_a_line_without_wrappers_and_doubts_can_be_remembered() {
    for text in ["git status", "git status && ls -l", "echo hi >/dev/null 2>&1"] {
        assert!(shell(text).can_be_remembered(), "{text}");
    }
    for text in
        ["sh -c 'git status'", "env git status", "sudo ls", "ls $x", "ls | xargs rm", "", "python3 -c 1"]
    {
        assert!(!shell(text).can_be_remembered(), "{text}");
    }
}

#[test]
fn a_program_that_runs_its_input_is_known() {
    for words in ["sh", "bash -s", "bash -e", "/bin/sh -", "python3", "python3 -", "node", "perl", "zsh -x"] {
        let argv: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert!(reads_its_program(&argv), "{words}");
    }
    for words in ["sh x.sh", "bash -c ls", "python3 x.py", "bash --version", "ls", "python3 -m http.server"] {
        let argv: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert!(!reads_its_program(&argv), "{words}");
    }
}

#[test]
fn a_rule_that_allows_is_read_narrowly() {
    let status = prefix(&[&["git"], &["status", "log"]]);
    for text in ["git status", "git status --short", "/usr/bin/git log -3", "git log && git status"] {
        assert!(status.covers_line(&shell(text), RulePurpose::Allows), "{text}");
    }
    for text in [
        "git",
        "git push",
        "git -c x=y status",
        "git --no-pager status",
        "./git status",
        "/tmp/git status",
        "'git ' status",
        "git 'status '",
        "GIT status",
        "git status; ls",
        "git status $x",
        "sh -c 'git status'",
        "command git status",
        "git log --output=.git/hooks/x",
        "git log --out=x",
        "A=b git status",
        "",
    ] {
        assert!(!status.covers_line(&shell(text), RulePurpose::Allows), "{text}");
    }
    let set = CommandLine::of_shell("git status", vec!["PATH".to_owned()]);
    assert!(!status.covers_line(&set, RulePurpose::Allows));
}

#[test]
fn options_that_make_more_of_a_program_are_part_of_the_rule() {
    for (program, text) in corpus::MORE_THAN_IT_SAYS {
        assert!(!prefix(&[&[*program]]).covers_line(&shell(text), RulePurpose::Allows), "{text}");
    }
    for (program, text) in corpus::AS_IT_SAYS {
        assert!(
            prefix(&[&[*program]]).covers_line(&shell(text), RulePurpose::Allows),
            "{text}: {:?}",
            shell(text)
        );
    }
}

#[test]
fn a_star_is_one_word_and_dots_are_any_number() {
    let covered =
        |words: &[&[&str]], text: &str| prefix(words).covers_line(&shell(text), RulePurpose::Allows);
    let one: &[&[&str]] = &[&["touch"], &["*"]];
    assert!(covered(one, "touch a"));
    for text in ["touch", "touch a b", "touch -r", "touch @x", "touch +x", "touch A=b", "touch -d x"] {
        assert!(!covered(one, text), "{text}");
    }
    let rest: &[&[&str]] = &[&["curl"], &["-s"], &["..."]];
    for text in ["curl -s", "curl -s https://x", "curl -s -f https://x"] {
        assert!(covered(rest, text), "{text}");
    }
    for text in ["curl", "curl https://x", "curl -s -o f https://x", "curl -s -D f x", "curl -s --trace=f x"]
    {
        assert!(!covered(rest, text), "{text}");
    }
    let script: &[&[&str]] = &[&["python3"], &["scripts/report.py"], &["..."]];
    assert!(covered(script, "python3 scripts/report.py --year 2026"));
    assert!(!covered(script, "python3 -c 1 scripts/report.py"));
    let denied = prefix(&[&["chmod"], &["*"], &["secret.md"]]);
    assert!(denied.covers_line(&shell("chmod 600 secret.md"), RulePurpose::Restricts));
    assert!(!denied.covers_line(&shell("chmod 600 other.md"), RulePurpose::Restricts));
}

#[test]
fn a_star_never_stands_for_what_is_run() {
    for words in [
        &["python3", "*"][..],
        &["python3", "..."],
        &["python3", "-m", "*"],
        &["node", "..."],
        &["sed", "-n", "..."],
        &["awk", "*"],
        &["git", "..."],
        &["git", "--no-pager", "*"],
        &["npm", "..."],
        &["cargo", "*"],
        &["sqlite3", "notes.db", "*"],
        &["sqlite3", "..."],
        &["sh", "..."],
        &["env", "*"],
    ] {
        let words: Vec<&[&str]> = words.iter().map(std::slice::from_ref).collect();
        assert!(prefix(&words).cannot_allow().is_some(), "{words:?}");
    }
    for words in
        [&["python3", "x.py", "..."][..], &["git", "push", "..."], &["npm", "run", "*"], &["touch", "..."]]
    {
        let words: Vec<&[&str]> = words.iter().map(std::slice::from_ref).collect();
        assert_eq!(prefix(&words).cannot_allow(), None, "{words:?}");
    }
    let why = |words: &[&str]| {
        let words: Vec<PrefixWord> = words.iter().map(|&word| PrefixWord::One(word.to_owned())).collect();
        CommandPrefix::compile(&words).unwrap_err()
    };
    expect!["`...` stands for all further words, so it must be the last"].assert_eq(&why(&["a", "...", "b"]));
    expect!["`command` has no program; its first word must name one"].assert_eq(&why(&["*"]));
    let among = [PrefixWord::One("a".to_owned()), PrefixWord::Any(vec!["b".to_owned(), "*".to_owned()])];
    expect!["`*` cannot be an alternative; write it as a word of its own"]
        .assert_eq(&CommandPrefix::compile(&among).unwrap_err());
}

#[test]
fn a_rule_that_allows_speaks_of_the_words_alone() {
    let ls = prefix(&[&["ls"]]);
    assert!(ls.covers_line(&shell("ls"), RulePurpose::Allows));
    assert!(ls.covers_line(&shell("ls").in_folder(Some("./")), RulePurpose::Allows));
    let input = |stdin, tty| CallInput { stdin, tty };
    for line in [
        shell("ls").in_folder(Some("Notes")),
        shell("ls").with_input(input(true, false)),
        shell("ls").with_input(input(false, true)),
        shell("cd Notes && ls"),
        CommandLine::of_shell("ls", vec!["A".to_owned()]),
    ] {
        assert!(!ls.covers_line(&line, RulePurpose::Allows), "{line:?}");
        assert!(ls.covers_line(&line, RulePurpose::Restricts), "{line:?}");
    }
}

#[test]
fn a_rule_that_forbids_is_read_widely() {
    let force = prefix(&[&["git"], &["push"], &["--force", "-f"]]);
    for text in [
        "git push --force",
        "git push origin main --force",
        "git push -f",
        "git push -vf",
        "git -C x push --forc",
        "git --no-pager push --force",
        "/opt/git push --force-with-lease --force",
        "ls && git push --force",
        "sh -c 'git push --force'",
        "sudo env A=b git push -f",
        "echo $(git push -f)",
    ] {
        assert!(force.covers_line(&shell(text), RulePurpose::Restricts), "{text}");
    }
    for text in ["git push", "git commit -m push -f", "git pull --force", "gitk push -f", "echo git push -f"]
    {
        assert!(!force.covers_line(&shell(text), RulePurpose::Restricts), "{text}");
    }
    let rm = prefix(&[&["rm"], &["-rf"]]);
    for text in ["rm -rf x", "rm -fr x", "rm -r -f x", "rm x -f -r", "\\rm -rfv x", "r''m -rf x"] {
        assert!(rm.covers_line(&shell(text), RulePurpose::Restricts), "{text}");
    }
    for text in ["rm -r x", "rm x", "rm --rf"] {
        assert!(!rm.covers_line(&shell(text), RulePurpose::Restricts), "{text}");
    }
}

#[test]
fn a_prefix_that_makes_no_sense_is_refused() {
    let one = |word: &str| PrefixWord::One(word.to_owned());
    let why = |words: &[PrefixWord]| CommandPrefix::compile(words).unwrap_err();
    expect!["`command` is empty; name at least the program"].assert_eq(&why(&[]));
    expect!["a word of `command` is empty"].assert_eq(&why(&[one("git"), PrefixWord::Any(Vec::new())]));
    expect![[r#"`git status` is more than one word; write ["git", "status"]"#]]
        .assert_eq(&why(&[one("git status")]));
    for refused in
        ["sh", "/bin/bash", "env", "sudo", "xargs", "eval", "nice", "export", "source", "ssh", "docker"]
    {
        assert!(prefix(&[&[refused]]).cannot_allow().is_some(), "{refused}");
    }
    for refused in
        [["python3", "-c"], ["git", "-c"], ["find", "-exec"], ["perl", "-e"], ["tar", "--to-command"]]
    {
        assert!(prefix(&[&[refused[0]], &["x", refused[1]]]).cannot_allow().is_some(), "{refused:?}");
    }
    for fine in ["git", "sed", "find", "ls", "cargo", "make", "./build.sh"] {
        assert_eq!(prefix(&[&[fine]]).cannot_allow(), None, "{fine}");
    }
    for refused in ["python3", "awk", "vim", "ed", "sqlite3", "ld.so", "i386"] {
        assert!(prefix(&[&[refused]]).cannot_allow().is_some(), "{refused}");
    }
    expect!["`env` runs what it is given: a shell wrapper cannot be allowed"]
        .assert_eq(&prefix(&[&["ls", "env"]]).cannot_allow().unwrap());
}

#[test]
fn a_rule_is_held_to_its_own_examples() {
    let own = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let status = prefix(&[&["git"], &["status"]]);
    let judge = |stance, yes: &[&str], no: &[&str]| check_examples(&status, stance, &own(yes), &own(no));
    assert_eq!(judge(RulePurpose::Allows, &["git status -s"], &["git push", "sh -c 'git status'"]), Ok(()));
    assert_eq!(judge(RulePurpose::Restricts, &["git status", "sh -c 'git status'"], &["git push"]), Ok(()));
    expect![[r#"`match` has `sudo git status`, which the rule does not match; it covers its own words and options that are known to be harmless: name more words, or end with `"*"` for one word or `"..."` for any number"#]]
        .assert_eq(&judge(RulePurpose::Allows, &["sudo git status"], &[]).unwrap_err());
    expect!["`not_match` has `ls; git status`, which the rule matches"]
        .assert_eq(&judge(RulePurpose::Restricts, &[], &["ls; git status"]).unwrap_err());
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_crash(text in any::<String>()) {
        let line = shell(&text);
        assert!(line.opaque.is_some() || !line.commands.is_empty());
    }

    #[test]
    fn any_mix_of_what_shells_know_is_read_without_a_crash(
        text in "(sh -c |env -S|find . -exec |git |xargs |sudo |sed |[a-c'\"\\\\$`{}()<>|&;*~# \n=-]){0,30}"
    ) {
        let line = shell(&text);
        assert!(line.opaque.is_some() || !line.commands.is_empty());
        // What is allowed is always also what could be forbidden.
        for command in &line.commands {
            let name = CommandPrefix::compile(&[PrefixWord::One("a".to_owned())]).unwrap();
            assert!(!name.allows(command) || name.restricts(command));
        }
    }
}
