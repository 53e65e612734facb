//! Calls that failed: what was wrong, what was done already, what to do next.

use envelope::{Failure, Fault, SchemaProblem};

use super::{CorpusCall, CorpusCase, etag, failed, owned};

pub(super) fn cases() -> Vec<CorpusCase> {
    [arguments(), notes(), commands(), policy()].into_iter().flatten().collect()
}

fn arguments() -> Vec<CorpusCase> {
    let problem = |pointer: &str, message: &str, hint: Option<&str>| SchemaProblem {
        pointer: pointer.to_owned(),
        message: message.to_owned(),
        hint: hint.map(str::to_owned),
        from_choice: false,
    };
    let problems = [
        problem("", "`path` is required", None),
        problem("", "`contents` is not a known field", Some("did you mean `content`?")),
        problem(
            "/collisionStrategy",
            "\"replace\" is not one of \"fail\", \"overwrite\", \"create-unique\"",
            None,
        ),
    ];
    let said: Vec<String> = problems
        .iter()
        .map(|problem| match problem.pointer.as_str() {
            "" => problem.message.clone(),
            pointer => format!("{pointer}: {}", problem.message),
        })
        .collect();
    let message = format!("the arguments do not match the schema of vault.createFile: {}", said.join("; "));
    let fault = Fault::new(Failure::SchemaValidationFailed, message)
        .detail("problems", serde_json::to_value(&problems).unwrap_or_default())
        .hint("did you mean `content`?");
    vec![failed(
        "arguments with three problems",
        "vault.createFile",
        fault,
        &[
            "vault.createFile",
            "schema_validation_failed",
            "`path` is required",
            "`contents` is not a known field",
            "/collisionStrategy",
            "\"replace\" is not one of",
            "did you mean `content`?",
        ],
    )]
}

fn notes() -> Vec<CorpusCase> {
    vec![
        failed(
            "a note that is not there",
            "vault.readFile",
            Fault::new(Failure::NotFound, "`Harbor/Bar crossing.md` does not exist")
                .detail("nearest", "Harbour/Bar crossing.md")
                .hint("did you mean `Harbour/Bar crossing.md`?"),
            &["not_found", "Harbor/Bar crossing.md", "did you mean `Harbour/Bar crossing.md`?"],
        ),
        failed(
            "a note that has changed",
            "vault.writeFile",
            Fault::new(Failure::Conflict, "`Projects/Plan.md` has changed: it is not what was read")
                .detail("expectedEtag", etag("a"))
                .detail("currentEtag", etag("b"))
                .hint("read the file again, then decide on what it says now")
                .retryable(true),
            &["conflict", "Projects/Plan.md", "expected", "current", "read the file again"],
        )
        .and(etag("a"))
        .and(etag("b")),
        failed(
            "a note that exists already",
            "vault.createFile",
            Fault::new(Failure::Conflict, "`Inbox/Tide tables.md` already exists (a file)")
                .detail("existing", "Inbox/Tide tables.md")
                .hint("choose another path, or set collisionStrategy to \"create-unique\" or \"overwrite\""),
            &["conflict", "`Inbox/Tide tables.md` already exists", "collisionStrategy", "create-unique"],
        ),
        failed(
            "a protected folder",
            "vault.writeFile",
            Fault::new(
                Failure::SandboxViolation,
                "`.obsidian/app.json` lies in `.obsidian`, which belongs to another program or to Tollgate itself",
            )
            .detail("protected", ".obsidian")
            .hint("use a path outside .obsidian, .git, .trash and .tollgate"),
            &["sandbox_violation", ".obsidian/app.json", "use a path outside .obsidian, .git, .trash and .tollgate"],
        ),
    ]
}

fn commands() -> Vec<CorpusCase> {
    vec![
        failed(
            "a command that took too long",
            "ExecCommand",
            Fault::new(
                Failure::Timeout,
                "the command did not end within 60000 ms and was killed with all it started",
            )
            .detail("timeout_ms", 60_000)
            .detail("stdout_preview", "migrating 2026_02_11_orders\nmigrating 2026_03_02_items\n")
            .detail("stderr_preview", "waiting for lock on table items (held by session 4711)\n")
            .hint("give it more time with `timeout_ms`, or let it go on as a task"),
            &[
                "timeout",
                "60000 ms",
                "migrating 2026_03_02_items",
                "waiting for lock on table items (held by session 4711)",
                "`timeout_ms`",
            ],
        ),
        failed(
            "no sandbox can be built",
            "ExecCommand",
            Fault::new(
                Failure::SetupRequired,
                "no sandbox can be built around the command (bubblewrap: `bwrap` is not installed; landlock: the kernel has it turned off)",
            )
            .hint("sudo apt install bubblewrap"),
            &["setup_required", "bubblewrap: `bwrap` is not installed", "sudo apt install bubblewrap"],
        ),
        failed(
            "no such task",
            "TaskOutput",
            Fault::new(Failure::NotFound, "there is no task `task_99`")
                .hint("tasks are called `task_1` and so on; TaskList names them all"),
            &["not_found", "task_99", "TaskList"],
        ),
    ]
}

fn policy() -> Vec<CorpusCase> {
    let done = ["created Archive/2025.md", "changed Journal/Index.md", "renamed Inbox/a.md to Archive/a.md"];
    vec![
        failed(
            "a rule forbids it",
            "ExecCommand",
            Fault::new(Failure::PermissionDenied, "the rule `deny git push` forbids: Run git push origin main"),
            &["permission_denied", "deny git push", "git push origin main", "ask the user to change the rule"],
        ),
        CorpusCase {
            name: "stopped halfway by the policy",
            call: CorpusCall::Failed {
                tool: "vault.rename",
                fault: Fault::new(
                    Failure::PolicyBlocked,
                    "the limit of 3 changed files is reached: updating links in Reading list.md was not allowed",
                )
                .detail("limit", 3)
                .detail("path", "Reading list.md"),
                done: done.map(str::to_owned).to_vec(),
            },
            facts: owned(&[
                "policy_blocked",
                "limit of 3 changed files",
                "Reading list.md",
                "created Archive/2025.md",
                "changed Journal/Index.md",
                "renamed Inbox/a.md to Archive/a.md",
                "ask the user",
            ]),
            artifacts: Vec::new(),
        },
    ]
}
