//! A tool without its types, as the registry keeps it.
//!
//! Authors implement [`Tool`]; the one implementation here erases the types. No macro, no boxed trait
//! methods in author code.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use envelope::{Artifact, CanonicalResult, CanonicalStatus, Change, Failure, Fault, ToolDecl, ToolName};
use serde_json::Value;

use crate::command_line::CommandLine;
use crate::families::{self, Projected, Projection};
use crate::schema::with_integers;
use crate::{PathKeys, Reconciled, Tool, ToolCx};

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Arguments read into the tool's own type. Only the tool that made them can use them.
pub struct DecodedArgs(pub(crate) Box<dyn Any + Send + Sync>);

/// What a tool returned, before it was mapped. Mapping consumes it, so it happens once.
pub struct RawOutput(pub(crate) Mapping);

pub(crate) type Mapping = Box<dyn FnOnce(Projection<'_>) -> Result<Mapped, Fault> + Send>;

impl RawOutput {
    pub fn map(self, with: Projection<'_>) -> Result<Mapped, Fault> {
        (self.0)(with)
    }
}

/// A result in all its forms: complete, canonical, and as the model reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct Mapped {
    pub data: Value,
    pub canonical: CanonicalResult,
    pub receipt: String,
    /// What the projection kept beside the result.
    pub artifacts: Vec<Artifact>,
}

/// A tool of any types.
pub trait AnyTool: Send + Sync {
    fn decl(&self) -> Result<ToolDecl, envelope::BadId>;
    fn decode(&self, args: &Value) -> Result<DecodedArgs, Fault>;
    fn validate<'a>(&'a self, cx: &'a ToolCx, args: &'a DecodedArgs) -> BoxFuture<'a, Result<(), Fault>>;
    fn paths(&self, args: &DecodedArgs) -> PathKeys;
    fn command(&self, args: &DecodedArgs) -> Option<CommandLine>;
    fn is_dry_run(&self, args: &DecodedArgs) -> bool;
    fn preview(&self, args: &DecodedArgs) -> String;
    fn intend<'a>(&'a self, cx: &'a ToolCx, args: &'a DecodedArgs) -> BoxFuture<'a, Vec<Change>>;
    fn run<'a>(&'a self, cx: &'a ToolCx, args: DecodedArgs) -> BoxFuture<'a, Result<RawOutput, Fault>>;
    fn reconcile<'a>(
        &'a self,
        cx: &'a ToolCx,
        args: &'a DecodedArgs,
        intent: &'a [Change],
    ) -> BoxFuture<'a, Reconciled<RawOutput>>;
    /// Maps data that a hook changed, as if the tool had returned it.
    fn remap(&self, data: &Value, with: Projection<'_>) -> Result<Mapped, Fault>;
    /// Tokens that the caller wants of the receipt.
    fn budget(&self, args: &DecodedArgs) -> Option<u32>;
    /// How long it may need to stop.
    fn stop_ms(&self) -> u64;
}

/// A tool with its types erased.
pub(crate) struct Erased<T> {
    /// Shared with outputs that outlive the call.
    tool: Arc<T>,
    input_schema: Value,
}

impl<T: Tool> Erased<T> {
    pub(crate) fn new(tool: T) -> Erased<T> {
        Erased { tool: Arc::new(tool), input_schema: schema_of::<T::Args>() }
    }
}

