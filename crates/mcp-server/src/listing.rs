//! The tool list for clients: names that every client accepts, both schemas, and truthful hints.

use std::collections::HashMap;
use std::sync::Arc;

use call_session::ToolChoice;
use engine::Engine;
use envelope::{Idempotency, Requirement, Risk, SideEffect, ToolDecl, ToolName};
use rmcp::ErrorData;
use rmcp::model::{CacheScope, JsonObject, ListToolsResult, MetaObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use toolkit::ToolVisibility;

use super::client_schemas::{self, Bounds};

/// Page size: a list seldom needs a second page.
const PAGE: usize = 100;
/// Clients may cache the list for a minute; it seldom changes, and changes are notified.
const FRESH_MS: u64 = 60_000;

/// The listed tools, in name order, and the names of all callable ones.
#[derive(Clone)]
pub(super) struct ToolListing {
    tools: Vec<Tool>,
    /// Index by client name and by registry name.
    own_names: HashMap<String, ToolName>,
    /// Registry names of all callable tools.
    callable: Vec<ToolName>,
}

/// Options of the tool list.
#[derive(Debug, Clone)]
pub(super) struct ListingOptions {
    /// Use registry names with dots, which many clients reject.
    pub(super) dotted: bool,
    /// Whether results have structured content.
    pub(super) structured: bool,
    /// Whether output schemas are listed.
    pub(super) output_schemas: bool,
    pub(super) tools: ToolChoice,
}

impl ToolListing {
    pub(super) fn of(engine: &Engine, show: &ListingOptions) -> ToolListing {
        let mut listing = ToolListing { tools: Vec::new(), own_names: HashMap::new(), callable: Vec::new() };
        for (entry, visibility) in engine.surface().iter() {
            let decl = &*entry.decl;
            if visibility != ToolVisibility::Loaded || !show.tools.allows(decl) {
                continue;
            }
            // A call of a tool that is not listed is refused by the policy, which says why.
            if show.tools.lists(decl) && engine.may_permit(decl) {
                let name = if show.dotted { decl.name.as_str() } else { entry.alias() };
                listing.tools.push(tool(decl, name, show.output_schemas));
            }
            listing.callable.push(decl.name.clone());
            listing.own_names.insert(entry.alias().to_owned(), decl.name.clone());
            listing.own_names.insert(decl.name.to_string(), decl.name.clone());
        }
        listing
    }

    /// Returns true if both lists show the same tools.
    pub(super) fn same_tools(&self, other: &ToolListing) -> bool {
        self.tools == other.tools
    }

    /// Returns the registry name of the tool that a client means.
    pub(super) fn resolve_name(&self, called: &str) -> Option<&ToolName> {
        self.own_names.get(called)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| &*tool.name)
    }

    /// Returns the registry names of all callable tools.
    pub(super) fn registry_names(&self) -> Vec<ToolName> {
        self.callable.clone()
    }

    pub(super) fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Adds a tool of the server itself, which is not in the registry.
    pub(super) fn add(&mut self, own: ToolName, tool: Tool) {
        self.own_names.insert(tool.name.to_string(), own.clone());
        self.own_names.insert(own.to_string(), own.clone());
        self.callable.push(own);
        self.tools.push(tool);
    }

    /// Returns one page. The cursor is the name of the last tool on the page before, so that a list that changes in
    /// between neither repeats nor skips the unchanged tools.
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

fn tool(decl: &ToolDecl, name: &str, with_output: bool) -> Tool {
    let title = title(decl.name.as_str());
    let is_external = decl.availability.contains(&Requirement::Server);
    let bounds = if is_external { Bounds::Listed } else { Bounds::Described };
    let mut tool = Tool::new(
        name.to_owned(),
        decl.summary.clone(),
        client_schemas::input_schema(&decl.input_schema, bounds),
    )
    .with_title(title)
    .with_annotations(hints(decl))
    .with_meta(meta(decl));
    if with_output {
        tool =
            tool.with_raw_output_schema(client_schemas::output_schema(&output_schema(&decl.output_schema)));
    }
    tool
}

/// Returns the schema of `structuredContent`: the data of the tool, or the receipt if the data is too long for a
/// model.
pub(super) fn output_schema(data: &Value) -> Value {
    let mut data = data.clone();
    if let Some(data) = data.as_object_mut() {
        // These keywords apply to a root schema, which this no longer is.
        data.retain(|word, _| word != "$schema" && word != "$id");
    }
    rebase_references(&mut data, "#/properties/data");
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

/// Rewrites the references of a schema that is embedded in another one, so that their targets stay the same.
fn rebase_references(schema: &mut Value, place: &str) {
    match schema {
        Value::Object(words) => {
            for (word, value) in words {
                match (word.as_str(), value) {
                    ("$ref", Value::String(reference)) if reference.starts_with('#') => {
                        reference.replace_range(..1, place);
                    }
                    // Values, not schemas.
                    ("const" | "enum" | "default" | "examples", _) => {}
                    (_, value) => rebase_references(value, place),
                }
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(|schema| rebase_references(schema, place)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn meta(decl: &ToolDecl) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.0.insert("tollgate/tool".to_owned(), json!(decl.name));
    meta.0.insert("tollgate/risk".to_owned(), json!(decl.risk_level));
    meta
}

/// All four are always set: clients assume the worst for a missing hint, and some portals reject it.
fn hints(decl: &ToolDecl) -> ToolAnnotations {
    // Ending a task of its own run needs no approval, but it does not only read.
    let reads = decl.risk_level == Risk::ReadOnly && decl.side_effects.is_empty();
    let open_world = decl.risk_level == Risk::Commands || decl.side_effects.contains(&SideEffect::Network);
    ToolAnnotations::new()
        .read_only(reads)
        .destructive(!reads && !decl.side_effects.iter().all(only_adds))
        .idempotent(reads || decl.idempotency == Idempotency::Idempotent)
        .open_world(open_world)
}

/// Returns true if the effect cannot remove or change anything that existed before.
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

/// Returns the title of a tool: `vault.createFile` becomes `Create file (vault)`.
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

/// Converts a schema to rmcp's type. Tool schemas are objects; the registry accepts no others.
pub(super) fn object(schema: &Value) -> Arc<JsonObject> {
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use envelope::ToolName;
    use rmcp::model::{JsonObject, Tool};
    use serde_json::json;

    use super::{ToolListing, output_schema, title};

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
        let mut listing = ToolListing { tools: Vec::new(), own_names: HashMap::new(), callable: Vec::new() };
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
