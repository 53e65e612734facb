//! Words that may stand in one place only: where a type or a lint cannot say who alone does a thing.

use super::problem::Problem;
use super::tree::{Tree, code_lines, crate_of};

struct Exclusive {
    word: &'static str,
    krate: &'static str,
    /// The only files of the crate's sources that may have the word.
    files: &'static [&'static str],
    mend: &'static str,
}

const EXCLUSIVES: [Exclusive; 8] = [
    Exclusive {
        word: "PermittedArgs {",
        krate: "engine",
        files: &["inputs.rs", "phases/permission.rs"],
        mend: "only permission makes what a tool may be called with",
    },
    Exclusive {
        word: "journal.call(",
        krate: "engine",
        files: &["phases/schedule.rs", "phases/emit_terminal.rs"],
        mend: "a call is written when it is scheduled, or with its result if it never was",
    },
    Exclusive {
        word: "Timestamp::now",
        krate: "engine",
        files: &["clock.rs"],
        mend: "take the time from `Clock`",
    },
    Exclusive {
        word: "Instant::now",
        krate: "engine",
        files: &["clock.rs"],
        mend: "take the time from `Clock`",
    },
    Exclusive { word: "Uuid::new_v7", krate: "engine", files: &["ids.rs"], mend: "take the id from `Ids`" },
    Exclusive {
        word: "Command::new",
        krate: "engine",
        files: &["hooks/process.rs"],
        mend: "only a hook of the settings file is a process",
    },
    Exclusive {
        word: "Command::new",
        krate: "backend",
        files: &["codex/launcher.rs", "codex/process.rs"],
        mend: "the one process of a backend is the program that the settings name",
    },
    Exclusive {
        word: "tokio::spawn",
        krate: "gateway",
        // The tests stand for clients that come and go on their own.
        files: &["gate_run.rs", "gate_tools/tests.rs", "responses/routes/websocket/tests.rs"],
        mend: "an answer is polled by its reader; only a call that was begun must outlive it",
    },
];

pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.sources() {
        let Some(krate) = crate_of(path) else { continue };
        let Some(file) = path.strip_prefix(&format!("crates/{krate}/src/")) else { continue };
        for exclusive in EXCLUSIVES.iter().filter(|rule| rule.krate == krate && !rule.files.contains(&file)) {
            for (line, _) in code_lines(text).filter(|(_, code)| code.contains(exclusive.word)) {
                let what = format!("`{}` outside of {}", exclusive.word, exclusive.files.join(" and "));
                problems.push(Problem::line(path, line, what, exclusive.mend));
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
    use crate::tidy::tree::Tree;

    #[test]
    fn what_one_file_may_do_another_may_not() {
        let makes = "fn permit() {\n    Ok(PermittedArgs { decoded })\n}\n";
        let tree = Tree::of(&[
            ("crates/engine/src/phases/permission.rs", makes),
            ("crates/engine/src/phases/execute.rs", makes),
            ("crates/engine/tests/phases.rs", makes),
            ("crates/plan/src/lib.rs", makes),
        ]);
        expect![[r"
            crates/engine/src/phases/execute.rs:2: `PermittedArgs {` outside of inputs.rs and phases/permission.rs: only permission makes what a tool may be called with
        "]]
        .assert_eq(&listed(&check(&tree)));
    }
}