impl<T: Tool> AnyTool for Erased<T> {
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
        let args = with_integers(&self.input_schema, args);
        <T::Args as serde::Deserialize>::deserialize(&*args).map(|args| DecodedArgs(Box::new(args))).map_err(
            |error| {
                Fault::new(
                    Failure::SchemaValidationFailed,
                    format!("the arguments of {} cannot be read: {error}", T::NAME),
                )
            },
        )
    }

    fn validate<'a>(&'a self, cx: &'a ToolCx, args: &'a DecodedArgs) -> BoxFuture<'a, Result<(), Fault>> {
        match typed::<T>(args) {
            Ok(args) => Box::pin(Tool::validate(&*self.tool, cx, args)),
            Err(fault) => Box::pin(std::future::ready(Err(fault))),
        }
    }

    fn paths(&self, args: &DecodedArgs) -> PathKeys {
        typed::<T>(args).map(|args| Tool::paths(&*self.tool, args)).unwrap_or_default()
    }

    fn command(&self, args: &DecodedArgs) -> Option<CommandLine> {
        typed::<T>(args).ok().and_then(|args| Tool::command(&*self.tool, args))
    }

    fn is_dry_run(&self, args: &DecodedArgs) -> bool {
        typed::<T>(args).is_ok_and(|args| Tool::is_dry_run(&*self.tool, args))
    }

    fn preview(&self, args: &DecodedArgs) -> String {
        typed::<T>(args).map(|args| Tool::preview(&*self.tool, args)).unwrap_or_default()
    }

    fn intend<'a>(&'a self, cx: &'a ToolCx, args: &'a DecodedArgs) -> BoxFuture<'a, Vec<Change>> {
        match typed::<T>(args) {
            Ok(args) => Box::pin(Tool::intend(&*self.tool, cx, args)),
            Err(_) => Box::pin(std::future::ready(Vec::new())),
        }
    }

    fn run<'a>(&'a self, cx: &'a ToolCx, args: DecodedArgs) -> BoxFuture<'a, Result<RawOutput, Fault>> {
        let tool = self.tool.clone();
        Box::pin(async move {
            let args = args.0.downcast::<T::Args>().map_err(|_| foreign_args::<T>())?;
            let output = Tool::run(&*tool, cx, *args).await?;
            Ok(raw(tool, output))
        })
    }

    fn reconcile<'a>(
        &'a self,
        cx: &'a ToolCx,
        args: &'a DecodedArgs,
        intent: &'a [Change],
    ) -> BoxFuture<'a, Reconciled<RawOutput>> {
        Box::pin(async move {
            let args = match typed::<T>(args) {
                Ok(args) => args,
                Err(fault) => return Reconciled::Unknown { why: fault.message },
            };
            match Tool::reconcile(&*self.tool, cx, args, intent).await {
                Reconciled::Happened(output) => Reconciled::Happened(raw(self.tool.clone(), output)),
                Reconciled::DidNot => Reconciled::DidNot,
                Reconciled::Unknown { why } => Reconciled::Unknown { why },
            }
        })
    }

    fn stop_ms(&self) -> u64 {
        T::STOP_MS
    }

    fn budget(&self, args: &DecodedArgs) -> Option<u32> {
        typed::<T>(args).ok().and_then(|args| Tool::budget(&*self.tool, args))
    }

    fn remap(&self, data: &Value, with: Projection<'_>) -> Result<Mapped, Fault> {
        let output =
            <T::Output as serde::Deserialize>::deserialize(data).map_err(|error| unmappable::<T>(&error))?;
        map(&*self.tool, &output, with)
    }
}

fn raw<T: Tool>(tool: Arc<T>, output: T::Output) -> RawOutput {
    RawOutput(Box::new(move |with| map(&*tool, &output, with)))
}

fn map<T: Tool>(tool: &T, output: &T::Output, mut with: Projection<'_>) -> Result<Mapped, Fault> {
    let data = serde_json::to_value(output).map_err(|error| unmappable::<T>(&error))?;
    let Projected { family, result } = tool.project(output, &mut with)?;
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
    let receipt = families::render(family, &canonical, with.budget());
    Ok(Mapped { data, canonical, receipt, artifacts: with.into_artifacts() })
}

fn unmappable<T: Tool>(error: &serde_json::Error) -> Fault {
    Fault::new(Failure::ResultMappingFailed, format!("the output of {} cannot be mapped: {error}", T::NAME))
}

fn typed<T: Tool>(args: &DecodedArgs) -> Result<&T::Args, Fault> {
    args.0.downcast_ref::<T::Args>().ok_or_else(foreign_args::<T>)
}

fn foreign_args<T: Tool>() -> Fault {
    Fault::new(Failure::ExecutionFailed, format!("{} was handed another tool's arguments", T::NAME))
}

/// The schema of a type, self-contained: definitions inlined, so that a model reads it in one go.
fn schema_of<T: schemars::JsonSchema>() -> Value {
    let mut settings = schemars::generate::SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.to_value()
}
