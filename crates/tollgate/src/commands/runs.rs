//! `tollgate runs`: the history of a vault, newest first.

use std::collections::HashSet;
use std::path::Path;

use clap::Args;
use engine::UndoHistory;
use envelope::{RunId, Timestamp};
use journal::{Record, RunFolder, RunKind, RunState, RunSummary};
use serde::Serialize;

use crate::effects;
use crate::exit::Exit;
use crate::place::Place;
use crate::screen::{self, Paint};
use crate::show::time;
use crate::stop::{Outcome, Stop};
use crate::visible::{count, one_line, path_words, short};

/// Lists the runs of a vault, newest first; with a word, those that mention it
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate runs\n  tollgate runs inbox --limit 5")]
pub(crate) struct Runs {
    /// Only runs whose goal, tools or id contain this
    query: Option<String>,
    /// How many to list
    #[arg(long, default_value_t = 20, value_name = "N")]
    limit: usize,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    run_id: RunId,
    created_at: Timestamp,
    kind: RunKind,
    status: String,
    goal: String,
    calls: u64,
    effects: usize,
    /// The runs that it took back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    undoes: Vec<RunId>,
    /// The run that took it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    undone_by: Option<RunId>,
    run_dir: std::path::PathBuf,
}

impl Runs {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        let place = Place::find(vault)?;
        let runs = place.runs()?.list()?;
        let history = UndoHistory::of(&runs);
        let length = unique_length(&runs);
        let all = runs.len();
        let wanted = self.query.as_ref().map(|query| query.to_lowercase());
        let is_wanted = |run: &&RunSummary| wanted.as_ref().is_none_or(|wanted| mentions(run, wanted));
        let fitting: Vec<&RunSummary> = runs.iter().filter(is_wanted).collect();
        let found = fitting.len();
        let rows: Vec<Row> = fitting.into_iter().take(self.limit).map(|run| row(run, &history)).collect();
        if self.json {
            screen::json(&rows);
        } else if all == 0 {
            screen::say(format_args!("No runs yet in {}", path_words(place.runs()?.path())));
            screen::say(format_args!("Start one: tollgate run PLAN {}", place.vault_words()));
        } else if let (0, Some(query)) = (found, &self.query) {
            let searched = count(all as u64, "run");
            screen::say(format_args!(
                "No run mentions `{}`; {searched} searched by goal, tools and id",
                one_line(query)
            ));
        } else {
            show(&rows, length);
            if found > rows.len() {
                screen::say(format_args!("and {} more; --limit {found} lists them", found - rows.len()));
            }
        }
        Ok(Exit::Done)
    }
}

fn mentions(run: &RunSummary, wanted: &str) -> bool {
    let holds = |text: &str| text.to_lowercase().contains(wanted);
    run.goal.as_deref().is_some_and(holds)
        || holds(run.run_id.as_str())
        || RunFolder::open(&run.dir)
            .is_ok_and(|folder| folder.header().tools.iter().any(|tool| holds(tool.name.as_str())))
}

/// Counts are read for the rows that are shown only.
fn row(run: &RunSummary, history: &UndoHistory<'_>) -> Row {
    let (calls, effects) = counts(&run.dir).unwrap_or_default();
    Row {
        run_id: run.run_id.clone(),
        created_at: run.created_at,
        kind: run.kind,
        status: match &run.state {
            RunState::Running => "running".to_owned(),
            RunState::Interrupted => "interrupted".to_owned(),
            RunState::Damaged(_) => "damaged".to_owned(),
            RunState::Finished(status) => status.clone().unwrap_or_else(|| "finished".to_owned()),
        },
        goal: run.goal.clone().unwrap_or_default(),
        calls,
        effects,
        undoes: run.undoes.clone(),
        undone_by: history.undone_by(&run.run_id).map(|undo| undo.run_id.clone()),
        run_dir: run.dir.clone(),
    }
}

/// A run that is damaged is counted as far as it can be read; `verify` is there to say more.
fn counts(dir: &Path) -> Result<(u64, usize), Stop> {
    let folder = RunFolder::open(dir)?;
    let (mut calls, mut changes) = (0, 0);
    for entry in folder.records()? {
        match entry {
            Ok(entry) => match entry.record {
                Record::Call(_) => calls += 1,
                Record::Result(result) => changes += result.effects.as_ref().map_or(0, effects::number),
                Record::Event(_) => {}
            },
            Err(_damaged) => break,
        }
    }
    Ok((calls, changes))
}

/// The shortest beginning of an id, up to one of its dashes, that names one run only.
fn unique_length(runs: &[RunSummary]) -> usize {
    // The first thirteen characters of our ids are the millisecond of the start.
    [13, 18, 23]
        .into_iter()
        .find(|length| {
            let short = |run: &RunSummary| {
                run.run_id.as_str().get(..*length).unwrap_or(run.run_id.as_str()).to_owned()
            };
            let names: HashSet<String> = runs.iter().map(short).collect();
            names.len() == runs.len()
        })
        .unwrap_or(usize::MAX)
}

fn show(rows: &[Row], length: usize) {
    let paint = Paint::stdout();
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
        screen::say(format_args!(
            "{}  {}  {status}  {}  {}{}",
            paint.bold(id(&row.run_id)),
            time(row.created_at),
            short(&row.goal, 60),
            paint.dim(numbers),
            undone.unwrap_or_default()
        ));
    }
}
