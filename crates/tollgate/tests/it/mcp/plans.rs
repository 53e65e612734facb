//! A batch of changes with one approval: checked, previewed, approved through the client, run, verified, undone.

use expect_test::expect;
use serde_json::json;

use crate::mcp::pipe::{McpPipe, ProtocolEra, no, text, yes};
use crate::support::{TestVault, inbox_plan};

const ERAS: [ProtocolEra; 2] = [ProtocolEra::Old, ProtocolEra::New];

#[test]
fn a_plan_with_a_tool_outside_of_the_chosen_sets_is_refused_without_a_question() {
    for era in ERAS {
        let sandbox = TestVault::new();
        let mut pipe = McpPipe::open(&sandbox, era, &["--tools", "notes,plans"]);
        for (tool, args, risk) in [
            ("ExecCommand", json!({ "cmd": "echo no > made.md" }), "commands"),
            ("util.slugifyTitle", json!({ "title": "A title" }), "read-only"),
        ] {
            let plan = json!({
                "version": "1.0", "goal": "Leave the sets", "riskLevel": risk,
                "steps": [{ "id": "out", "tool": tool, "args": args }],
            });
            for plan_tool in ["plan_check", "plan_preview", "plan_run"] {
                let (asked, refused) = pipe.call(plan_tool, &json!({ "plan": plan }), &yes());
                assert_eq!((asked, &refused["isError"]), (None, &json!(true)), "{plan_tool}: {refused}");
                let expected =
                    format!("step `out` uses {tool}, which this server does not offer; nothing was run");
                assert!(text(&refused).starts_with(&expected), "{refused}");
                let data = &refused["_meta"]["tollgate/plan"];
                assert_eq!(data["error"]["code"], "tool_not_offered", "{refused}");
            }
            let (asked, refused) = pipe.call(tool, &args, &yes());
            assert!(asked.is_none() && refused["isError"] != false, "{refused}");
        }
        let plan = json!({ "plan": inbox_plan() });
        let (_, refused) = pipe.call("plan_run", &plan, &yes());
        assert!(text(&refused).contains("step `bullets` uses util.parseMarkdownBullets"), "{refused}");
        pipe.leave();
        assert_eq!(sandbox.notes(), ["Inbox.md"]);
    }
}

