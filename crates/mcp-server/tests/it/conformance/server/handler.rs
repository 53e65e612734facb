//! The product's handler, extended by the features that the suites require.
#![allow(deprecated, reason = "older clients subscribe and log as their version has it")]

use mcp_server::McpHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult,
    GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;

use super::gate::Changing;
use super::rounds::Round;
use super::tasks::Tasks;
use super::tools::{read, said};
use super::{asking, prompts, resources, rounds, tools};

#[derive(Clone)]
pub(super) struct Fixtures {
    pub(super) own: McpHandler,
    pub(super) list: Changing,
    pub(super) tasks: Tasks,
}

type Cx = RequestContext<RoleServer>;

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.own.get_info();
        let mut can = serde_json::to_value(&info.capabilities).unwrap_or_default();
        for more in ["prompts", "logging"] {
            can[more] = json!({});
        }
        can["resources"]["subscribe"] = json!(true);
        can["extensions"]["io.modelcontextprotocol/tasks"] = json!({});
        info.capabilities = serde_json::from_value::<ServerCapabilities>(can).unwrap_or_default();
        info
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        cx: Cx,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut page = self.own.list_tools(request, cx).await?;
        if page.next_cursor.is_none() {
            page.tools.extend(tools::all());
        }
        Ok(page)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.own.get_tool(name).or_else(|| tools::all().into_iter().find(|tool| tool.name == name))
    }

    async fn call_tool(&self, request: CallToolRequestParams, cx: Cx) -> Result<CallToolResponse, ErrorData> {
        if request.name == "test_trigger_tool_change" {
            self.list.change().map_err(|error| ErrorData::internal_error(error, None))?;
            return Ok(said("The list is another.")?.into());
        }
        if let Some(result) = tools::result(&request.name) {
            return Ok(CallToolResponse::Complete(read(result)?));
        }
        if let Some(round) = rounds::call(&request, &cx) {
            return match round? {
                Round::Ask(question) => Ok(question.into()),
                Round::Done(words) => Ok(said(&words)?.into()),
            };
        }
        if let Some(result) = asking::call(&request, &cx).await {
            return Ok(result?.into());
        }
        if let Some(result) = self.tasks.call(&request, &cx) {
            return result;
        }
        self.own.call_tool(request, cx).await
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _cx: Cx,
    ) -> Result<ListPromptsResult, ErrorData> {
        prompts::list()
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _cx: Cx,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&request)
    }

    async fn complete(&self, request: CompleteRequestParams, cx: Cx) -> Result<CompleteResult, ErrorData> {
        self.own.complete(request, cx).await
    }

    async fn set_level(&self, _request: SetLevelRequestParams, _cx: Cx) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        cx: Cx,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut page = self.own.list_resources(request, cx).await?;
        if page.next_cursor.is_none() {
            page.resources.extend(resources::all());
        }
        Ok(page)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        cx: Cx,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut page = self.own.list_resource_templates(request, cx).await?;
        page.resource_templates.push(resources::template());
        Ok(page)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        cx: Cx,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match resources::find(&request.uri) {
            Some(found) => Ok(found?.into()),
            None => self.own.read_resource(request, cx).await,
        }
    }

    async fn subscribe(&self, _request: SubscribeRequestParams, _cx: Cx) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _request: UnsubscribeRequestParams, _cx: Cx) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.own.accepted_subscription_filter(requested)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.own.listen(context).await
    }

    async fn get_task(&self, request: GetTaskParams, _cx: Cx) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.tasks.0.get_task(&request.task_id)?))
    }

    async fn update_task(&self, request: UpdateTaskParams, _cx: Cx) -> Result<(), ErrorData> {
        self.tasks.0.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(&self, request: CancelTaskParams, _cx: Cx) -> Result<(), ErrorData> {
        self.tasks.0.cancel_task(&request.task_id)
    }
}
