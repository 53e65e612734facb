//! `util.slugifyTitle`: turns a title into a file name.

use envelope::{Fault, Idempotency, ReceiptFamily, Risk, SideEffect};
use receipts::families;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{ProjectedResult, Projection, Tool, ToolCx};

use notes::slug::slug;

const DEFAULT_MAX_LENGTH: u32 = 80;

pub(crate) struct SlugifyTitle;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// Title.
    title: String,
    /// 1 to 200.
    #[serde(default = "default_max_length")]
    #[schemars(range(min = 1, max = 200))]
    max_length: u32,
}

fn default_max_length() -> u32 {
    DEFAULT_MAX_LENGTH
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// Lower-case words with hyphens, such as `hello-world`: safe as a file name once `.md` is added.
    /// `untitled` when the title has no letters or digits.
    slug: String,
}

impl Tool for SlugifyTitle {
    const NAME: &'static str = "util.slugifyTitle";
    const SUMMARY: &'static str = "Turn a title into a safe file name without its extension.";
    const CATEGORY: &'static str = "util";
    const FAMILY: ReceiptFamily = ReceiptFamily::Text;
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;

    type Args = Args;
    type Output = Output;

    fn preview(&self, args: &Args) -> String {
        format!("Make a file name of {:?}", args.title.chars().take(80).collect::<String>())
    }

    async fn run(&self, _cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        Ok(Output { slug: slug(&args.title, args.max_length as usize) })
    }

    fn summary(&self, output: &Output) -> String {
        format!("Slug: {}", output.slug)
    }

    fn project(&self, output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        families::text::project(&output.slug, with)
    }
}
