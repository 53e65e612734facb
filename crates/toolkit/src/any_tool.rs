//! Type-erased tools, as the registry stores them.
//!
//! Authors implement [`Tool`](crate::Tool) or [`StagedTool`]; the adapter here erases the types. This needs no macro and no boxed trait methods in
//! author code.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use command_line::CommandLine;
use envelope::{Artifact, CanonicalResult, CanonicalStatus, Failure, Fault, ToolDecl, ToolName, VaultChange};
use serde_json::Value;

use crate::common_args::SplitArgs;
use crate::schema::normalize_integers;
use crate::{PathKeys, ProjectedResult, Projection, ReconcileOutcome, StagedTool, ToolCx};

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Arguments decoded into the tool's own type, with the work prepared for them. Only the tool that decoded them can use
/// them.
pub struct DecodedArgs(pub(crate) Box<dyn Any + Send + Sync>);

/// The output of a tool before it is mapped. `ResultMapper` consumes it, so it is mapped once.
pub struct RawOutput(pub(crate) ResultMapper);

/// Decoded arguments of a typed tool, and what its earlier phases prepared.
struct StagedArgs<T: StagedTool> {
    args: T::Args,
    prepared: T::Prepared,
}

pub(crate) type ResultMapper = Box<dyn FnOnce(Projection<'_>) -> Result<MappedResult, Fault> + Send>;

impl RawOutput {
    pub fn map(self, with: Projection<'_>) -> Result<MappedResult, Fault> {
        (self.0)(with)
    }
}

/// A result in all its forms: complete, canonical, and as a receipt.
#[derive(Debug, Clone, PartialEq)]
pub struct MappedResult {
    pub data: Value,
    pub canonical: CanonicalResult,
    pub receipt: String,
    /// Artifacts that the projection stored beside the result.
    pub artifacts: Vec<Artifact>,
    /// The part of its work that the tool could not do although the call is ok.
    pub incomplete: Option<String>,
}

/// A tool with erased types. `validate` and `intend` can prepare work, which stays with the arguments.
pub trait AnyTool: Send + Sync {
    fn decl(&self) -> Result<ToolDecl, envelope::BadId>;
    /// Decodes the arguments without the common ones, `note` and `requestId`.
    fn decode(&self, args: &Value) -> Result<DecodedArgs, Fault>;
    fn validate<'a>(&'a self, cx: &'a ToolCx, args: &'a mut DecodedArgs) -> BoxFuture<'a, Result<(), Fault>>;
    fn paths(&self, args: &DecodedArgs) -> PathKeys;
    fn command(&self, args: &DecodedArgs) -> Option<CommandLine>;
    fn is_dry_run(&self, args: &DecodedArgs) -> bool;
    fn preview(&self, args: &DecodedArgs) -> String;
    fn intend<'a>(&'a self, cx: &'a ToolCx, args: &'a mut DecodedArgs) -> BoxFuture<'a, Vec<VaultChange>>;
    fn run<'a>(&'a self, cx: &'a ToolCx, args: DecodedArgs) -> BoxFuture<'a, Result<RawOutput, Fault>>;
    fn reconcile<'a>(
        &'a self,
        cx: &'a ToolCx,
        args: &'a DecodedArgs,
        intent: &'a [VaultChange],
    ) -> BoxFuture<'a, ReconcileOutcome<RawOutput>>;
    /// Maps data that a hook changed, as if the tool had returned it.
    fn remap(&self, data: &Value, with: Projection<'_>) -> Result<MappedResult, Fault>;
    /// Tokens that the caller requests for the receipt.
    fn budget(&self, args: &DecodedArgs) -> Option<u32>;
    /// Time in milliseconds that the tool may need to stop.
    fn stop_ms(&self) -> u64;
}

/// Adapter from a [`StagedTool`] to [`AnyTool`].
pub(crate) struct TypedToolAdapter<T> {
    /// Shared with outputs that outlive the call.
    tool: Arc<T>,
    input_schema: Value,
}

impl<T: StagedTool> TypedToolAdapter<T> {
    pub(crate) fn new(tool: T) -> TypedToolAdapter<T> {
        TypedToolAdapter { tool: Arc::new(tool), input_schema: schema_of::<T::Args>() }
    }
}

impl<T: StagedTool> AnyTool for TypedToolAdapter<T> {
    fn decl(&self) -> Result<ToolDecl, envelope::BadId> {
        Ok(ToolDecl {
            name: ToolName::parse(T::NAME)?,
            version: T::VERSION.to_owned(),
            summary: T::SUMMARY.to_owned(),
            category: T::CATEGORY.to_owned(),
            family: T::FAMILY,
            risk_level: T::RISK,
            side_effects: T::SIDE_EFFECTS.to_vec(),
            availability: T::REQUIRES.to_vec(),
            concurrency: T::CONCURRENCY,
            idempotency: T::IDEMPOTENCY,
            cancellable: T::CANCELLABLE,
            timeout_ms: T::TIMEOUT_MS,
            input_schema: self.input_schema.clone(),
            output_schema: schema_of::<T::Output>(),
        })
    }

    fn decode(&self, args: &Value) -> Result<DecodedArgs, Fault> {
        let args = SplitArgs::of(&self.input_schema, args).own;
        let args = normalize_integers(&self.input_schema, &args);
        let args = <T::Args as serde::Deserialize>::deserialize(&*args).map_err(|error| {
            Fault::new(
                Failure::SchemaValidationFailed,
                format!("the arguments of {} cannot be read: {error}", T::NAME),
            )
        })?;
        Ok(DecodedArgs(Box::new(StagedArgs::<T> { args, prepared: T::Prepared::default() })))
    }

