//! Tools that become tasks for clients with that extension. The product does not offer it: its long commands
//! continue in the background and are polled with a tool, which every client can call.

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, CreateTaskResult,
    InputRequest,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use serde_json::{Value, json};

use super::rounds::{self, Round};
use super::tools::{complete, read, said, text};

#[derive(Clone, Default)]
pub(super) struct Tasks(pub(crate) TaskManager);

type Done = Result<CallToolResult, TaskExit>;

impl Tasks {
    /// Returns `None` for other tools.
    pub(super) fn call(
        &self,
        request: &CallToolRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Option<Result<CallToolResponse, ErrorData>> {
        let argument = |name: &str| request.arguments.as_ref().and_then(|given| given.get(name)).cloned();
        let can = cx.client_capabilities().is_some_and(|can| can.supports_tasks());
        let seconds = argument("seconds").and_then(|seconds| seconds.as_f64()).unwrap_or_default();
        Some(match &*request.name {
            "greet" => {
                let name = argument("name").and_then(|name| name.as_str().map(str::to_owned));
                said(&format!("Hello, {}!", name.unwrap_or_default())).map(CallToolResponse::from)
            }
            "slow_compute" if !can => said("Computed at once.").map(CallToolResponse::from),
            "slow_compute" => self.begin(move |task| Box::pin(compute(task, seconds))),
            "test_tool_with_task" => self.after_a_name(request, can),
            "failing_job" | "protocol_error_job" | "confirm_delete" | "multi_input" if !can => {
                Err(undeclared())
            }
            "failing_job" => self.begin(|_| Box::pin(fail())),
            "protocol_error_job" => self.begin(|_| Box::pin(break_off())),
            "confirm_delete" => self.begin(|task| Box::pin(confirm(task))),
            "multi_input" => self.begin(|task| Box::pin(ask_twice(task))),
            _ => return None,
        })
    }

    fn begin(
        &self,
        work: impl FnOnce(TaskContext) -> std::pin::Pin<Box<dyn Future<Output = Done> + Send>>,
    ) -> Result<CallToolResponse, ErrorData> {
        let task = self.0.spawn(TaskOptions::new().with_poll_interval_ms(50), work);
        Ok(CreateTaskResult::new(task).into())
    }

    fn after_a_name(
        &self,
        request: &CallToolRequestParams,
        can: bool,
    ) -> Result<CallToolResponse, ErrorData> {
        if !can {
            return Err(undeclared());
        }
        match rounds::name_first(request)? {
            Round::Ask(question) => Ok(question.into()),
            Round::Done(name) => self.begin(move |_| Box::pin(async move { Ok(said(&name)?) })),
        }
    }
}

fn undeclared() -> ErrorData {
    ErrorData::missing_required_client_capability(ClientCapabilities::builder().enable_tasks().build())
}

async fn compute(task: TaskContext, seconds: f64) -> Done {
    tokio::select! {
        () = task.cancelled() => Err(TaskExit::Cancelled),
        () = tokio::time::sleep(Duration::from_secs_f64(seconds.clamp(0.0, 60.0))) => Ok(said("Computed.")?),
    }
}

async fn fail() -> Done {
    let mut failed = complete(&json!([text("This job always fails")]));
    failed["isError"] = Value::Bool(true);
    Ok(read(failed)?)
}

async fn break_off() -> Done {
    Err(TaskExit::Error(ErrorData::internal_error("this job breaks off", None)))
}

async fn confirm(task: TaskContext) -> Done {
    let answer = ask(&task, "confirm", "Really delete it?").await?;
    Ok(said(&answer.to_string())?)
}

async fn ask_twice(task: TaskContext) -> Done {
    let (first, second) = tokio::join!(ask(&task, "first", "First?"), ask(&task, "second", "Second?"));
    Ok(said(&format!("{} {}", first?, second?))?)
}

async fn ask(task: &TaskContext, key: &str, message: &str) -> Result<Value, TaskExit> {
    let question: InputRequest = read(rounds::name_form(message))?;
    task.request_input(key, question).await
}
