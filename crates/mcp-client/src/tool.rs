//! One tool of an upstream server, as a `JsonTool`.

use std::sync::Arc;

use envelope::{
    BadId, Concurrency, Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect, ToolDecl, ToolName,
    distinct_alias, escape_invisible,
};
use serde_json::Value;
use toolkit::{BoxFuture, JsonTool, PathKeys, ProjectedResult, Projection, ToolCx};

use crate::output_schema::output_schema;
use crate::paths::{self, AccessKind};
use crate::schema_escape::escape_schema;
use crate::server::PinnedCall;
use crate::{ServerPin, ServerSettings, ToolDeclaration, UpstreamServer, call_result, escape};

/// Longest part of the arguments in a preview. The journal has all of them.
const MAX_PREVIEW: usize = 2_000;
/// Longest summary, as for any tool.
const MAX_SUMMARY: usize = 200;
/// Longest description that models see.
const MAX_DESCRIPTION: usize = 4_000;
/// Longest tool name.
const MAX_NAME: usize = 128;

/// A pinned tool.
pub(crate) struct ServerTool {
    decl: ToolDecl,
    /// Name on the server.
    name: String,
    server: Arc<UpstreamServer>,
    pin: Arc<ServerPin>,
    access: AccessKind,
}

impl ServerTool {
    pub(crate) fn new(
        server: &Arc<UpstreamServer>,
        pin: &Arc<ServerPin>,
        declared: &ToolDeclaration,
    ) -> Result<ServerTool, String> {
        let decl = decl(server.name(), server.settings(), declared)?;
        let touch = match decl.risk_level {
            Risk::ReadOnly => AccessKind::Reads,
            Risk::Writes | Risk::Commands => AccessKind::Writes,
        };
        let (server, pin) = (Arc::clone(server), Arc::clone(pin));
        Ok(ServerTool { decl, name: declared.name.clone(), server, pin, access: touch })
    }
}

impl JsonTool for ServerTool {
    fn decl(&self) -> &ToolDecl {
        &self.decl
    }

    fn paths(&self, args: &Value) -> PathKeys {
        paths::path_keys(self.server.root(), args, self.access)
    }

    fn preview(&self, args: &Value) -> String {
        let args = escape::one_line(&args.to_string(), MAX_PREVIEW);
        format!("Have {} run {} with {args}", self.server.name(), escape::one_line(&self.name, MAX_NAME))
    }

    fn run<'a>(&'a self, cx: &'a ToolCx, args: Value) -> BoxFuture<'a, Result<Value, Fault>> {
        // The effects of a server cannot be observed, so the request itself is reported as the effect.
        let effect = match self.access {
            AccessKind::Reads => None,
            AccessKind::Writes => Some(SideEffect::RunCommand),
        };
        let order = PinnedCall { who: self.decl.name.as_str(), tool: &self.name, pin: &self.pin, effect };
        Box::pin(self.server.call(cx, order, args))
    }

    fn summary(&self, output: &Value) -> String {
        call_result::summary(self.decl.name.as_str(), output)
    }

    fn project(&self, output: &Value, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        call_result::project(output, with)
    }
}

/// Returns the declaration, or the reason why the tool cannot be registered.
fn decl(server: &str, settings: &ServerSettings, declared: &ToolDeclaration) -> Result<ToolDecl, String> {
    let name = tool_name(server, &declared.name).map_err(|bad| bad.to_string())?;
    let refused = |which: &str, why: String| format!("`{name}` cannot be registered:\n- {which}: {why}");
    let input = escape_schema(&declared.input_schema).map_err(|why| refused("input", why))?;
    let output = declared.output_schema.as_ref().map(escape_schema).transpose();
    let output = output.map_err(|why| refused("output", why))?;
    let is_trusted_hint = |hint| settings.trust_hints && declared.hint(hint) == Some(true);
    let reads = is_trusted_hint("readOnlyHint");
    let (risk_level, side_effects) = match reads {
        true => (Risk::ReadOnly, Vec::new()),
        false => (Risk::Commands, vec![SideEffect::RunCommand]),
    };
    let idempotency = match reads || is_trusted_hint("idempotentHint") {
        true => Idempotency::Idempotent,
        false => Idempotency::NotIdempotent,
    };
    Ok(ToolDecl {
        name,
        version: "1.0.0".to_owned(),
        summary: summary(declared),
        category: "mcp".to_owned(),
        family: ReceiptFamily::External,
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

/// Returns `mcp.<server>.<tool>`. Invalid characters become `_`; a name that is too long is cut and marked with a
/// hash.
fn tool_name(server: &str, tool: &str) -> Result<ToolName, BadId> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut plain: String = tool.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
    if plain != tool {
        // Two names that differ only in replaced characters stay distinct.
        plain = distinct_alias(tool);
    }
    let words: Vec<&str> = plain.split('.').map(|word| if word.is_empty() { "_" } else { word }).collect();
    let name = format!("mcp.{server}.{}", words.join("."));
    if name.len() > MAX_NAME {
        return ToolName::parse(&format!("mcp.{server}.{}", distinct_alias(tool)));
    }
    ToolName::parse(&name)
}

/// Adds the full description to the schema: a summary is one line, and a model needs the rest.
fn input_schema(declared: &ToolDeclaration, mut schema: Value) -> Value {
    if let (Some(description), Value::Object(map)) = (&declared.description, &mut schema)
        && escape::one_line(description, MAX_SUMMARY) != summary(declared)
    {
        let end = description.char_indices().nth(MAX_DESCRIPTION).map_or(description.len(), |(at, _)| at);
        map.insert("description".to_owned(), escape_invisible(&description[..end]).into_owned().into());
    }
    schema
}

/// Returns the first line of the description, with invisible characters escaped.
fn summary(declared: &ToolDeclaration) -> String {
    let description = declared.description.as_deref().or(declared.title.as_deref()).unwrap_or_default();
    let line =
        description.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("It has no description");
    let mut line = escape::one_line(line, MAX_SUMMARY - 40);
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
    use crate::{ServerSettings, ToolDeclaration};

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
            let decl =
                decl("s", &ServerSettings::default(), &ToolDeclaration::parse(&entry).unwrap()).unwrap();
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
            let decl = decl("s", &ServerSettings::default(), &ToolDeclaration::parse(&entry).unwrap())?;
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
        let declared = ToolDeclaration::parse(&json!({
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