#[test]
fn one_yes_runs_the_whole_plan_and_it_can_be_verified_and_undone() {
    let mut told = Vec::new();
    for era in ERAS {
        let sandbox = TestVault::new();
        let before = sandbox.notes();
        let mut pipe = McpPipe::open(&sandbox, era, &[]);
        let plan = json!({ "plan": inbox_plan() });
        let (asked, checked) = pipe.call("plan_check", &plan, &no());
        assert_eq!((asked, &checked["isError"]), (None, &json!(false)), "{checked}");
        // The plan is sent once.
        let checked_id = json!({ "previewId": checked["structuredContent"]["data"]["previewId"] });
        let (asked, foreseen) = pipe.call("plan_preview", &checked_id, &no());
        assert_eq!((asked, &foreseen["isError"]), (None, &json!(false)), "{foreseen}");
        assert_eq!(sandbox.notes(), before);
        let previewed_id = json!({ "previewId": foreseen["structuredContent"]["data"]["previewId"] });
        let (asked, done) = pipe.call("plan_run", &previewed_id, &yes());
        assert_eq!(done["isError"], false, "{done}");
        assert_eq!(sandbox.notes().len(), before.len() + 3);
        pipe.leave();

        let shown = sandbox.tollgate(&["show", "last", "--json"]).expect_code(0).json();
        assert_eq!(shown["confirmation"]["channel"], "client", "{shown}");
        sandbox.tollgate(&["verify", "last"]).expect_code(0);
        sandbox.only_run();
        sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
        assert_eq!(sandbox.notes(), before);
        let said = [text(&checked), text(&foreseen), &asked.unwrap(), text(&done)].join("\n--\n");
        told.push(sandbox.scrub(&said));
    }
    assert_eq!(told[0], told[1]);
    expect![[r##"
        The plan can run: 3 steps, writes
        Order: read, bullets, notes
        Next: plan_preview or plan_run with {"previewId":"p1"}
        --
        Creates 3 notes and 1 folder: Notes/Blue plums.md, Notes/Green pears.md, Notes/Red apples.md.
        To run exactly this: plan_run with {"previewId":"p2"}
        created folder Notes
        created Notes/Blue plums.md (+1 -0)
          + # Blue plums
        created Notes/Green pears.md (+1 -0)
          + # Green pears
        created Notes/Red apples.md (+1 -0)
          + # Red apples
        Steps (this creates 3 notes and 1 folder):
          ok         read         Read Inbox.md
          ok         bullets      Find the bullets in 49 bytes of text
          ok         notes        Create Notes/Red apples.md (13 bytes) (3 calls)
                                  Create Notes/Green pears.md (14 bytes)
                                  Create Notes/Blue plums.md (13 bytes)
        --
        Creates 3 notes and 1 folder: Notes/Blue plums.md, Notes/Green pears.md,
        Notes/Red apples.md.
        Read all 25 lines below.
        created folder Notes
        created Notes/Blue plums.md (+1 -0)
          + # Blue plums
        created Notes/Green pears.md (+1 -0)
          + # Green pears
        created Notes/Red apples.md (+1 -0)
          + # Red apples
        Steps (this creates 3 notes and 1 folder):
          ok         read         Read Inbox.md
          ok         bullets      Find the bullets in 49 bytes of text
          ok         notes        Create Notes/Red apples.md (13 bytes) (3 calls)
                                  Create Notes/Green pears.md (14 bytes)
                                  Create Notes/Blue plums.md (13 bytes)

        Goal: A note for every bullet
        Risk: writes   Plan: b3:HASH
        Steps: 3
          1. read [vault.readFile read-only]: Read a file as text or base64, whole or in part.
               path: "Inbox.md"
          2. bullets [util.parseMarkdownBullets read-only]: Find the bullets and numbered items in Markdown text.
               text: "$steps.read.content"
          3. notes [vault.createFile writes] for each bullet of "$steps.bullets.items": Create a file with the given text, and the folders above it.
               path: "Notes/{bullet.text}.md"
               content: "# {bullet.text}\n"
        Preview hash: b3:HASH

        --
        Done
        ok read: 1 call
          Read Inbox.md (49 bytes) (etag ETAG)
        ok bullets: 1 call
          Found 3 bullets
        ok notes: 3 calls
          Created Notes/Red apples.md (etag ETAG)
          Created Notes/Green pears.md (etag ETAG)
          Created Notes/Blue plums.md (etag ETAG)
        created Notes/
        created Notes/Blue plums.md
        created Notes/Green pears.md
        created Notes/Red apples.md
        Run: ID"##]].assert_eq(&told[0]);
}

#[test]
fn a_vault_that_changed_since_the_preview_is_named_in_the_question() {
    for era in ERAS {
        let sandbox = TestVault::new();
        let mut pipe = McpPipe::open(&sandbox, era, &[]);
        let (_, foreseen) = pipe.call("plan_preview", &json!({ "plan": inbox_plan() }), &no());
        let id = json!({ "previewId": foreseen["structuredContent"]["data"]["previewId"] });
        sandbox.write("vault/Notes/Red apples.md", "mine\n");
        sandbox.write("vault/Inbox.md", "- Red apples\n- Yellow pears\n");
        let (asked, refused) = pipe.call("plan_run", &id, &no());
        // The first note exists now, so that the plan is certain to fail.
        assert_eq!((asked, &refused["isError"]), (None, &json!(true)), "{refused}");
        std::fs::remove_file(sandbox.path("vault/Notes/Red apples.md")).unwrap();
        let (asked, _) = pipe.call("plan_run", &id, &no());
        let asked = asked.unwrap();
        assert!(asked.contains("This is not what was forecast before:"), "{asked}");
        assert!(asked.contains("Notes/Yellow pears.md would be created too"), "{asked}");
        let other = pipe.call("plan_run", &json!({ "previewId": "p99" }), &yes()).1;
        assert!(text(&other).contains("no plan is kept under the previewId `p99`"), "{other}");
        pipe.leave();
        // Ids are those of one connection.
        let mut pipe = McpPipe::open(&sandbox, era, &["--yes"]);
        assert_eq!(pipe.call("plan_run", &id, &yes()).1["isError"], true);
        // Without a question exactly the preview is run, or nothing.
        let (_, foreseen) = pipe.call("plan_preview", &json!({ "plan": inbox_plan() }), &no());
        let id = json!({ "previewId": foreseen["structuredContent"]["data"]["previewId"] });
        sandbox.write("vault/Inbox.md", "- Blue plums\n");
        let refused = pipe.call("plan_run", &id, &yes()).1;
        assert!(text(&refused).contains("would not do what was previewed"), "{refused}");
        assert!(!sandbox.path("vault/Notes/Blue plums.md").exists());
        pipe.leave();
    }
}

#[test]
fn a_plan_that_rules_allow_is_asked_about_if_it_differs_from_its_preview() {
    for era in ERAS {
        let sandbox = TestVault::new();
        sandbox.trusted_config(
            "[[rules]]\neffect = \"allow\"\ntools = [\"vault.*\"]\npaths = [\"Drafts/**\"]\n",
        );
        sandbox.write("vault/Drafts/One.md", "1\n");
        let step = json!({ "id": "one", "tool": "vault.writeFile", "args": { "path": "Drafts/One.md", "content": "2\n" } });
        let plan =
            json!({ "version": "1.0", "goal": "Write a draft", "riskLevel": "writes", "steps": [step] });
        let mut pipe = McpPipe::open(&sandbox, era, &[]);
        let preview = |pipe: &mut McpPipe| {
            let (_, foreseen) = pipe.call("plan_preview", &json!({ "plan": plan }), &no());
            json!({ "previewId": foreseen["structuredContent"]["data"]["previewId"] })
        };
        let id = preview(&mut pipe);
        sandbox.write("vault/Drafts/One.md", "mine\n");
        let asked = pipe.call("plan_run", &id, &no()).0.unwrap();
        assert!(asked.contains("This is not what was forecast before:"), "{asked}");
        assert_eq!(std::fs::read_to_string(sandbox.path("vault/Drafts/One.md")).unwrap(), "mine\n");
        let id = preview(&mut pipe);
        assert_eq!(pipe.call("plan_run", &id, &no()).0, None);
        assert_eq!(std::fs::read_to_string(sandbox.path("vault/Drafts/One.md")).unwrap(), "2\n");
        pipe.leave();
    }
}

#[test]
fn a_no_runs_nothing_and_is_on_record() {
    for era in ERAS {
        let sandbox = TestVault::new();
        let before = sandbox.notes();
        let mut pipe = McpPipe::open(&sandbox, era, &[]);
        let (asked, refused) = pipe.call("plan_run", &json!({ "plan": inbox_plan() }), &no());
        assert!(asked.is_some());
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(refused.get("structuredContent").is_none());
        assert!(text(&refused).starts_with("Not run"), "{}", text(&refused));
        assert!(text(&refused).contains("faster than a person can read"), "{}", text(&refused));
        pipe.leave();
        assert_eq!(sandbox.notes(), before);
        sandbox.tollgate(&["verify", "last"]).expect_code(0);
    }
}

#[test]
fn a_plan_with_errors_asks_nobody_and_says_what_to_mend() {
    for era in ERAS {
        let sandbox = TestVault::new();
        let mut pipe = McpPipe::open(&sandbox, era, &[]);
        let mut plan = inbox_plan();
        plan["steps"][2]["args"]["path"] = json!("$steps.bullets.nothing");
        for tool in ["plan_check", "plan_preview", "plan_run"] {
            let (asked, refused) = pipe.call(tool, &json!({ "plan": plan }), &yes());
            assert_eq!((asked, &refused["isError"]), (None, &json!(true)), "{tool}: {refused}");
            assert!(text(&refused).contains("nothing"), "{}", text(&refused));
        }
        let (asked, refused) = pipe.call("plan_run", &json!({}), &yes());
        assert_eq!((asked, text(&refused).lines().next()), (None, Some("`plan` is missing")));
        pipe.leave();
        assert!(!sandbox.path("vault/Notes").exists());
    }
}

#[test]
fn a_call_shows_its_diff_and_a_yes_in_advance_asks_nobody() {
    for era in ERAS {
        let sandbox = TestVault::new();
        let args = json!({ "path": "New.md", "content": "Hello.\n" });
        let mut pipe = McpPipe::open(&sandbox, era, &[]);
        let (asked, done) = pipe.call("vault_createFile", &args, &yes());
        assert_eq!(done["isError"], false, "{done}");
        let asked = asked.unwrap();
        assert!(asked.contains("+ Hello."), "{asked}");
        pipe.leave();
        sandbox.tollgate(&["verify", "last"]).expect_code(0);
        let mut pipe = McpPipe::open(&sandbox, era, &["--yes"]);
        let (asked, done) = pipe.call("vault_delete", &json!({ "path": "New.md" }), &no());
        assert_eq!((asked, &done["isError"]), (None, &json!(false)), "{done}");
        pipe.leave();
    }
}
