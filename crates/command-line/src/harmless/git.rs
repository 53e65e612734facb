//! Subcommands of git that read the repository.
//!
//! Git also follows the settings of the repository: they can name a program for differences (`diff.external`,
//! `textconv`), for the list of changed files (`core.fsmonitor`), for signatures and as a filter. A rule covers git in
//! the vault's root only, where `.git` is protected from tools and from commands, so that those programs are yours. A
//! repository in another folder, or one that `-C` selects, is not covered. No pager is started, because a call with a
//! terminal is not covered either.
//!
//! Deliberately omitted: `--output` writes a file, `--ext-diff` starts a program, `--no-index` reads any file, `-O`
//! reads a file, and `branch` or `remote` with an operand make changes.

use super::{HarmlessArguments, OperandKind, program};

const GIT: &[&str] = &["git"];

pub(super) const PROGRAMS: [HarmlessArguments; 6] = [
    program(GIT, OperandKind::Files, "sbvzu", "").verbs(&["status"]).long(
        "short branch show-stash porcelain long verbose untracked-files ignored column no-column ahead-behind \
         no-ahead-behind renames no-renames",
        "",
    ),
    program(GIT, OperandKind::Files, "pusziwbacgmMCDRqeEFP0123456789", "nULlSG")
        .verbs(&["log", "diff", "show", "shortlog"])
        .long(
            "oneline graph decorate no-decorate stat shortstat numstat summary name-only name-status patch \
             no-patch raw cached staged merge-base all branches tags remotes merges no-merges first-parent \
             reverse follow abbrev-commit no-abbrev-commit abbrev pretty format date relative-date color \
             no-color word-diff color-words no-renames find-renames find-copies minimal patience histogram \
             ignore-all-space ignore-space-change ignore-blank-lines no-ext-diff no-textconv exit-code quiet \
             check full-index unified topo-order date-order cherry-pick left-right boundary text \
             compact-summary dirstat numbered email regexp-ignore-case fixed-strings extended-regexp all-match \
             invert-grep no-prefix",
            "max-count skip since after until before author committer grep diff-filter diff-algorithm",
        ),
    program(GIT, OperandKind::Files, "cdmoiszktuv", "")
        .verbs(&["ls-files"])
        .long("cached deleted modified others ignored stage exclude-standard full-name", ""),
    program(GIT, OperandKind::Files, "q", "").verbs(&["rev-parse"]).long(
        "short abbrev-ref verify show-toplevel show-prefix show-cdup git-dir is-inside-work-tree \
         is-bare-repository symbolic-full-name quiet",
        "",
    ),
    program(GIT, OperandKind::None, "arv", "")
        .verbs(&["branch"])
        .long("all remotes verbose show-current list color no-color", ""),
    program(GIT, OperandKind::None, "v", "").verbs(&["remote"]).long("verbose", ""),
];
