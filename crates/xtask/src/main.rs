//! `cargo xtask`: everything a contributor or a CI machine runs, in one place.
//!
//! A CI file calls `cargo xtask test` and holds no logic of its own. This crate depends on none of ours:
//! it must build in seconds, and it must be able to judge a workspace that does not compile.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command's report is its terminal output")]

use std::process::ExitCode;

mod command;
mod requirements;
mod clients;
mod stages;
mod slowest;
mod bench;
mod dist;
mod tidy;
mod training;

const HELP: &str = "\
cargo xtask: check, tidy and measure the workspace

Usage: cargo xtask <COMMAND>

Commands:
  test           formatting, clippy, tidy, then every test, the slow ones too; those about commands on a release build
  tidy [--fix]   what no compiler holds: dependency directions, names, documents, manifests
                 --fix rewrites the documents that are generated
  clients        install what the tests of the Responses gateway run as clients, as `test` does
  dist           build the program as it is shipped: once so that it counts where it goes, then, after some use, by that;
                 needs llvm-profdata, and some 20 minutes on two cores
  bench [NAME]   run one benchmark, or all of them
  help           this text

Examples:
  cargo xtask test
  cargo xtask tidy --fix
  cargo xtask bench gate

Exit codes: 0 all is well, 1 something failed, 2 the command line was not understood";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => stages::test(),
        ["clients"] => requirements::install_missing().map(|()| true),
        ["tidy"] => tidy::tidy(tidy::Mode::Check),
        ["tidy", "--fix"] => tidy::tidy(tidy::Mode::Fix),
        ["dist"] => dist::dist(),
        ["bench"] => bench::bench_all(),
        [] | ["help" | "-h" | "--help"] | [_, "-h" | "--help"] => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        ["bench", name] => match bench::find(name) {
            Some(benches) => bench::run_all(&benches),
            None => return not_understood(&bench::unknown(name)),
        },
        [_, ..] => return not_understood(&format!("`{}` is not a command", words.join(" "))),
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

fn not_understood(why: &str) -> ExitCode {
    eprintln!("xtask: {why}\n\n{HELP}");
    ExitCode::from(2)
}
