//! The tools as clients see them: names that every client takes, both schemas, and honest hints.

use std::collections::HashMap;
use std::sync::Arc;

use engine::Engine;
use envelope::{Idempotency, Risk, SideEffect, ToolDecl, ToolName};
use rmcp::ErrorData;
use rmcp::model::{CacheScope, JsonObject, ListToolsResult, MetaObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use toolkit::Visibility;

use super::schemas;

/// Long enough that a list seldom needs a second page, short enough for a client that shows pages.
const PAGE: usize = 100;
/// Clients may keep the list for a minute; it seldom changes, and then they are told.
const FRESH_MS: u64 = 60_000;

/// Every tool that can be called, in name order.
#[derive(Clone)]
pub(super) struct Listing {
    tools: Vec<Tool>,
    /// By what clients call it and by its own name.
    own_names: HashMap<String, ToolName>,
}

/// How tools are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Show {
    /// Names with dots, as the tools are called here. Many clients refuse them.
    pub(super) dotted: bool,
    /// Whether results come as data too.
    pub(super) structured: bool,
}

impl Listing {
    pub(super) fn of(engine: &Engine, show: Show) -> Listing {
        let mut listing = Listing { tools: Vec::new(), own_names: HashMap::new() };
        for (entry, visibility) in engine.surface().iter() {
            if visibility != Visibility::Loaded {
                continue;
            }
            let decl = &*entry.decl;
            let name = if show.dotted { decl.name.as_str() } else { entry.alias() };
            listing.tools.push(tool(decl, name, show.structured));
            listing.own_names.insert(entry.alias().to_owned(), decl.name.clone());
            listing.own_names.insert(decl.name.to_string(), decl.name.clone());
        }
        listing
    }

    /// Whether clients would be shown the same.
    pub(super) fn is_like(&self, other: &Listing) -> bool {
        self.tools == other.tools
    }

    /// The tool that a client means.
    pub(super) fn own_name(&self, called: &str) -> Option<&ToolName> {
        self.own_names.get(called)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| &*tool.name)
    }

    /// The names of everything listed, as they are called here.
    pub(super) fn own(&self) -> Vec<ToolName> {
        self.tools.iter().filter_map(|tool| self.own_names.get(&*tool.name).cloned()).collect()
    }

    pub(super) fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Adds a tool of the face itself, which no registry knows.
    pub(super) fn add(&mut self, own: ToolName, tool: Tool) {
        self.own_names.insert(tool.name.to_string(), own.clone());
        self.own_names.insert(own.to_string(), own);
        self.tools.push(tool);
    }

    /// One page. The cursor is the name of the last tool of the page before, so that a list that changes in between
    /// neither repeats nor skips what stayed.
    pub(super) fn page(&self, cursor: Option<&str>) -> Result<ListToolsResult, ErrorData> {
        let start = match cursor {
            None => 0,
            Some(last) => match self.tools.iter().position(|tool| tool.name == last) {
                Some(index) => index + 1,
                None => {
                    let what = "this cursor is not one of ours; list again without one";
                    return Err(ErrorData::invalid_params(what, None));
                }
            },
        };
        let end = (start + PAGE).min(self.tools.len());
        let page = self.tools.get(start..end).unwrap_or_default().to_vec();
        let mut result = ListToolsResult::with_all_items(page);
        if end < self.tools.len() {
            result.next_cursor = result.tools.last().map(|tool| tool.name.to_string());
        }
        (result.ttl_ms, result.cache_scope) = (Some(FRESH_MS), Some(CacheScope::Private));
        Ok(result)
    }
}

fn tool(decl: &ToolDecl, name: &str, structured: bool) -> Tool {
    let title = title(decl.name.as_str());
    let mut tool = Tool::new(name.to_owned(), decl.summary.clone(), schemas::input(&decl.input_schema))
        .with_title(title)
        .with_annotations(hints(decl))
        .with_meta(meta(decl));
    if structured {
        tool = tool.with_raw_output_schema(schemas::output(&output_schema(&decl.output_schema)));
    }
    tool
}

/// What `structuredContent` looks like: what the tool gave, or the receipt where that is too long for a model.
pub(super) fn output_schema(data: &Value) -> Value {
    let mut data = data.clone();
    if let Some(data) = data.as_object_mut() {
        // They speak of the whole, which this no longer is.
        data.retain(|word, _| word != "$schema" && word != "$id");
    }
    lead_into(&mut data, "#/properties/data");
    json!({
        "type": "object",
        "properties": {
            "summary": { "type": "string", "description": "The outcome in one line." },
            "data": data,
            "receipt": { "type": "string", "description": "In place of data that is too long to be read whole." },
        },
        "required": ["summary"],
    })
}

