//! Compares the tools that a server offers with the approved ones, and shows the difference so that nothing can hide in
//! it.

use envelope::{escape_invisible, has_invisible};
use mcp_client::{
    DeclarationDiff, InvalidDeclaration, ListedTools, ServerPin, ServerSettings, ToolDeclaration,
};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::blank_runs;
use crate::screen::{self};
use app::display_text::{count, escape_line};

/// The difference between a pin and an offer.
pub(super) struct ServerToolChanges {
    drift: DeclarationDiff,
    before: Vec<ToolDeclaration>,
    offered: Vec<ToolDeclaration>,
    undeclared: Vec<InvalidDeclaration>,
    /// Tools that the registry refuses, with the reasons.
    left_out: Vec<String>,
    /// Whether the settings name another server than before.
    moved: bool,
}

impl ServerToolChanges {
    pub(super) fn compare(
        before: Option<&ServerPin>,
        settings: &ServerSettings,
        offer: &ListedTools,
        left_out: Vec<String>,
    ) -> ServerToolChanges {
        let moved = before.is_some_and(|pin| pin.identity != settings.identity());
        let nothing = ServerPin { identity: settings.identity(), tools: Vec::new() };
        let before = before.unwrap_or(&nothing);
        let mut changes = ServerToolChanges {
            drift: before.compare(&offer.tools),
            before: before.tools.clone(),
            offered: offer.tools.clone(),
            undeclared: offer.invalid.clone(),
            left_out,
            moved,
        };
        // A tool that cannot be called is listed once, and is not a change.
        let unusable: Vec<String> =
            changes.drift.added.iter().filter(|name| changes.is_left_out(name)).cloned().collect();
        changes.drift.added.retain(|name| !unusable.contains(name));
        changes
    }

    pub(super) fn is_none(&self) -> bool {
        self.drift.is_none() && !self.moved
    }

    /// Whether the registry refuses the tool.
    pub(super) fn is_left_out(&self, name: &str) -> bool {
        let end = format!(".{name}` cannot be registered");
        self.left_out.iter().any(|refused| refused.contains(&end))
    }

    pub(super) fn summary(&self) -> String {
        let hidden = self.offered.iter().filter(|tool| has_hidden(tool)).count() as u64;
        let mut summary = format!(
            "{} new, {} changed, {} gone",
            self.drift.added.len(),
            self.drift.changed.len(),
            self.drift.gone.len()
        );
        if self.moved {
            summary.push_str("; its settings lead elsewhere than when it was approved");
        }
        if hidden > 0 {
            summary.push_str(&format!("; {} with invisible characters", count(hidden, "tool")));
        }
        let with_blank_runs = self.tools_with_blank_runs().count() as u64;
        if with_blank_runs > 0 {
            summary.push_str(&format!("; {} with long runs of blanks", count(with_blank_runs, "tool")));
        }
        summary
    }

    /// Tools with a long run of blanks, which push text out of sight.
    fn tools_with_blank_runs(&self) -> impl Iterator<Item = &ToolDeclaration> {
        self.offered.iter().filter(|tool| has_long_blanks(tool))
    }

    pub(super) fn show(&self, server: &str) {
        let paint = screen::stdout_paint();
        for tool in self.offered.iter().filter(|tool| self.drift.added.contains(&tool.name)) {
            screen::print(format_args!("{} {}", paint.good("new"), paint.bold(escape_line(&tool.name))));
            tool_text(tool).lines().for_each(|line| screen::print(format_args!("    {line}")));
            warn_of_hidden_text(tool);
        }
        for (name, parts) in &self.drift.changed {
            let what = parts.join(", ");
            screen::print(format_args!("{} {}: {what}", paint.odd("changed"), paint.bold(escape_line(name))));
            let find = |tools: &[ToolDeclaration]| {
                tools.iter().find(|tool| tool.name == *name).map(tool_text).unwrap_or_default()
            };
            let (old, new) = (find(&self.before), find(&self.offered));
            for change in TextDiff::from_lines(&old, &new).iter_all_changes() {
                let line = change.value().trim_end_matches('\n');
                match change.tag() {
                    ChangeTag::Delete => screen::print(paint.removed(format!("  - {line}"))),
                    ChangeTag::Insert => screen::print(paint.added(format!("  + {line}"))),
                    ChangeTag::Equal => {}
                }
            }
            self.offered.iter().filter(|tool| tool.name == *name).for_each(warn_of_hidden_text);
        }
        for name in &self.drift.gone {
            screen::print(format_args!("{} {}", paint.bad("gone"), escape_line(name)));
        }
        for InvalidDeclaration { name, why } in &self.undeclared {
            screen::print(format_args!(
                "{} {}: {}",
                paint.bad("left out"),
                escape_line(name),
                escape_line(why)
            ));
        }
        self.left_out
            .iter()
            .for_each(|why| screen::print(format_args!("{} {}", paint.bad("left out"), escape_line(why))));
        screen::print(format_args!("{server}: {}", self.summary()));
    }

    pub(super) fn as_json(&self, server: &str, approved: u64) -> Value {
        let undeclared = self.undeclared.iter().map(|it| json!({ "name": it.name, "why": it.why }));
        let hidden: Vec<&str> =
            self.offered.iter().filter(|tool| has_hidden(tool)).map(|tool| tool.name.as_str()).collect();
        json!({
            "server": server, "approved": approved, "added": self.drift.added, "changed": self.drift.changed,
            "gone": self.drift.gone, "undeclared": undeclared.collect::<Vec<_>>(), "leftOut": self.left_out,
            "hiddenCharacters": hidden,
            "longBlanks": self.tools_with_blank_runs().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        })
    }
}

/// The whole declaration as text, without hidden characters and long runs of blanks.
fn tool_text(tool: &ToolDeclaration) -> String {
    blank_runs::shorten_blank_runs(&whole_text(tool))
}

fn whole_text(tool: &ToolDeclaration) -> String {
    let mut text = String::new();
    let mut add = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    tool.title.iter().for_each(|title| add(format!("title: {}", escape_invisible(title))));
    tool.description.iter().for_each(|description| add(escape_invisible(description).into_owned()));
    let schemas = [
        ("input schema", Some(&tool.input_schema)),
        ("output schema", tool.output_schema.as_ref()),
        ("annotations", tool.annotations.as_ref()),
    ];
    for (name, value) in schemas.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        add(format!("{name}: {}", escape_invisible(&format!("{value:#}"))));
    }
    text
}

fn has_hidden(tool: &ToolDeclaration) -> bool {
    let all = serde_json::to_value(tool).unwrap_or_default();
    any_text(&all, &has_invisible)
}

fn any_text(value: &Value, predicate: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => predicate(text),
        Value::Array(items) => items.iter().any(|item| any_text(item, predicate)),
        Value::Object(map) => map.iter().any(|(key, item)| predicate(key) || any_text(item, predicate)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn has_long_blanks(tool: &ToolDeclaration) -> bool {
    let whole = whole_text(tool);
    blank_runs::shorten_blank_runs(&whole) != whole
}

fn warn_of_hidden_text(tool: &ToolDeclaration) {
    if has_long_blanks(tool) {
        let warning =
            "    it has long runs of blanks, which push what follows out of sight; they are counted above";
        screen::print(screen::stdout_paint().bad(warning));
    }
    if has_hidden(tool) {
        let warning =
            "    it has characters that are invisible to you and that a model reads; they are escaped above";
        screen::print(screen::stdout_paint().bad(warning));
    }
}
