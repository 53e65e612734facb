//! `cargo xtask`: everything that contributors and CI run.
//!
//! CI calls `cargo xtask test` and has no logic of its own. This crate depends on no other crate of the workspace: it
//! builds in seconds, and it can check a workspace that does not compile.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command's report is its terminal output")]

use std::process::ExitCode;

mod command;
mod requirements;
mod clients;
mod stages;
mod test_log;
mod bench;
mod dist;
mod tidy;
mod training;

const HELP: &str = "\
cargo xtask: check, tidy and measure the workspace

Usage: cargo xtask <COMMAND>

Commands:
  test           formatting, clippy, tidy, then all tests, including slow ones; tests of commands run on a release build
  tidy [--fix]   checks that no compiler does: dependency directions, names, documents, manifests
                 --fix rewrites the generated documents
  clients        install the client programs that the server tests run, as `test` does
  dist           build the release binary with profile-guided optimization; needs llvm-profdata, and about 20 minutes
                 on two cores
  bench [NAME]   run one benchmark, or all of them
  help           this text

Examples:
  cargo xtask test
  cargo xtask tidy --fix
  cargo xtask bench gate

Exit codes: 0 success, 1 failure, 2 wrong command line";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => stages::test(),
        ["clients"] => requirements::install_missing().map(|()| true),
        ["tidy"] => tidy::tidy(tidy::TidyMode::Check),
        ["tidy", "--fix"] => tidy::tidy(tidy::TidyMode::Fix),
        ["dist"] => dist::dist(),
        ["bench"] => bench::bench_all(),
        [] | ["help" | "-h" | "--help"] | [_, "-h" | "--help"] => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        ["bench", name] => match bench::find(name) {
            Some(benches) => bench::run_all(&benches),
            None => return usage_error(&bench::unknown(name)),
        },
        [_, ..] => return usage_error(&format!("`{}` is not a command", words.join(" "))),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn usage_error(why: &str) -> ExitCode {
    eprintln!("xtask: {why}\n\n{HELP}");
    ExitCode::from(2)
}
