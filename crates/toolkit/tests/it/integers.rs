//! Integers in any spelling pass the schema, and everything that passes can be deserialized.
use envelope::{Fault, Idempotency, Risk, SideEffect};
use receipts::families::external;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolkit::{ProjectedResult, Projection, Registry, Tool, ToolCx};

/// Returns its arguments.
struct ShowNumbers;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(dead_code, reason = "read through Debug")]
struct Args {
    /// A small count.
    small: u32,
    /// A large count.
    large: u64,
    /// A signed one.
    signed: i64,
    /// One that can be left out.
    #[serde(default)]
    optional: Option<usize>,
    /// One below another.
    #[serde(default)]
    range: Option<Range>,
    /// Several.
    #[serde(default)]
    list: Vec<Item>,
    /// A fraction.
    #[serde(default)]
    fraction: f64,
    /// Anything.
    #[serde(default)]
    free: Value,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read through Debug")]
struct Range {
    /// Where it starts.
    start: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "read through Debug")]
enum Item {
    /// Counted in lines.
    Lines {
        /// How many.
        count: u16,
    },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {}

impl Tool for ShowNumbers {
    const NAME: &'static str = "util.showNumbers";
    const SUMMARY: &'static str = "Show the numbers of a call.";
    const CATEGORY: &'static str = "util";
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    type Args = Args;
    type Output = Output;

    fn preview(&self, args: &Args) -> String {
        format!("{args:?}")
    }

    async fn run(&self, _cx: &ToolCx, _args: Args) -> Result<Output, Fault> {
        Ok(Output {})
    }

    fn summary(&self, _output: &Output) -> String {
        String::new()
    }

    fn project(&self, output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        external::project(output, with)
    }
}

/// Returns the schema problems, or the deserialized arguments.
fn check(sent: &str) -> String {
    let mut registry = Registry::new();
    registry.register(ShowNumbers).unwrap();
    let entry = registry.get("util.showNumbers").unwrap();
    let sent: Value = serde_json::from_str(sent).unwrap();
    let problems = entry.input.validate(&sent);
    if !problems.is_empty() {
        return problems
            .iter()
            .map(|problem| format!("{}: {}\n", problem.pointer, problem.message))
            .collect();
    }
    match entry.tool.decode(&sent) {
        Ok(args) => entry.tool.preview(&args),
        Err(fault) => fault.message,
    }
}

#[test]
fn every_spelling_of_a_whole_number_is_read_as_the_plain_one() {
    let plain = check(
        r#"{"small":1000,"large":1000,"signed":-2,"optional":0,"range":{"start":3},"list":[{"kind":"lines","count":4}],"fraction":2,"free":[1.0]}"#,
    );
    let other = check(
        r#"{"small":1e3,"large":1000.0,"signed":-2.0,"optional":-0,"range":{"start":3.0},"list":[{"kind":"lines","count":0.4e1}],"fraction":2.0,"free":[1.0]}"#,
    );
    assert_eq!(other, plain);
    expect_test::expect!["Args { small: 1000, large: 1000, signed: -2, optional: Some(0), range: Some(Range { start: 3 }), list: [Lines { count: 4 }], fraction: 2.0, free: Array [Number(1.0)] }"].assert_eq(&plain);
    expect_test::expect![[r#"
        /large: expected 0 or more, found the number -1.0
        /small: expected an integer, found the number 1.5
    "#]]
    .assert_eq(&check(r#"{"small":1.5,"large":-1.0,"signed":0}"#));
}