/// Makes the references of a schema that has been put into another one lead to the same places as before.
fn lead_into(schema: &mut Value, place: &str) {
    match schema {
        Value::Object(words) => {
            for (word, value) in words {
                match (word.as_str(), value) {
                    ("$ref", Value::String(reference)) if reference.starts_with('#') => {
                        reference.replace_range(..1, place);
                    }
                    // Values, not schemas.
                    ("const" | "enum" | "default" | "examples", _) => {}
                    (_, value) => lead_into(value, place),
                }
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(|schema| lead_into(schema, place)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn meta(decl: &ToolDecl) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.0.insert("tollgate/tool".to_owned(), json!(decl.name));
    meta.0.insert("tollgate/risk".to_owned(), json!(decl.risk_level));
    meta
}

/// All four, always: a client takes a missing one for the worst, and a portal refuses it.
fn hints(decl: &ToolDecl) -> ToolAnnotations {
    // What ends a task of its run is asked of nobody, and reads nothing.
    let reads = decl.risk_level == Risk::ReadOnly && decl.side_effects.is_empty();
    let open_world = decl.risk_level == Risk::Commands || decl.side_effects.contains(&SideEffect::Network);
    ToolAnnotations::new()
        .read_only(reads)
        .destructive(!reads && !decl.side_effects.iter().all(only_adds))
        .idempotent(reads || decl.idempotency == Idempotency::Idempotent)
        .open_world(open_world)
}

/// Whether nothing that was there before can be gone or different afterwards.
fn only_adds(effect: &SideEffect) -> bool {
    match effect {
        SideEffect::CreateFile | SideEffect::CreateFolder | SideEffect::ChangeWorkspace => true,
        SideEffect::ModifyFile
        | SideEffect::DeleteFile
        | SideEffect::DeleteFolder
        | SideEffect::RenameFile
        | SideEffect::RenameFolder
        | SideEffect::EditBuffer
        | SideEffect::StopTask
        | SideEffect::RunCommand
        | SideEffect::Network => false,
    }
}

/// `vault.createFile` as a person reads it: `Create file (vault)`.
pub(super) fn title(name: &str) -> String {
    let (family, last) = name.rsplit_once('.').unwrap_or(("", name));
    let mut words = String::new();
    for letter in last.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        let separates = matches!(letter, '_' | '-');
        words.push(if separates { ' ' } else { letter.to_ascii_lowercase() });
    }
    let mut title: String = words.chars().take(1).map(|first| first.to_ascii_uppercase()).collect();
    title.extend(words.chars().skip(1));
    if family.is_empty() { title } else { format!("{title} ({family})") }
}

/// A schema as rmcp keeps it. Those of tools are objects: the registry takes no others.
pub(super) fn object(schema: &Value) -> Arc<JsonObject> {
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use envelope::ToolName;
    use rmcp::model::{JsonObject, Tool};
    use serde_json::json;

    use super::{Listing, output_schema, title};

    #[test]
    fn references_in_an_output_schema_still_lead_where_they_led() {
        let own = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "tree": { "$ref": "#/$defs/node" },
                "same": { "$ref": "#" },
                "$ref": { "const": { "$ref": "#/$defs/node" } },
            },
            "$defs": { "node": { "type": "array", "items": { "$ref": "#/$defs/node" } } },
        });
        let nested = output_schema(&own);
        assert_eq!(
            nested["properties"]["data"],
            json!({
                "type": "object",
                "properties": {
                    "tree": { "$ref": "#/properties/data/$defs/node" },
                    "same": { "$ref": "#/properties/data" },
                    "$ref": { "const": { "$ref": "#/$defs/node" } },
                },
                "$defs": { "node": { "type": "array", "items": { "$ref": "#/properties/data/$defs/node" } } },
            })
        );
    }

    #[test]
    fn a_long_list_comes_in_pages_that_neither_repeat_nor_skip() {
        let mut listing = Listing { tools: Vec::new(), own_names: HashMap::new() };
        let names: Vec<String> = (0..250).map(|number| format!("test_{number:03}")).collect();
        for name in &names {
            let own = ToolName::parse(name).unwrap();
            listing.add(own, Tool::new(name.clone(), "", JsonObject::new()));
        }
        let (mut cursor, mut sizes, mut seen) = (None, Vec::new(), Vec::new());
        loop {
            let page = listing.page(cursor.as_deref()).unwrap();
            sizes.push(page.tools.len());
            seen.extend(page.tools.iter().map(|tool| tool.name.to_string()));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!((sizes, seen), (vec![100, 100, 50], names));
    }

    #[test]
    fn a_title_is_the_name_in_words() {
        assert_eq!(title("vault.createFile"), "Create file (vault)");
        assert_eq!(title("ExecCommand"), "Exec command");
        assert_eq!(title("mcp.files.read_text-file"), "Read text file (mcp.files)");
    }
}