    fn validate<'a>(&'a self, cx: &'a ToolCx, args: &'a mut DecodedArgs) -> BoxFuture<'a, Result<(), Fault>> {
        match staged_mut::<T>(args) {
            Ok(StagedArgs { args, prepared }) => Box::pin(self.tool.validate(cx, args, prepared)),
            Err(fault) => Box::pin(std::future::ready(Err(fault))),
        }
    }

    fn paths(&self, args: &DecodedArgs) -> PathKeys {
        staged::<T>(args).map(|call| self.tool.paths(&call.args, &call.prepared)).unwrap_or_default()
    }

    fn command(&self, args: &DecodedArgs) -> Option<CommandLine> {
        staged::<T>(args).ok().and_then(|call| self.tool.command(&call.args))
    }

    fn is_dry_run(&self, args: &DecodedArgs) -> bool {
        staged::<T>(args).is_ok_and(|call| self.tool.is_dry_run(&call.args))
    }

    fn preview(&self, args: &DecodedArgs) -> String {
        staged::<T>(args).map(|call| self.tool.preview(&call.args, &call.prepared)).unwrap_or_default()
    }

    fn intend<'a>(&'a self, cx: &'a ToolCx, args: &'a mut DecodedArgs) -> BoxFuture<'a, Vec<VaultChange>> {
        match staged_mut::<T>(args) {
            Ok(StagedArgs { args, prepared }) => Box::pin(self.tool.intend(cx, args, prepared)),
            Err(_) => Box::pin(std::future::ready(Vec::new())),
        }
    }

    fn run<'a>(&'a self, cx: &'a ToolCx, args: DecodedArgs) -> BoxFuture<'a, Result<RawOutput, Fault>> {
        let tool = self.tool.clone();
        Box::pin(async move {
            let call = args.0.downcast::<StagedArgs<T>>().map_err(|_| foreign_args::<T>())?;
            let output = tool.run(cx, call.args, call.prepared).await?;
            Ok(raw(tool, output))
        })
    }

    fn reconcile<'a>(
        &'a self,
        cx: &'a ToolCx,
        args: &'a DecodedArgs,
        intent: &'a [VaultChange],
    ) -> BoxFuture<'a, ReconcileOutcome<RawOutput>> {
        Box::pin(async move {
            let args = match staged::<T>(args) {
                Ok(call) => &call.args,
                Err(fault) => return ReconcileOutcome::Unknown { why: fault.message },
            };
            match self.tool.reconcile(cx, args, intent).await {
                ReconcileOutcome::Happened(output) => {
                    ReconcileOutcome::Happened(raw(self.tool.clone(), output))
                }
                ReconcileOutcome::DidNot { taken_back } => ReconcileOutcome::DidNot { taken_back },
                ReconcileOutcome::Unknown { why } => ReconcileOutcome::Unknown { why },
            }
        })
    }

    fn stop_ms(&self) -> u64 {
        T::STOP_MS
    }

    fn budget(&self, args: &DecodedArgs) -> Option<u32> {
        staged::<T>(args).ok().and_then(|call| self.tool.budget(&call.args))
    }

    fn remap(&self, data: &Value, with: Projection<'_>) -> Result<MappedResult, Fault> {
        let output =
            <T::Output as serde::Deserialize>::deserialize(data).map_err(|error| unmappable::<T>(&error))?;
        map(&*self.tool, &output, with)
    }
}

fn raw<T: StagedTool>(tool: Arc<T>, output: T::Output) -> RawOutput {
    RawOutput(Box::new(move |with| map(&*tool, &output, with)))
}

fn map<T: StagedTool>(tool: &T, output: &T::Output, mut with: Projection<'_>) -> Result<MappedResult, Fault> {
    let data = serde_json::to_value(output).map_err(|error| unmappable::<T>(&error))?;
    let ProjectedResult { family, result, render } = tool.project(output, &mut with)?;
    if family != T::FAMILY {
        let message = format!("{} declares the family {} and answers as {family}", T::NAME, T::FAMILY);
        return Err(Fault::new(Failure::ResultMappingFailed, message));
    }
    let canonical = CanonicalResult {
        tool_name: T::NAME.to_owned(),
        status: CanonicalStatus::Success,
        summary_text: tool.summary(output),
        result: Some(result),
        error: None,
    };
    let receipt = render(family, &canonical, with.budget());
    let incomplete = tool.incomplete(output);
    Ok(MappedResult { data, canonical, receipt, artifacts: with.into_artifacts(), incomplete })
}

fn unmappable<T: StagedTool>(error: &serde_json::Error) -> Fault {
    Fault::new(Failure::ResultMappingFailed, format!("the output of {} cannot be mapped: {error}", T::NAME))
}

fn staged<T: StagedTool>(args: &DecodedArgs) -> Result<&StagedArgs<T>, Fault> {
    args.0.downcast_ref().ok_or_else(foreign_args::<T>)
}

fn staged_mut<T: StagedTool>(args: &mut DecodedArgs) -> Result<&mut StagedArgs<T>, Fault> {
    args.0.downcast_mut().ok_or_else(foreign_args::<T>)
}

fn foreign_args<T: StagedTool>() -> Fault {
    Fault::new(Failure::ExecutionFailed, format!("{} received the arguments of another tool", T::NAME))
}

/// Returns the schema of a type with all definitions inlined, so that a model can read it in one pass.
fn schema_of<T: schemars::JsonSchema>() -> Value {
    let mut settings = schemars::generate::SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.to_value()
}
