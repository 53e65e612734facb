//! `tollgate`: the command line. Arguments in, one command, an exit code out.

mod approvals;
mod ask;
mod bounded_file;
mod cli;
mod commands;
mod connect;
mod desk;
mod diff;
mod drive;
mod effects;
mod exit;
mod findings;
mod logging;
mod past_runs;
mod place;
mod plan_text;
mod preview;
mod progress;
mod quoting;
mod screen;
mod servers;
mod serving;
mod settings;
mod show;
mod stop;
mod summary;
mod takeback;
mod trust;
mod vault_id;
mod visible;
mod watch;
mod wiring;

use std::process::ExitCode;

use crate::exit::Exit;

fn main() -> ExitCode {
    // Between the start of a process and the start of a command stands this binary, in a part of its own.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == shell::sandbox::LAUNCH) {
        return shell::sandbox::launcher_main(words);
    }
    keep_to_ourselves();
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
    ExitCode::from(heard(exit).code())
}

/// What this process holds in memory and in its environment is nobody else's: no core file, no look from another
/// process of the same person, and no values in what is printed about a crash.
fn keep_to_ourselves() {
    use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
    // As good as it goes: a system that knows neither is no reason not to work.
    let _unsupported = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let _unsupported = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    std::panic::set_hook(Box::new(|crash| {
        let place = crash.location().map(ToString::to_string).unwrap_or_default();
        screen::note(format_args!("error: tollgate crashed at {place}; please report this place"));
    }));
}

/// An answer that nobody can read is no answer; a command that failed anyway keeps its own code.
fn heard(exit: Exit) -> Exit {
    let Some(why) = screen::lost() else { return exit };
    screen::note(format_args!("error: the answer cannot be written: {why}"));
    if exit == Exit::Done { Exit::Failures } else { exit }
}
