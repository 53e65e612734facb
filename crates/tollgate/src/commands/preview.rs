//! `tollgate preview`: shows what a plan would do, and changes nothing.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use shell::ProcessLifetime;

use crate::cli::VaultChoice;
use crate::cli_error::{CliError, CommandResult};
use crate::exit::Exit;
use crate::input_file;
use crate::runtime::{self, InterruptSignal};
use crate::screen::{self};
use app::diff::DiffLimits;
use app::display_text::{display_path, escape_line};
use app::preview::{ForecastRules, ForecastRun, PlanPreview as Outlook};
use app::shell_quoting::quote_for_shell;
use app::toolset::Toolset;
use app::vault_context::VaultContext;
use plan::CheckedPlan;

/// Shows what a plan would do, with differences; writes nothing
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate preview plan.json --vault ~/Notes\n  tollgate preview plan.json --out seen.json && tollgate run plan.json --previewed seen.json"
)]
pub(crate) struct PreviewCommand {
    /// The plan: a file, or `-` for standard input
    plan: String,
    /// Show every difference in full
    #[arg(long)]
    full: bool,
    /// Save the preview to this file, to run exactly this with `run --previewed`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Answer in JSON: steps, totals, every path with both its states, differences
    #[arg(long)]
    pub(crate) json: bool,
}

impl PreviewCommand {
    pub(crate) fn run(self, vault: VaultChoice<'_>) -> CommandResult {
        let context = vault.context()?;
        let text = input_file::read_input(&self.plan, "plan")?;
        let tools = Arc::new(Toolset::open(&context, ProcessLifetime::Run)?);
        let plan = super::run::checked(&text, &tools.surface, &context, self.json)?;
        let rehearsal = ForecastRun::new(&ForecastRules::of(&context.settings), tools, &plan);
        let interrupts = InterruptSignal::new(self.json);
        let limits = if self.full { DiffLimits::full() } else { DiffLimits::screen() };
        let outlook = runtime::block_on(&interrupts, rehearsal.perform(limits, interrupts.cancel()))??;
        if let Some(file) = &self.out {
            save(&outlook, file)?;
        }
        if self.json {
            screen::json(&outlook);
        } else {
            self.show(&plan, &outlook, &context);
        }
        Ok(Exit::of_verdict(outlook.verdict()))
    }

    fn show(&self, plan: &CheckedPlan, outlook: &Outlook, context: &VaultContext) {
        let paint = screen::stdout_paint();
        for assumption in &plan.plan.assumptions {
            screen::print(format_args!("{} {}", paint.odd("Assumes:"), escape_line(assumption)));
        }
        for request in &plan.plan.context_requests {
            let kind = escape_line(&request.kind);
            screen::print(format_args!("{} {kind}", paint.odd("Would have liked to know:")));
        }
        for line in outlook.render(paint) {
            screen::print(line);
        }
        screen::print(paint.dim(format_args!("Nothing was written. Preview hash: {}", outlook.fingerprint)));
        if let Some(file) = &self.out {
            let plan =
                if self.plan == "-" { "PLAN".to_owned() } else { quote_for_shell(Path::new(&self.plan)) };
            let words = format!("run {plan} --previewed {}", quote_for_shell(file));
            crate::summary::show_next(&[words], context);
        }
    }
}

/// Writes the preview to a file. Replaces at most an earlier preview. The file contains text of notes, so only its
/// owner can read it.
fn save(outlook: &Outlook, file: &Path) -> Result<(), CliError> {
    let failed = |error| CliError::io(format_args!("write {}", display_path(file)), error);
    if file.symlink_metadata().is_ok() && super::run::read_preview(file).is_err() {
        return Err(CliError::bad_input(
            "exists",
            format!("`{}` exists and is not a preview", display_path(file)),
        )
        .hint("name a file that is not there yet"));
    }
    let text =
        serde_json::to_string_pretty(outlook).map_err(|error| CliError::io("write the preview", error))?;
    let opened = File::options().write(true).create(true).truncate(true).mode(0o600).open(file);
    opened.and_then(|mut opened| writeln!(opened, "{text}")).map_err(failed)
}
