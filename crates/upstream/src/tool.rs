//! One tool of a server, as the gate sees it.

use std::sync::Arc;

use envelope::{
    BadId, Concurrency, Family, Fault, Idempotency, Requirement, Risk, SideEffect, ToolDecl, ToolName,
    distinct_alias, escape_invisible,
};
use serde_json::Value;
use toolkit::families::{Projected, Projection};
use toolkit::{BoxFuture, ForeignTool, PathKeys, ToolCx};

use crate::embed::output_schema;
use crate::paths::{self, Touch};
use crate::schema::seen_through;
use crate::server::Order;
use crate::{Declared, Pin, Server, ServerSettings, answer, hidden};

/// As much of the arguments as one line shows. The record has all of them.
const MAX_PREVIEW: usize = 2_000;
/// As long as the summary of any tool.
const MAX_SUMMARY: usize = 200;
/// As much of a description as models are told.
const MAX_DESCRIPTION: usize = 4_000;
/// What a name may have in all.
const MAX_NAME: usize = 128;

/// A pinned tool.
pub(crate) struct ServerTool {
    decl: ToolDecl,
    /// As the server calls it.
    name: String,
    server: Arc<Server>,
    pin: Arc<Pin>,
    touch: Touch,
}

impl ServerTool {
    pub(crate) fn new(
        server: &Arc<Server>,
        pin: &Arc<Pin>,
        declared: &Declared,
    ) -> Result<ServerTool, String> {
        let decl = decl(server.name(), server.settings(), declared)?;
        let touch = match decl.risk_level {
            Risk::ReadOnly => Touch::Reads,
            Risk::Writes | Risk::Commands => Touch::Writes,
        };
        let (server, pin) = (Arc::clone(server), Arc::clone(pin));
        Ok(ServerTool { decl, name: declared.name.clone(), server, pin, touch })
    }
}

impl ForeignTool for ServerTool {
    fn decl(&self) -> &ToolDecl {
        &self.decl
    }

    fn paths(&self, args: &Value) -> PathKeys {
        paths::keys(self.server.root(), args, self.touch)
    }

    fn preview(&self, args: &Value) -> String {
        let args = hidden::one_line(&args.to_string(), MAX_PREVIEW);
        format!("Have {} run {} with {args}", self.server.name(), hidden::one_line(&self.name, MAX_NAME))
    }

    fn run<'a>(&'a self, cx: &'a ToolCx, args: Value) -> BoxFuture<'a, Result<Value, Fault>> {
        // What a server did cannot be seen, so that it was asked to is all there is to say.
        let effect = match self.touch {
            Touch::Reads => None,
            Touch::Writes => Some(SideEffect::RunCommand),
        };
        let order = Order { who: self.decl.name.as_str(), tool: &self.name, pin: &self.pin, effect };
        Box::pin(self.server.call(cx, order, args))
    }

    fn summary(&self, output: &Value) -> String {
        answer::summary(self.decl.name.as_str(), output)
    }

    fn project(&self, output: &Value, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        answer::project(output, with)
    }
}

/// The declaration, or why there can be none.
fn decl(server: &str, settings: &ServerSettings, declared: &Declared) -> Result<ToolDecl, String> {
    let name = tool_name(server, &declared.name).map_err(|bad| bad.to_string())?;
    let refused = |which: &str, why: String| format!("`{name}` cannot be registered:\n- {which}: {why}");
    let input = seen_through(&declared.input_schema).map_err(|why| refused("input", why))?;
    let output = declared.output_schema.as_ref().map(seen_through).transpose();
    let output = output.map_err(|why| refused("output", why))?;
    let believed = |hint| settings.trust_hints && declared.hint(hint) == Some(true);
    let reads = believed("readOnlyHint");
    let (risk_level, side_effects) = match reads {
        true => (Risk::ReadOnly, Vec::new()),
        false => (Risk::Commands, vec![SideEffect::RunCommand]),
    };
    let idempotency = match reads || believed("idempotentHint") {
        true => Idempotency::Idempotent,
        false => Idempotency::NotIdempotent,
    };
    Ok(ToolDecl {
        name,
        version: "1.0.0".to_owned(),
        summary: summary(declared),
        category: "mcp".to_owned(),
        family: Family::External,
        risk_level,
        side_effects,
        availability: vec![Requirement::Server],
        concurrency: Concurrency::Parallel,
        idempotency,
        cancellable: true,
        timeout_ms: settings.timeout_ms.get(),
        input_schema: input_schema(declared, input),
        output_schema: output_schema(output.as_ref()),
    })
}

