//! `tollgate`: the command line. Arguments in, one command, an exit code out.

mod ask;
mod cli;
mod commands;
mod drive;
mod effects;
mod exit;
mod findings;
mod place;
mod plan_text;
mod progress;
mod screen;
mod settings;
mod show;
mod stop;
mod summary;
mod visible;
mod watch;
mod wiring;

use std::process::ExitCode;

fn main() -> ExitCode {
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
    ExitCode::from(exit.code())
}
