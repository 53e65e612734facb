//! `util.parseMarkdownBullets`: returns the bullets of a note as a list for later steps.

use envelope::{Fault, Idempotency, ReceiptFamily, Risk, SideEffect};
use receipts::families;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{ProjectedResult, Projection, Tool, ToolCx};

use notes::bullets::bullets;

pub(crate) struct ParseMarkdownBullets;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// Markdown text.
    text: String,
    /// False leaves out nested items.
    #[serde(default = "default_true")]
    allow_nested: bool,
}

fn default_true() -> bool {
    true
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// The bullets in the order of the text. Empty bullets are left out.
    items: Vec<BulletItem>,
    /// How many items there are.
    count: u64,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct BulletItem {
    /// The words of the bullet, without its marker and checkbox.
    text: String,
    /// The bullet as it stands in the text, with marker, checkbox and indentation.
    raw: String,
    /// 0 for a bullet at the left, 1 for one below it, and so on.
    depth: u32,
}

impl Tool for ParseMarkdownBullets {
    const NAME: &'static str = "util.parseMarkdownBullets";
    const SUMMARY: &'static str = "Find the bullets and numbered items in Markdown text.";
    const CATEGORY: &'static str = "util";
    const FAMILY: ReceiptFamily = ReceiptFamily::Text;
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;

    type Args = Args;
    type Output = Output;

    fn preview(&self, args: &Args) -> String {
        format!("Find the bullets in {} bytes of text", args.text.len())
    }

    async fn run(&self, _cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        let items: Vec<BulletItem> = bullets(&args.text)
            .into_iter()
            .filter(|bullet| args.allow_nested || bullet.depth == 0)
            .map(|bullet| BulletItem { text: bullet.text, raw: bullet.raw, depth: bullet.depth })
            .collect();
        let count = items.len() as u64;
        Ok(Output { items, count })
    }

    fn summary(&self, output: &Output) -> String {
        match output.count {
            1 => "Found 1 bullet".to_owned(),
            count => format!("Found {count} bullets"),
        }
    }

    fn project(&self, output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let items = output.items.iter();
        let items =
            items.map(|item| families::text::ListItem { text: item.text.as_str(), depth: item.depth });
        families::text::project_items(items, with)
    }
}
