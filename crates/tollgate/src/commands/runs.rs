//! `tollgate runs`: lists the runs of a vault, newest first.

use app::display_text::{count, display_path, escape_line, truncate_line};
use app::report::format_time;
use app::run_list::{RunList, RunRow, list_runs};
use clap::Args;
use envelope::{RunId, SessionId};

use crate::cli::VaultChoice;
use crate::cli_error::CommandResult;
use crate::exit::Exit;
use crate::screen;

/// Characters of the id of a session that are listed: its first letter and the time of its start in milliseconds.
const SESSION_LENGTH: usize = 13;

/// Lists the runs of a vault, newest first; with a note, those that changed it
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate runs\n  tollgate runs Projects/Boat.md\n  tollgate runs inbox --limit 5"
)]
pub(crate) struct RunsCommand {
    /// Only runs that changed this note (its path or name, also from before and after a rename), and runs whose goal,
    /// tools, session or id contain this
    query: Option<String>,
    /// How many to list
    #[arg(long, default_value_t = 20, value_name = "N")]
    limit: usize,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl RunsCommand {
    pub(crate) fn run(self, vault: VaultChoice<'_>) -> CommandResult {
        let context = vault.context()?;
        let RunList { rows, found, all, id_length } = list_runs(&context, self.query.as_deref(), self.limit)?;
        if self.json {
            screen::json(&rows);
        } else if all == 0 {
            screen::print(format_args!("No runs yet in {}", display_path(context.runs()?.path())));
            screen::print_unwrapped(format_args!("Start one: {}", context.command("run PLAN")));
        } else if let (0, Some(query)) = (found, &self.query) {
            let searched = count(all as u64, "run");
            screen::print(format_args!(
                "No run changed or mentions `{}`; {searched} searched by notes, goal, tools, session and id",
                escape_line(query)
            ));
        } else {
            show(&rows, id_length);
            if found > rows.len() {
                screen::print(format_args!("and {} more; --limit {found} lists them", found - rows.len()));
            }
        }
        Ok(Exit::Done)
    }
}

fn show(rows: &[RunRow], length: usize) {
    let paint = screen::stdout_paint();
    for row in rows {
        let status = format!("{:<11}", row.status);
        let status = match row.status.as_str() {
            "ok" => paint.good(status),
            "failed" | "damaged" => paint.bad(status),
            _ => paint.odd(status),
        };
        let numbers = format!("{}, {}", count(row.calls, "call"), count(row.effects as u64, "change"));
        let id = |run: &RunId| run.as_str().get(..length).unwrap_or(run.as_str()).to_owned();
        let undone = row.undone_by.as_ref().map(|undo| paint.odd(format_args!("  undone by {}", id(undo))));
        let session = |session: &SessionId| {
            let short = session.as_str().get(..SESSION_LENGTH).unwrap_or(session.as_str());
            paint.dim(format_args!("  session {}", escape_line(short)))
        };
        screen::print(format_args!(
            "{}  {}  {status}  {}  {}{}{}",
            paint.bold(id(&row.run_id)),
            format_time(row.created_at),
            truncate_line(&row.goal, 60),
            paint.dim(numbers),
            row.session.as_ref().map(session).unwrap_or_default(),
            undone.unwrap_or_default()
        ));
    }
}