/// `mcp.<server>.<tool>`. What a name of ours cannot have becomes `_`; a name that does not fit is cut and marked.
fn tool_name(server: &str, tool: &str) -> Result<ToolName, BadId> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut plain: String = tool.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
    if plain != tool {
        // Two names that only differ in what was replaced stay two.
        plain = distinct_alias(tool);
    }
    let words: Vec<&str> = plain.split('.').map(|word| if word.is_empty() { "_" } else { word }).collect();
    let name = format!("mcp.{server}.{}", words.join("."));
    if name.len() > MAX_NAME {
        return ToolName::parse(&format!("mcp.{server}.{}", distinct_alias(tool)));
    }
    ToolName::parse(&name)
}

/// Its own schema, with all that the server says about the tool: a summary is one line, and a model needs the rest.
fn input_schema(declared: &Declared, mut schema: Value) -> Value {
    if let (Some(said), Value::Object(map)) = (&declared.description, &mut schema)
        && hidden::one_line(said, MAX_SUMMARY) != summary(declared)
    {
        let end = said.char_indices().nth(MAX_DESCRIPTION).map_or(said.len(), |(at, _)| at);
        map.insert("description".to_owned(), escape_invisible(&said[..end]).into_owned().into());
    }
    schema
}

/// The first line of what the server says about it, with nothing hidden in it.
fn summary(declared: &Declared) -> String {
    let said = declared.description.as_deref().or(declared.title.as_deref()).unwrap_or_default();
    let line = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("It has no description");
    let mut line = hidden::one_line(line, MAX_SUMMARY - 40);
    if let Some((cut, _)) = line.char_indices().nth(MAX_SUMMARY) {
        line.truncate(cut);
    }
    line
}

#[cfg(test)]
mod tests {
    use envelope::{Idempotency, Risk};
    use expect_test::expect;
    use serde_json::json;

    use super::{decl, tool_name};
    use crate::{Declared, ServerSettings};

    #[test]
    fn names_of_any_kind_become_names_of_ours() {
        let named = |tool: &str| tool_name("fs", tool).unwrap().to_string();
        assert_eq!(named("read_file"), "mcp.fs.read_file");
        assert_eq!(named("admin.tools.list"), "mcp.fs.admin.tools.list");
        assert_eq!(named(".a..b"), "mcp.fs._.a._.b");
        assert!(named("löschen").starts_with("mcp.fs.l_schen_"));
        assert_ne!(named("a b"), named("a/b"));
        assert!(named(&"x".repeat(128)).len() <= 128);
    }

    #[test]
    fn a_long_description_is_told_whole_and_a_short_one_once() {
        let said = |description: &str| {
            let entry = json!({"name": "t", "description": description, "inputSchema": {"type": "object"}});
            let decl = decl("s", &ServerSettings::default(), &Declared::read(&entry).unwrap()).unwrap();
            (decl.summary, decl.input_schema["description"].clone())
        };
        assert_eq!(said("Reads a note"), ("Reads a note".to_owned(), json!(null)));
        let long = "Reads a note.\n\nGive its path\u{200b}.";
        assert_eq!(
            said(long),
            ("Reads a note.".to_owned(), json!("Reads a note.\n\nGive its path\\u{200b}."))
        );
    }

    #[test]
    fn nothing_in_a_schema_reaches_a_model_unseen() {
        let listed = |input: serde_json::Value, output: serde_json::Value| {
            let entry = json!({"name": "t", "inputSchema": input, "outputSchema": output});
            let decl = decl("s", &ServerSettings::default(), &Declared::read(&entry).unwrap())?;
            Ok::<_, String>((decl.input_schema, decl.output_schema["properties"]["structured"].clone()))
        };
        let hidden = json!({"type": "object", "properties": {"a": {"description": "x\u{e0041}"}}});
        let shown = json!({"type": "object", "properties": {"a": {"description": "x\\u{e0041}"}}});
        assert_eq!(listed(hidden.clone(), hidden).unwrap(), (shown.clone(), shown));
        expect![[r#"
            `mcp.s.t` cannot be registered:
            - output: `/properties/a/enum/0` hides characters: `x\u{200b}`; its server has to write it without them"#]]
        .assert_eq(&listed(json!({}), json!({"properties": {"a": {"enum": ["x\u{200b}"]}}})).unwrap_err());
    }

    #[test]
    fn hints_are_heard_only_from_a_server_that_is_trusted() {
        let declared = Declared::read(&json!({
            "name": "t", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true},
        }))
        .unwrap();
        let says = |trust_hints| {
            let settings = ServerSettings { trust_hints, ..ServerSettings::default() };
            let decl = decl("s", &settings, &declared).unwrap();
            (decl.risk_level, decl.idempotency)
        };
        assert_eq!(says(false), (Risk::Commands, Idempotency::NotIdempotent));
        assert_eq!(says(true), (Risk::ReadOnly, Idempotency::Idempotent));
    }
}
