//! `util.parseMarkdownBullets`: the bullets of a note as a list that later steps can go through.

use envelope::{Fault, Idempotency, Risk, SideEffect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{Tool, ToolCx};

use super::bullets::bullets;

/// Lines in a receipt; all items are in the output.
const RECEIPT_LINES: usize = 100;

pub(crate) struct ParseMarkdownBullets;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// The Markdown text. Frontmatter and fenced code are skipped.
    text: String,
    /// False leaves out bullets that are indented below another one.
    #[serde(default = "yes")]
    allow_nested: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// The bullets in the order of the text. Empty bullets are left out.
    items: Vec<Item>,
    /// How many items there are.
    count: u64,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Item {
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
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;

    type Args = Args;
    type Output = Output;

    fn preview(&self, args: &Args) -> String {
        format!("Find the bullets in {} bytes of text", args.text.len())
    }

    async fn run(&self, _cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        let items: Vec<Item> = bullets(&args.text)
            .into_iter()
            .filter(|bullet| args.allow_nested || bullet.depth == 0)
            .map(|bullet| Item { text: bullet.text, raw: bullet.raw, depth: bullet.depth })
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

    fn receipt(&self, output: &Output) -> String {
        let mut text = self.summary(output);
        for item in output.items.iter().take(RECEIPT_LINES) {
            text.push('\n');
            text.extend(std::iter::repeat_n("  ", item.depth.min(20) as usize));
            text.push_str("- ");
            text.push_str(&item.text);
        }
        if output.items.len() > RECEIPT_LINES {
            text.push_str("\n… the others are in `items`");
        }
        text
    }
}
