//! Tools without Rust types: tools of other servers, whose schemas are not known at compile time.
//!
//! Deliberately omitted: everything that depends on what the tool means. Such a tool cannot predict its changes or
//! check afterwards whether they happened, so an interrupted call stays uncertain.

use std::future::ready;
use std::sync::Arc;

use command_line::CommandLine;
use envelope::{CanonicalResult, CanonicalStatus, Failure, Fault, ToolDecl, VaultChange};
use serde_json::Value;

use crate::common_args::SplitArgs;
use crate::{
    AnyTool, BoxFuture, DecodedArgs, MappedResult, PathKeys, ProjectedResult, Projection, RawOutput,
    ReconcileOutcome, ToolCx,
};

/// A tool that takes and returns JSON. Its arguments are validated against its input schema before it receives
/// them.
pub trait JsonTool: Send + Sync + 'static {
    fn decl(&self) -> &ToolDecl;

    /// Returns the vault paths that the arguments name, for path rules and for the order of calls.
    fn paths(&self, args: &Value) -> PathKeys;

    /// Returns one line for the user.
    fn preview(&self, args: &Value) -> String;

    fn run<'a>(&'a self, cx: &'a ToolCx, args: Value) -> BoxFuture<'a, Result<Value, Fault>>;

    /// Returns one line with the outcome first.
    fn summary(&self, output: &Value) -> String;

    /// Bounds the output for the canonical result and the receipt.
    fn project(&self, output: &Value, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault>;

    /// Time in milliseconds that the tool may need to stop, if that is more than the policy allows.
    fn stop_ms(&self) -> u64 {
        0
    }
}

/// Adapter from a [`JsonTool`] to [`AnyTool`].
pub(crate) struct JsonToolAdapter(pub(crate) Arc<dyn JsonTool>);

impl AnyTool for JsonToolAdapter {
    fn decl(&self) -> Result<ToolDecl, envelope::BadId> {
        Ok(self.0.decl().clone())
    }

    fn decode(&self, args: &Value) -> Result<DecodedArgs, Fault> {
        Ok(DecodedArgs(Box::new(SplitArgs::of(&self.0.decl().input_schema, args).own.into_owned())))
    }

    fn validate<'a>(
        &'a self,
        _cx: &'a ToolCx,
        _args: &'a mut DecodedArgs,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(ready(Ok(())))
    }

    fn paths(&self, args: &DecodedArgs) -> PathKeys {
        value(args).map(|args| self.0.paths(args)).unwrap_or_default()
    }

    fn command(&self, _args: &DecodedArgs) -> Option<CommandLine> {
        None
    }

    fn is_dry_run(&self, _args: &DecodedArgs) -> bool {
        false
    }

    fn preview(&self, args: &DecodedArgs) -> String {
        value(args).map(|args| self.0.preview(args)).unwrap_or_default()
    }

    fn intend<'a>(&'a self, _cx: &'a ToolCx, _args: &'a mut DecodedArgs) -> BoxFuture<'a, Vec<VaultChange>> {
        Box::pin(ready(Vec::new()))
    }

    fn run<'a>(&'a self, cx: &'a ToolCx, args: DecodedArgs) -> BoxFuture<'a, Result<RawOutput, Fault>> {
        Box::pin(async move {
            let args = args.0.downcast::<Value>().map_err(|_| self.strange_args())?;
            let output = self.0.run(cx, *args).await?;
            let tool = self.0.clone();
            Ok(RawOutput(Box::new(move |with| map(&*tool, output, with))))
        })
    }

    fn reconcile<'a>(
        &'a self,
        _cx: &'a ToolCx,
        _args: &'a DecodedArgs,
        _intent: &'a [VaultChange],
    ) -> BoxFuture<'a, ReconcileOutcome<RawOutput>> {
        let why = "the effect of an external tool cannot be checked".to_owned();
        Box::pin(ready(ReconcileOutcome::Unknown { why }))
    }

    fn remap(&self, data: &Value, with: Projection<'_>) -> Result<MappedResult, Fault> {
        map(&*self.0, data.clone(), with)
    }

    fn budget(&self, _args: &DecodedArgs) -> Option<u32> {
        None
    }

    fn stop_ms(&self) -> u64 {
        self.0.stop_ms()
    }
}

impl JsonToolAdapter {
    fn strange_args(&self) -> Fault {
        let message = format!("{} received the arguments of another tool", self.0.decl().name);
        Fault::new(Failure::ExecutionFailed, message)
    }
}

fn value(args: &DecodedArgs) -> Option<&Value> {
    args.0.downcast_ref::<Value>()
}

fn map(tool: &dyn JsonTool, data: Value, mut with: Projection<'_>) -> Result<MappedResult, Fault> {
    let decl = tool.decl();
    let ProjectedResult { family, result, render } = tool.project(&data, &mut with)?;
    if family != decl.family {
        let message = format!("{} declares the family {} and answers as {family}", decl.name, decl.family);
        return Err(Fault::new(Failure::ResultMappingFailed, message));
    }
    let canonical = CanonicalResult {
        tool_name: decl.name.to_string(),
        status: CanonicalStatus::Success,
        summary_text: tool.summary(&data),
        result: Some(result),
        error: None,
    };
    let receipt = render(family, &canonical, with.budget());
    Ok(MappedResult { data, canonical, receipt, artifacts: with.into_artifacts(), incomplete: None })
}
