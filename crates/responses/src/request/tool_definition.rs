//! Parses the definition of one tool, before names for the model are assigned.

use std::sync::Arc;

use serde_json::{Value, json};
use toolkit::CompiledSchema;

use super::field_path::FieldPath;
use super::fields::{self, UnreadFields};
use super::schema_cache::SchemaCache;
use super::tool_names;
use crate::error::ApiError;
use crate::tools::{OfferedTool, ToolKind};

pub(super) struct ToolDefinition {
    pub(super) own_name: String,
    pub(super) namespace: Option<String>,
    description: Option<String>,
    parameters: Value,
    schema: Arc<CompiledSchema>,
    strict: bool,
    /// The format of a custom tool's text. Shown to the model, not enforced.
    format: Option<Value>,
    kind: ToolKind,
}

impl ToolDefinition {
    /// Parses a `function` or a `custom` tool.
    pub(super) fn read(
        value: Value,
        namespace: Option<&str>,
        at: FieldPath<'_>,
        schemas: &SchemaCache,
    ) -> Result<ToolDefinition, ApiError> {
        let mut outer = UnreadFields::new(value, at)?;
        let custom = outer.peek("type") == Some("custom");
        // Chat completions put the same fields one level deeper; each field may come from either place.
        let deeper = if custom { "custom" } else { "function" };
        let inner = outer.object(deeper)?.unwrap_or_default();
        let inner_at = at.key(deeper);
        let inner = UnreadFields::new(Value::Object(inner), inner_at)?;
        let mut shapes = NestedFields { outer, inner };

        let own_name =
            shapes.string("name")?.ok_or_else(|| fields::missing(&at.key("name"), tool_names::EXPECTED))?;
        if !tool_names::is_allowed(&own_name) {
            return Err(fields::invalid(&at.key("name"), tool_names::EXPECTED, &fields::quoted(&own_name)));
        }
        let description = shapes.string("description")?;
        let namespace = namespace.map(str::to_owned);
        if custom {
            let format = shapes.object("format")?.unwrap_or_else(|| json!({ "type": "text" }));
            let parameters = custom_parameters(&format);
            let schema = compile(&parameters, &at, schemas)?;
            let format = Some(format);
            let kind = ToolKind::Custom;
            return Ok(ToolDefinition {
                own_name,
                namespace,
                description,
                parameters,
                schema,
                strict: false,
                format,
                kind,
            });
        }
        let strict = shapes.boolean("strict")?.unwrap_or(false);
        let parameters =
            shapes.object("parameters")?.unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
        let schema = compile_parameters(&parameters, &at.key("parameters"), schemas)?;
        let kind = ToolKind::Function;
        Ok(ToolDefinition {
            own_name,
            namespace,
            description,
            parameters,
            schema,
            strict,
            format: None,
            kind,
        })
    }

    pub(super) fn has_grammar(&self) -> bool {
        self.format.as_ref().is_some_and(|format| format["type"] == "grammar")
    }

    /// Returns the definition with every field that clients expect.
    pub(super) fn echo(&self) -> Value {
        match &self.format {
            Some(format) => json!({
                "type": "custom", "name": self.own_name, "description": self.description, "format": format,
            }),
            None => json!({
                "type": "function", "name": self.own_name, "description": self.description,
                "parameters": self.parameters, "strict": self.strict,
            }),
        }
    }

    pub(super) fn into_offered(self, name: String) -> OfferedTool {
        OfferedTool {
            name,
            own_name: self.own_name,
            namespace: self.namespace,
            description: self.description.unwrap_or_default(),
            parameters: self.parameters,
            schema: self.schema,
            strict: self.strict,
            kind: self.kind,
        }
    }
}

/// The two objects that may contain a field of a tool. The outer one takes precedence.
struct NestedFields<'p> {
    outer: UnreadFields<'p>,
    inner: UnreadFields<'p>,
}

impl NestedFields<'_> {
    fn string(&mut self, key: &str) -> Result<Option<String>, ApiError> {
        Ok(self.outer.string(key)?.or(self.inner.string(key)?))
    }

    fn boolean(&mut self, key: &str) -> Result<Option<bool>, ApiError> {
        Ok(self.outer.boolean(key)?.or(self.inner.boolean(key)?))
    }

    fn object(&mut self, key: &str) -> Result<Option<Value>, ApiError> {
        Ok(self.outer.object(key)?.or(self.inner.object(key)?).map(Value::Object))
    }
}

/// Returns the schema of a custom tool's arguments, for the model.
fn custom_parameters(format: &Value) -> Value {
    let mut input = json!({ "type": "string" });
    if let (Some(syntax), Some(definition)) = (format["syntax"].as_str(), format["definition"].as_str()) {
        input["description"] =
            json!(format!("The whole text must match this {syntax} grammar:\n{definition}"));
    }
    json!({ "type": "object", "properties": { "input": input }, "required": ["input"], "additionalProperties": false })
}

fn compile_parameters(
    parameters: &Value,
    at: &FieldPath<'_>,
    schemas: &SchemaCache,
) -> Result<Arc<CompiledSchema>, ApiError> {
    let takes_objects = match &parameters["type"] {
        Value::Null => true,
        Value::String(only) => only == "object",
        Value::Array(types) => types.iter().any(|one| one == "object"),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    if !takes_objects {
        let message = format!(
            "`{at}` must be the schema of an object, since arguments are one; write \"type\": \"object\""
        );
        return Err(ApiError::invalid(at.to_string(), "invalid_function_parameters", message));
    }
    compile(parameters, at, schemas)
}

fn compile(
    schema: &Value,
    at: &FieldPath<'_>,
    schemas: &SchemaCache,
) -> Result<Arc<CompiledSchema>, ApiError> {
    schemas.compile(schema).map_err(|refused| {
        ApiError::invalid(
            at.to_string(),
            "invalid_function_parameters",
            format!("`{at}` cannot be used: {refused}"),
        )
    })
}
