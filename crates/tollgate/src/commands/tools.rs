//! `tollgate tools`: lists the tools, and shows one with its schemas.

use std::path::Path;

use clap::Args;
use envelope::{Concurrency, Idempotency, ToolDecl, escape_json};
use serde::Serialize;
use serde_json::Value;

use crate::cli_error::CommandResult;
use crate::exit::Exit;
use crate::screen::{self};
use app::toolset::Toolset;
use app::vault_context::{VaultContext, find_vault};

/// Lists the tools; with a name, shows one with its schemas
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate tools\n  tollgate tools vault.createFile")]
pub(crate) struct ToolsCommand {
    /// A tool, by its name or alias
    name: Option<String>,
    /// Answer in JSON: the declarations
    #[arg(long)]
    pub(crate) json: bool,
}

impl ToolsCommand {
    pub(crate) fn run(self, vault: Option<&Path>) -> CommandResult {
        // A vault that is named or found brings the tools of its servers.
        let tools = match (vault, find_vault(vault)) {
            (None, Err(_)) => Toolset::without_vault()?,
            (_, found) => Toolset::for_listing(&VaultContext::find(Some(&found?))?)?,
        };
        let surface = tools.surface;
        match &self.name {
            Some(name) => {
                let decl = app::single_call::known_tool(&surface, name)?;
                let alias =
                    surface.resolve(name).map_or_else(|_blocked| decl.alias(), |it| it.alias().to_owned());
                if self.json { screen::json(decl) } else { show_one(decl, &alias) }
            }
            None => {
                let all: Vec<&ToolDecl> = surface.iter().map(|(entry, _)| &*entry.decl).collect();
                if self.json { screen::json(&all) } else { show_table(&all) }
            }
        }
        Ok(Exit::Done)
    }
}

fn show_table(tools: &[&ToolDecl]) {
    let paint = screen::stdout_paint();
    let widest = tools.iter().map(|tool| tool.name.as_str().len()).max().unwrap_or_default();
    for tool in tools {
        let name = format!("{:<widest$}", tool.name.as_str());
        screen::print(format_args!("{}  {:<9}  {}", paint.bold(name), tool.risk_level.name(), tool.summary));
    }
    screen::print(paint.dim("tollgate tools NAME shows one with its schemas"));
}

fn show_one(tool: &ToolDecl, alias: &str) {
    let paint = screen::stdout_paint();
    screen::print(format_args!("{} {}", paint.bold(&tool.name), paint.dim(&tool.version)));
    screen::print(&tool.summary);
    screen::print(format_args!("Risk:         {}", tool.risk_level));
    screen::print(format_args!("Effects:      {}", or_none(&words(&tool.side_effects))));
    screen::print(format_args!("Needs:        {}", or_none(&words(&tool.availability))));
    screen::print(format_args!("Alias:        {alias}"));
    screen::print(format_args!(
        "Receipt:      {} family, up to {} tokens unless the settings or the caller say otherwise",
        tool.family,
        tool.family.default_budget()
    ));
    screen::print(format_args!("Time limit:   {} ms", tool.timeout_ms));
    screen::print(format_args!(
        "Runs:         {}, {}",
        match tool.concurrency {
            Concurrency::Parallel => "beside other calls",
            Concurrency::Serial => "alone",
        },
        match tool.idempotency {
            Idempotency::Idempotent => "twice does no more than once",
            Idempotency::NotIdempotent => "twice may do more than once",
        }
    ));
    screen::print("Also takes:   note (a remark for people), requestId (an id of the caller's own records)");
    show_schema("Input", &tool.input_schema);
    show_schema("Output", &tool.output_schema);
}

fn show_schema(title: &str, schema: &Value) {
    screen::print(screen::stdout_paint().bold(title));
    screen::print_unwrapped(escape_json(&serde_json::to_string_pretty(schema).unwrap_or_default()));
}

/// The values of an enum, as JSON spells them.
fn words<T: Serialize>(list: &[T]) -> Vec<String> {
    let spelled = list.iter().filter_map(|word| serde_json::to_value(word).ok());
    spelled.filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

fn or_none(words: &[String]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}
