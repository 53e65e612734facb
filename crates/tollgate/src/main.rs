//! `tollgate`: the command line. Parses the arguments, runs one command, returns an exit code.

mod prompt;
mod cli;
mod cli_error;
mod commands;
mod connect;
mod runtime;
mod exit;
mod logging;
mod input_file;
mod line_wrap;
mod progress;
mod screen;
mod serving;
mod report_renderer;
mod summary;
mod undo_run;
mod wait_argument;
mod terminal_observer;

use std::process::ExitCode;

use crate::exit::Exit;

fn main() -> ExitCode {
    // The sandbox starts this binary as the launcher of a command.
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|word| word == shell::sandbox::LAUNCH) {
        return shell::sandbox::launcher_main(args);
    }
    protect_process_memory();
    let exit = match cli::parse() {
        Ok(cli) => {
            let json = cli.command.json();
            cli.run().unwrap_or_else(|stop| {
                stop.show(json);
                stop.exit
            })
        }
        Err(exit) => exit,
    };
    ExitCode::from(check_stdout(exit).code())
}

/// Protects the memory of this process: no core file, no access by other processes of the same user, and no values in
/// the message of a crash.
fn protect_process_memory() {
    use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
    // Best effort: not every system supports these.
    let _unsupported = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let _unsupported = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    std::panic::set_hook(Box::new(|crash| {
        let place = crash.location().map(ToString::to_string).unwrap_or_default();
        screen::notice(format_args!("error: tollgate crashed at {place}; please report this place"));
    }));
}

/// Turns success into a failure if standard output could not be written. A command that failed keeps its exit code.
fn check_stdout(exit: Exit) -> Exit {
    let Some(why) = screen::write_error() else { return exit };
    screen::notice(format_args!("error: standard output cannot be written: {why}"));
    if exit == Exit::Done { Exit::Failures } else { exit }
}
