//! An approval covers the file that it was shown for, and nothing else, in both eras of the protocol.

use serde_json::{Value, json};

use crate::mcp::pipe::{McpPipe, ProtocolEra, no, text, yes};
use crate::support::TestVault;

const ERAS: [ProtocolEra; 2] = [ProtocolEra::Old, ProtocolEra::New];

/// Calls that would lose what is written while their question is open.
fn calls() -> [(&'static str, Value); 4] {
    [
        ("vault_writeFile", json!({ "path": "Inbox.md", "content": "of the model\n" })),
        ("vault_delete", json!({ "path": "Inbox.md" })),
        ("vault_delete", json!({ "path": "Inbox.md", "trash": false })),
        ("vault_rename", json!({ "fromPath": "Inbox.md", "toPath": "Moved.md" })),
    ]
}

#[test]
fn a_note_that_is_edited_while_the_question_is_open_is_asked_about_again_and_not_lost() {
    for era in ERAS {
        for (tool, args) in calls() {
            let sandbox = TestVault::new();
            let mut pipe = McpPipe::open(&sandbox, era, &[]);
            let (asked, result) = pipe.call_answering(tool, &args, |number, _| match number {
                0 => {
                    sandbox.write("vault/Inbox.md", "edited by hand\n");
                    yes()
                }
                _ => no(),
            });
            pipe.leave();
            let told = format!("{era:?} {tool} {args}: {asked:#?}\n{result}");
            assert_eq!(asked.len(), 2, "{told}");
            assert!(
                asked[1].contains("This is not what you approved:\n  Inbox.md has changed: it was "),
                "{told}"
            );
            assert_eq!(result["isError"], true, "{told}");
            let note = std::fs::read_to_string(sandbox.path("vault/Inbox.md")).unwrap();
            assert_eq!(note, "edited by hand\n", "{told}");
        }
    }
}

#[test]
fn a_yes_to_the_difference_makes_the_call() {
    for era in ERAS {
        let sandbox = TestVault::new();
        let mut pipe = McpPipe::open(&sandbox, era, &[]);
        let args = json!({ "path": "Inbox.md", "content": "of the model\n" });
        let (asked, result) = pipe.call_answering("vault_writeFile", &args, |number, _| {
            if number == 0 {
                sandbox.write("vault/Inbox.md", "edited by hand\n");
            }
            yes()
        });
        pipe.leave();
        assert_eq!((asked.len(), &result["isError"]), (2, &json!(false)), "{asked:#?} {result}");
        assert!(asked[1].contains("- edited by hand"), "{}", asked[1]);
    }
}

#[test]
fn a_plan_whose_first_item_fails_says_in_its_first_line_what_it_deletes() {
    for era in ERAS {
        let sandbox = TestVault::new();
        sandbox.write("vault/precious.md", "precious\n");
        let mut pipe = McpPipe::open(&sandbox, era, &[]);
        let plan = json!({ "plan": {
            "version": "1.0", "goal": "Tidy up", "riskLevel": "writes",
            "steps": [{ "id": "del", "tool": "vault.delete", "args": { "path": "{b}.md" }, "onError": "skip",
                "foreach": { "from": ["missing", "precious"], "itemName": "b" } }],
        } });
        let (asked, done) = pipe.call_answering("plan_run", &plan, |_, _| yes());
        pipe.leave();
        let first: Vec<&str> = asked[0].lines().take(2).collect();
        let expected = "Deletes 1 note: precious.md. 1 of 2 items will fail: `missing.md` does not exist.";
        assert_eq!(first.join(" "), expected, "{}", asked[0]);
        assert!(text(&done).contains("deleted precious.md"), "{done}");
    }
}

#[test]
fn a_plan_that_is_certain_to_fail_goes_back_to_the_model_and_nobody_is_asked() {
    for era in ERAS {
        let sandbox = TestVault::new();
        let before = sandbox.notes();
        let mut pipe = McpPipe::open(&sandbox, era, &[]);
        let plan = json!({ "plan": {
            "version": "1.0", "goal": "Tidy up", "riskLevel": "writes",
            "steps": [
                { "id": "new", "tool": "vault.createFile", "args": { "path": "New.md", "content": "new" } },
                { "id": "del", "tool": "vault.delete", "args": { "path": "missing.md" } },
            ],
        } });
        let (asked, refused) = pipe.call_answering("plan_run", &plan, |_, _| yes());
        pipe.leave();
        assert_eq!((asked.len(), &refused["isError"]), (0, &json!(true)), "{asked:?} {refused}");
        assert!(text(&refused).contains("\nfails del: NOT_FOUND: "), "{}", text(&refused));
        assert_eq!(sandbox.notes(), before);
        let shown = sandbox.tollgate(&["show", "last"]).expect_code(0).out;
        assert!(shown.contains("no one was asked, because step del is certain to fail"), "{shown}");
    }
}

#[test]
fn nobody_is_asked_about_a_dry_run() {
    for era in ERAS {
        let sandbox = TestVault::new();
        let mut pipe = McpPipe::open(&sandbox, era, &[]);
        let args = json!({ "path": "Inbox.md", "dryRun": true });
        let (asked, result) = pipe.call_answering("vault_delete", &args, |_, _| no());
        pipe.leave();
        assert_eq!((asked.len(), &result["isError"]), (0, &json!(false)), "{asked:?} {result}");
    }
}
