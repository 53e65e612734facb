//! `tollgate preview`: what a plan would do, with nothing done.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use shell::Lifetime;

use crate::diff::Limits;
use crate::drive::{self, Interrupts};
use crate::place::Place;
use crate::plan_text;
use crate::preview::{ForecastRules, Preview as Outlook, Rehearsal, SavedPreview};
use crate::quoting::quoted;
use crate::screen::{self, Paint};
use crate::stop::{Outcome, Stop};
use crate::visible::path_words;
use crate::wiring::Toolset;

/// Shows what a plan would do, with differences; writes nothing
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate preview plan.json --vault ~/Notes\n  tollgate preview plan.json --out seen.json && tollgate run plan.json --previewed seen.json"
)]
pub(crate) struct Preview {
    /// The plan: a file, or `-` for standard input
    plan: String,
    /// Show every difference in full
    #[arg(long)]
    full: bool,
    /// Keep the preview in this file, to run exactly what was shown with `run --previewed`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Answer in JSON: steps, totals, every path with both its states, differences
    #[arg(long)]
    pub(crate) json: bool,
}

impl Preview {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        let place = Place::find(vault)?;
        let text = plan_text::read(&self.plan, "plan")?;
        let tools = Arc::new(Toolset::open(&place, Lifetime::Run)?);
        let plan = super::run::checked(&text, &tools.surface, &place, self.json)?;
        let rehearsal = Rehearsal::new(&ForecastRules::of(&place.settings), tools, &plan);
        let interrupts = Interrupts::new(self.json);
        let limits = if self.full { Limits::full() } else { Limits::screen() };
        let outlook = drive::to_end(&interrupts, rehearsal.perform(limits, interrupts.cancel()))??;
        if let Some(file) = &self.out {
            save(&outlook, file)?;
        }
        if self.json {
            screen::json(&outlook);
        } else {
            self.show(&outlook, &place);
        }
        Ok(outlook.exit())
    }

    fn show(&self, outlook: &Outlook, place: &Place) {
        let paint = Paint::stdout();
        for line in outlook.render(paint) {
            screen::say(line);
        }
        screen::say(paint.dim(format_args!("Nothing was written. Forecast: {}", outlook.fingerprint)));
        if let Some(file) = &self.out {
            let vault = place.vault_words();
            let plan = if self.plan == "-" { "PLAN".to_owned() } else { quoted(Path::new(&self.plan)) };
            screen::say(format_args!("Next: tollgate run {plan} --previewed {} {vault}", quoted(file)));
        }
    }
}

/// Writes the preview to a file, in the place of an earlier preview at most. It holds text of notes: for the
/// owner only.
fn save(outlook: &Outlook, file: &Path) -> Result<(), Stop> {
    let failed = |error| Stop::io(format_args!("write {}", path_words(file)), error);
    if file.symlink_metadata().is_ok() && SavedPreview::read(file).is_err() {
        return Err(Stop::bad_input("exists", format!("`{}` exists and is no preview", path_words(file)))
            .hint("name a file that is not there yet"));
    }
    let text = serde_json::to_string_pretty(outlook).map_err(|error| Stop::io("write the preview", error))?;
    let opened = File::options().write(true).create(true).truncate(true).mode(0o600).open(file);
    opened.and_then(|mut opened| writeln!(opened, "{text}")).map_err(failed)
}
