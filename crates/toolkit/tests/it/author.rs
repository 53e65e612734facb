//! A complete tool as its author writes it, registered, found and called.

use std::collections::BTreeSet;

use envelope::{Fault, Idempotency, Risk, SideEffect, ToolCatalog};
use expect_test::expect;
use receipts::families::external;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolkit::{ProjectedResult, Projection, Registry, Surface, SurfaceRules, Tool, ToolCx};

/// Turns a title into a file name.
struct SlugifyTitle;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Args {
    /// The title of a note.
    title: String,
    /// The longest slug to make, in characters.
    #[serde(default)]
    max_length: Option<usize>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Output {
    slug: String,
}

impl Tool for SlugifyTitle {
    const NAME: &'static str = "util.slugifyTitle";
    const SUMMARY: &'static str = "Turn a title into a file name.";
    const CATEGORY: &'static str = "util";
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    type Args = Args;
    type Output = Output;

    fn preview(&self, args: &Args) -> String {
        format!("Slugify {:?}", args.title)
    }

    async fn run(&self, _cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        let slug = args.title.to_lowercase().split_whitespace().collect::<Vec<_>>().join("-");
        Ok(Output { slug: slug.chars().take(args.max_length.unwrap_or(80)).collect() })
    }

    fn summary(&self, output: &Output) -> String {
        format!("Slug: {}", output.slug)
    }

    fn project(&self, output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        external::project(output, with)
    }
}

// Conformance: result 3.1
//     Tools return complete typed outputs and no text for the model; the projector of the family bounds them.
//     In: toolkit/tool.rs, toolkit/any_tool.rs
#[test]
fn a_tool_of_forty_lines_is_registered_found_checked_and_described() {
    let mut registry = Registry::new();
    registry.register(SlugifyTitle).unwrap();
    let surface = Surface::new(&registry, &BTreeSet::new(), &SurfaceRules::default());
    let entry = surface.resolve("util_slugifyTitle").unwrap();
    assert_eq!(entry.decl.name.as_str(), "util.slugifyTitle");
    assert_eq!(surface.check_input("util.slugifyTitle", &json!({"title": "My note"})), []);
    expect![[r#"
        {
          "name": "util.slugifyTitle",
          "version": "1.0.0",
          "summary": "Turn a title into a file name.",
          "category": "util",
          "family": "external",
          "riskLevel": "read-only",
          "sideEffects": [],
          "availability": [],
          "concurrency": "parallel",
          "idempotency": "idempotent",
          "cancellable": true,
          "timeoutMs": 30000,
          "inputSchema": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
              "title": {
                "type": "string",
                "description": "The title of a note."
              },
              "maxLength": {
                "type": [
                  "integer",
                  "null"
                ],
                "format": "uint",
                "minimum": 0,
                "description": "The longest slug to make, in characters.",
                "default": null
              }
            },
            "required": [
              "title"
            ]
          },
          "outputSchema": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
              "slug": {
                "type": "string"
              }
            },
            "required": [
              "slug"
            ]
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&*entry.decl).unwrap());
    let args = entry.tool.decode(&json!({"title": "My note"})).unwrap();
    assert_eq!(entry.tool.preview(&args), "Slugify \"My note\"");
}
