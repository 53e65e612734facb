//! A tool whose types are not Rust types: it was not written here, and its schemas came with it.
//!
//! Absent on purpose: everything that needs to know what the tool means. It cannot say beforehand what it will change,
//! and nobody can tell afterwards whether it did, so a call that was cut off stays uncertain.

use std::future::ready;
use std::sync::Arc;

use envelope::{CanonicalResult, CanonicalStatus, Change, Failure, Fault, ToolDecl};
use serde_json::Value;

use crate::command_line::CommandLine;
use crate::families::{self, Projected, Projection};
use crate::{AnyTool, BoxFuture, DecodedArgs, Mapped, PathKeys, RawOutput, Reconciled, ToolCx};

/// A tool that speaks JSON in and out. Its arguments were checked against its input schema before it sees them.
pub trait ForeignTool: Send + Sync + 'static {
    fn decl(&self) -> &ToolDecl;

    /// The places of the vault that the arguments name: path rules and the order of calls go by them.
    fn paths(&self, args: &Value) -> PathKeys;

    /// One line for the person.
    fn preview(&self, args: &Value) -> String;

    fn run<'a>(&'a self, cx: &'a ToolCx, args: Value) -> BoxFuture<'a, Result<Value, Fault>>;

    /// One line, the outcome first.
    fn summary(&self, output: &Value) -> String;

    /// Bounds the output for its two surfaces.
    fn project(&self, output: &Value, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        families::external::project(output, with)
    }

    /// How long it may need to stop, where that is more than the policy gives.
    fn stop_ms(&self) -> u64 {
        0
    }
}

/// As the registry keeps it.
pub(crate) struct Foreign(pub(crate) Arc<dyn ForeignTool>);

impl AnyTool for Foreign {
    fn decl(&self) -> Result<ToolDecl, envelope::BadId> {
        Ok(self.0.decl().clone())
    }

    fn decode(&self, args: &Value) -> Result<DecodedArgs, Fault> {
        Ok(DecodedArgs(Box::new(args.clone())))
    }

    fn validate<'a>(&'a self, _cx: &'a ToolCx, _args: &'a DecodedArgs) -> BoxFuture<'a, Result<(), Fault>> {
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

    fn intend<'a>(&'a self, _cx: &'a ToolCx, _args: &'a DecodedArgs) -> BoxFuture<'a, Vec<Change>> {
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
        _intent: &'a [Change],
    ) -> BoxFuture<'a, Reconciled<RawOutput>> {
        let why = "nobody here can tell what a tool from elsewhere did".to_owned();
        Box::pin(ready(Reconciled::Unknown { why }))
    }

    fn remap(&self, data: &Value, with: Projection<'_>) -> Result<Mapped, Fault> {
        map(&*self.0, data.clone(), with)
    }

    fn budget(&self, _args: &DecodedArgs) -> Option<u32> {
        None
    }

    fn stop_ms(&self) -> u64 {
        self.0.stop_ms()
    }
}

impl Foreign {
    fn strange_args(&self) -> Fault {
        let message = format!("{} was handed another tool's arguments", self.0.decl().name);
        Fault::new(Failure::ExecutionFailed, message)
    }
}

fn value(args: &DecodedArgs) -> Option<&Value> {
    args.0.downcast_ref::<Value>()
}

fn map(tool: &dyn ForeignTool, data: Value, mut with: Projection<'_>) -> Result<Mapped, Fault> {
    let decl = tool.decl();
    let Projected { family, result } = tool.project(&data, &mut with)?;
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
    let receipt = families::render(family, &canonical, with.budget());
    Ok(Mapped { data, canonical, receipt, artifacts: with.into_artifacts() })
}
