//! What a server offers now, beside what was approved of it: shown so that nothing in it can hide.

use envelope::{escape_invisible, has_invisible};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use upstream::{Declared, Drift, Offer, Pin, ServerSettings, Undeclared};

use super::blanks;
use crate::screen::{self, Paint};
use crate::visible::{count, one_line};

/// The difference between a pin and an offer.
pub(super) struct Changes {
    drift: Drift,
    before: Vec<Declared>,
    offered: Vec<Declared>,
    undeclared: Vec<Undeclared>,
    /// Refused by the registry, each with its reason.
    left_out: Vec<String>,
    /// The settings lead elsewhere than before.
    moved: bool,
}

impl Changes {
    pub(super) fn between(
        before: Option<&Pin>,
        settings: &ServerSettings,
        offer: &Offer,
        left_out: Vec<String>,
    ) -> Changes {
        let moved = before.is_some_and(|pin| pin.identity != settings.identity());
        let nothing = Pin { identity: settings.identity(), tools: Vec::new() };
        let before = before.unwrap_or(&nothing);
        let mut changes = Changes {
            drift: before.drift(&offer.tools),
            before: before.tools.clone(),
            offered: offer.tools.clone(),
            undeclared: offer.undeclared.clone(),
            left_out,
            moved,
        };
        // What can never be called is named once, and is no change.
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
        let mut said = format!(
            "{} new, {} changed, {} gone",
            self.drift.added.len(),
            self.drift.changed.len(),
            self.drift.gone.len()
        );
        if self.moved {
            said.push_str("; its settings lead elsewhere than when it was approved");
        }
        if hidden > 0 {
            said.push_str(&format!("; {} with characters that nobody sees", count(hidden, "tool")));
        }
        let stretched = self.stretched().count() as u64;
        if stretched > 0 {
            said.push_str(&format!("; {} with long runs of blanks", count(stretched, "tool")));
        }
        said
    }

    /// Tools that push a part of what they say out of sight.
    fn stretched(&self) -> impl Iterator<Item = &Declared> {
        self.offered.iter().filter(|tool| has_long_blanks(tool))
    }

    pub(super) fn show(&self, server: &str) {
        let paint = Paint::stdout();
        for tool in self.offered.iter().filter(|tool| self.drift.added.contains(&tool.name)) {
            screen::say(format_args!("{} {}", paint.good("new"), paint.bold(one_line(&tool.name))));
            text(tool).lines().for_each(|line| screen::say(format_args!("    {line}")));
            flag(tool);
        }
        for (name, parts) in &self.drift.changed {
            let what = parts.join(", ");
            screen::say(format_args!("{} {}: {what}", paint.odd("changed"), paint.bold(one_line(name))));
            let find = |tools: &[Declared]| {
                tools.iter().find(|tool| tool.name == *name).map(text).unwrap_or_default()
            };
            let (old, new) = (find(&self.before), find(&self.offered));
            for change in TextDiff::from_lines(&old, &new).iter_all_changes() {
                let line = change.value().trim_end_matches('\n');
                match change.tag() {
                    ChangeTag::Delete => screen::say(paint.removed(format!("  - {line}"))),
                    ChangeTag::Insert => screen::say(paint.added(format!("  + {line}"))),
                    ChangeTag::Equal => {}
                }
            }
            self.offered.iter().filter(|tool| tool.name == *name).for_each(flag);
        }
        for name in &self.drift.gone {
            screen::say(format_args!("{} {}", paint.bad("gone"), one_line(name)));
        }
        for Undeclared { name, why } in &self.undeclared {
            screen::say(format_args!("{} {}: {}", paint.bad("left out"), one_line(name), one_line(why)));
        }
        self.left_out
            .iter()
            .for_each(|why| screen::say(format_args!("{} {}", paint.bad("left out"), one_line(why))));
        screen::say(format_args!("{server}: {}", self.summary()));
    }

    pub(super) fn as_json(&self, server: &str, approved: u64) -> Value {
        let undeclared = self.undeclared.iter().map(|it| json!({ "name": it.name, "why": it.why }));
        let hidden: Vec<&str> =
            self.offered.iter().filter(|tool| has_hidden(tool)).map(|tool| tool.name.as_str()).collect();
        json!({
            "server": server, "approved": approved, "added": self.drift.added, "changed": self.drift.changed,
            "gone": self.drift.gone, "undeclared": undeclared.collect::<Vec<_>>(), "leftOut": self.left_out,
            "hiddenCharacters": hidden,
            "longBlanks": self.stretched().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        })
    }
}

/// Everything that was declared, as text in which nothing is hidden, nor far below what is seen.
fn text(tool: &Declared) -> String {
    blanks::told(&whole_text(tool))
}

fn whole_text(tool: &Declared) -> String {
    let mut said = String::new();
    let mut add = |line: String| {
        said.push_str(&line);
        said.push('\n');
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
    said
}

fn has_hidden(tool: &Declared) -> bool {
    let all = serde_json::to_value(tool).unwrap_or_default();
    any_text(&all, &has_invisible)
}

fn any_text(value: &Value, is_so: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_so(text),
        Value::Array(items) => items.iter().any(|item| any_text(item, is_so)),
        Value::Object(map) => map.iter().any(|(key, item)| is_so(key) || any_text(item, is_so)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn has_long_blanks(tool: &Declared) -> bool {
    let whole = whole_text(tool);
    blanks::told(&whole) != whole
}

fn flag(tool: &Declared) {
    if has_long_blanks(tool) {
        let warning =
            "    it has long runs of blanks, which push what follows out of sight; they are counted above";
        screen::say(Paint::stdout().bad(warning));
    }
    if has_hidden(tool) {
        let warning = "    it has characters that nobody sees and a model reads; they are spelled out above";
        screen::say(Paint::stdout().bad(warning));
    }
}
