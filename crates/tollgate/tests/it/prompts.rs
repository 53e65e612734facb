//! Questions at the terminal: only what is typed for them counts, and withdrawn questions are not asked.

use crate::support::{TestVault, one_note};
use serde_json::json;

/// Three notes, each of which needs an approval of its own.
fn three_questions(sandbox: &TestVault) -> String {
    sandbox.trusted_config("mode = \"trusted\"\n[[rules]]\neffect = \"ask\"\npaths = [\"Notes/**\"]\n");
    let plan = json!({
        "version": "1.0", "goal": "Three notes", "riskLevel": "writes",
        "steps": [{
            "id": "notes", "tool": "vault.createFile",
            "foreach": { "from": [1, 2, 3], "itemName": "n" },
            "args": { "path": "Notes/{n}.md", "content": "x" }
        }]
    });
    sandbox.plan_file("three.json", &plan)
}

#[test]
fn a_plan_is_confirmed_with_a_yes_and_with_nothing_else() {
    for (typed, code, notes) in [
        ("y\r", 0, &["Inbox.md", "a.md"][..]),
        ("n\r", 3, &["Inbox.md"]),
        ("\r", 3, &["Inbox.md"]),
        ("\u{4}", 3, &["Inbox.md"]),
    ] {
        let sandbox = TestVault::new();
        let plan = sandbox.plan_file("plan.json", &one_note("a.md"));
        let mut terminal = sandbox.terminal(&["run", &plan]);
        terminal.wait_for("May this run? [y/N]");
        terminal.type_in(typed);
        let (screen, ended) = terminal.end();
        assert_eq!(
            (ended, sandbox.notes()),
            (code, notes.iter().map(|&note| note.to_owned()).collect()),
            "{screen}"
        );
        // The end of the input is no approval.
        assert_eq!(code == 3, screen.contains("declined by the user"), "{screen}");
        assert!(!screen.contains("not running in a terminal"), "{screen}");
    }
}

#[test]
fn each_call_is_asked_about_once() {
    let sandbox = TestVault::new();
    let plan = three_questions(&sandbox);
    let mut terminal = sandbox.terminal(&["run", &plan]);
    for typed in ["y\r", "n\r", "y\r"] {
        terminal.wait_for("May this call run?");
        terminal.type_in(typed);
    }
    let (screen, ended) = terminal.end();
    assert_eq!((ended, screen.matches("May this call run?").count()), (3, 3), "{screen}");
}

#[test]
fn what_was_typed_before_a_question_came_up_does_not_answer_it() {
    for typed in ["y\rYES", "YES"] {
        let sandbox = TestVault::new();
        let go = sandbox.path("go");
        let hook = format!(
            "cat > /dev/null\nuntil test -e '{}'; do sleep 0.05; done\necho '{{\"decision\": \"ask\", \"reason\": \"sure?\"}}'",
            go.display()
        );
        let program = sandbox.script("hook.sh", &hook);
        sandbox.trusted_config(&format!(
            "mode = \"trusted\"\n[[hooks]]\nname = \"guard\"\ncommand = [\"{program}\"]\ntimeout_ms = 600000\n"
        ));
        let note = json!({ "path": "a.md", "content": "x" }).to_string();
        let mut terminal = sandbox.terminal(&["call", "vault.createFile", &note]);
        // The terminal shows what it has taken in, and the hook lets no question come up before.
        terminal.type_in(typed);
        terminal.wait_for("YES");
        sandbox.write("go", "");
        terminal.wait_for("May this call run?");
        terminal.type_in("\r");
        let (screen, ended) = terminal.end();
        assert_eq!((ended, sandbox.notes()), (3, vec!["Inbox.md".to_owned()]), "{screen}");
    }
}

#[test]
fn ctrl_c_at_a_question_is_the_last_question() {
    let sandbox = TestVault::new();
    let plan = three_questions(&sandbox);
    let mut terminal = sandbox.terminal(&["run", &plan]);
    terminal.wait_for("May this call run?");
    terminal.type_in("\u{3}");
    let (screen, ended) = terminal.end();
    assert_eq!((ended, screen.matches("May this call run?").count()), (130, 1), "{screen}");
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
}
