//! Every command explains itself.

use crate::support::TestVault;
use expect_test::expect;

/// The commands that the overview lists.
fn commands(sandbox: &TestVault) -> Vec<String> {
    let overview = sandbox.tollgate(&["--help"]).expect_code(0).out;
    let listed = overview.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn the_commands_are_these() {
    expect![
        "demo init tools check preview run call runs show verify replay resume undo redo prune serve mcp approve token connect trust servers doctor schema completions man"
    ]
    .assert_eq(&commands(&TestVault::new()).join(" "));
}

#[test]
fn the_help_of_every_command_has_an_example() {
    let sandbox = TestVault::new();
    for command in commands(&sandbox) {
        let help = sandbox.tollgate(&[&command, "--help"]).expect_code(0).out;
        let examples = help.split_once("Example:\n").map(|(_, examples)| examples).unwrap_or_default();
        let example = format!("  tollgate {command}");
        assert!(examples.lines().any(|line| line.starts_with(&example)), "{command}:\n{help}");
    }
}

#[test]
fn every_command_that_answers_has_json() {
    let sandbox = TestVault::new();
    // `demo` is for people only, `mcp` has a protocol of its own, and two commands write for other programs.
    let others = ["demo", "mcp", "completions", "man"];
    for command in commands(&sandbox).iter().filter(|command| !others.contains(&command.as_str())) {
        let help = sandbox.tollgate(&[command, "--help"]).expect_code(0).out;
        assert!(help.contains("--json"), "{command}:\n{help}");
    }
}

#[test]
fn a_wrong_option_is_bad_input_in_words_or_in_json() {
    let sandbox = TestVault::new();
    let text = sandbox.tollgate(&["runs", "--limt", "3"]).expect_code(2);
    assert!(text.out.is_empty() && text.err.contains("--limit"), "{}", text.err);
    let json = sandbox.tollgate(&["runs", "--limt", "3", "--json"]).expect_code(2);
    assert_eq!(json.json()["error"]["code"], "usage");
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let sandbox = TestVault::new();
    let commands = commands(&sandbox);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.tollgate(&["completions", shell]).expect_code(0).out;
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell} does not complete {command}");
        }
    }
    let page = sandbox.tollgate(&["man"]).expect_code(0).out;
    assert!(page.contains(".TH tollgate 1"), "{page}");
    for command in &commands {
        let own = sandbox.tollgate(&["man", command]).expect_code(0).out;
        assert!(page.contains(&format!("tollgate\\-{command}(1)")), "{command}:\n{page}");
        assert!(own.contains(".SH OPTIONS") && own.contains("Example"), "{command}:\n{own}");
    }
    let wrong = sandbox.tollgate(&["man", "nothing"]).expect_code(2);
    assert!(wrong.err.contains("no command is named `nothing`"), "{}", wrong.err);
}

#[test]
fn the_schema_of_a_plan_is_the_published_one() {
    let sandbox = TestVault::new();
    let published = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/action-plan.json");
    assert_eq!(
        sandbox.tollgate(&["schema", "plan"]).expect_code(0).out,
        std::fs::read_to_string(published).unwrap()
    );
}
