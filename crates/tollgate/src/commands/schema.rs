//! `tollgate schema`: prints a JSON Schema.

use clap::{Args, ValueEnum};

use crate::cli_error::CommandResult;
use crate::exit::Exit;
use crate::screen;
use envelope::{action_plan_schema, escape_json};

/// Prints the JSON Schema of the plan format
///
/// An editor checks a plan against it while you write, and a model can be given it. `tollgate check` finds more: tools,
/// references and types. The schema of a tool is printed by `tollgate tools NAME`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate schema plan > action-plan.schema.json")]
pub(crate) struct SchemaCommand {
    /// The format
    format: SchemaFormat,
    /// Print it on one line
    #[arg(long)]
    pub(crate) json: bool,
}

/// A format with a schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SchemaFormat {
    Plan,
}

impl SchemaCommand {
    pub(crate) fn run(&self) -> CommandResult {
        let schema = match self.format {
            SchemaFormat::Plan => action_plan_schema(),
        };
        if self.json {
            screen::json(&schema);
        } else {
            let text = serde_json::to_string_pretty(&schema).unwrap_or_default();
            screen::print_unwrapped(escape_json(&text));
        }
        Ok(Exit::Done)
    }
}
