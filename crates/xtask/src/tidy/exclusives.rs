//! Allows words in certain files only, where neither a type nor a lint can restrict who does a thing.

use super::problem::TidyProblem;
use super::tree::{SourceTree, code_lines, crate_of};

struct ExclusiveWord {
    word: &'static str,
    krate: &'static str,
    /// The only source files of the crate that may contain the word.
    files: &'static [&'static str],
    fix: &'static str,
}

const EXCLUSIVES: &[ExclusiveWord] = &[
    ExclusiveWord {
        word: "PermittedArgs {",
        krate: "engine",
        files: &["call_inputs.rs", "phases/permission.rs"],
        fix: "only permission makes what a tool may be called with",
    },
    ExclusiveWord {
        word: "journal.call(",
        krate: "engine",
        files: &["phases/schedule.rs", "phases/emit_terminal.rs"],
        fix: "a call is written when it is scheduled, or with its result if it never was",
    },
    ExclusiveWord {
        word: "Timestamp::now",
        krate: "engine",
        files: &["clock.rs"],
        fix: "take the time from `Clock`",
    },
    ExclusiveWord {
        word: "Instant::now",
        krate: "engine",
        files: &["clock.rs"],
        fix: "take the time from `Clock`",
    },
    ExclusiveWord {
        word: "Uuid::new_v7",
        krate: "engine",
        files: &["ids.rs"],
        fix: "take the id from `IdSource`",
    },
    ExclusiveWord {
        word: "Command::new",
        krate: "engine",
        files: &["hooks/process.rs"],
        fix: "only a hook of the settings file is a process",
    },
    ExclusiveWord {
        word: "Command::new",
        krate: "backend",
        files: &["codex/launcher.rs", "codex/process.rs"],
        fix: "the one process of a backend is the program that the settings name",
    },
    ExclusiveWord {
        word: "target_os",
        krate: "shell",
        files: &["platform/mod.rs", "platform/portable/mod.rs", "platform/portable/sandbox.rs"],
        fix: "put code that depends on the system into the module `platform`",
    },
    ExclusiveWord {
        word: "target_os",
        krate: "backend",
        files: &["platform.rs"],
        fix: "put code that depends on the system into the module `platform`",
    },
    ExclusiveWord {
        word: "tokio::spawn",
        krate: "responses",
        // The tests play clients that come and go on their own.
        files: &["engine_tools/tests.rs", "router/websocket/tests.rs"],
        fix: "an answer is polled by its reader; only a call that was begun must outlive it",
    },
    ExclusiveWord {
        word: "tokio::spawn",
        krate: "mcp-server",
        files: &[],
        fix: "only `call-session` lets a call outlive the client that asked for it",
    },
];

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for (path, text) in tree.sources() {
        let Some(krate) = crate_of(path) else { continue };
        let Some(file) = path.strip_prefix(&format!("crates/{krate}/src/")) else { continue };
        for exclusive in EXCLUSIVES.iter().filter(|rule| rule.krate == krate && !rule.files.contains(&file)) {
            for (line, _) in code_lines(text).filter(|(_, code)| code.contains(exclusive.word)) {
                let what = format!("`{}` outside of {}", exclusive.word, exclusive.files.join(" and "));
                problems.push(TidyProblem::line(path, line, what, exclusive.fix));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::check;
    use crate::tidy::problem::listed;
    use crate::tidy::tree::SourceTree;

    #[test]
    fn what_one_file_may_do_another_may_not() {
        let makes = "fn permit() {\n    Ok(PermittedArgs { decoded })\n}\n";
        let tree = SourceTree::of(&[
            ("crates/engine/src/phases/permission.rs", makes),
            ("crates/engine/src/phases/execute.rs", makes),
            ("crates/engine/tests/phases.rs", makes),
            ("crates/plan/src/lib.rs", makes),
        ]);
        expect![[r"
            crates/engine/src/phases/execute.rs:2: `PermittedArgs {` outside of call_inputs.rs and phases/permission.rs: only permission makes what a tool may be called with
        "]]
        .assert_eq(&listed(&check(&tree)));
    }
}
