//! The approver of one client.

use std::sync::Arc;

use crate::approvals::FrontEnd;
use engine::{
    ApprovalDecision, ApprovalRequest, Approver, ConfirmAnswer, ConfirmRequest, UncertainCall,
    UncertainDecision,
};
use envelope::ClientId;
use toolkit::BoxFuture;

use super::{ApprovalBroker, QuestionEnd};
use crate::approval_queue::{ApprovalAnswer, QuestionTopic};
use crate::approvals::ApprovalReason;

const RETRY_HINT: &str = "ask the user to answer with `tollgate approve`, then make the same call again";
const REFUSED_BEFORE: &str = "the answer to the same question was no, a few minutes ago";

/// Approver whose questions belong to one client.
pub(super) struct ClientApprover {
    pub(super) broker: Arc<ApprovalBroker>,
    pub(super) client: ClientId,
    /// Protocol of the client.
    pub(super) front_end: FrontEnd,
}

impl ClientApprover {
    async fn confirm_plan(&self, request: &ConfirmRequest) -> ConfirmAnswer {
        match self
            .broker
            .ask(&self.client, QuestionTopic::plan(request), request.client.as_deref(), None)
            .await
        {
            QuestionEnd::Answered(ApprovalAnswer::Yes | ApprovalAnswer::Always, channel) => {
                ConfirmAnswer::Approved { channel }
            }
            QuestionEnd::Answered(ApprovalAnswer::No, _) => {
                ConfirmAnswer::Declined { reason: "declined by the user".to_owned() }
            }
            QuestionEnd::StillRefused => ConfirmAnswer::Declined { reason: REFUSED_BEFORE.to_owned() },
            QuestionEnd::Unanswered(why) => ConfirmAnswer::Unavailable { why },
        }
    }

    async fn approve_call(&self, request: &ApprovalRequest) -> ApprovalDecision {
        let reason = ApprovalReason::of(request, &self.client, self.front_end);
        if let Some(channel) = self.broker.open().always_channel(&reason) {
            return ApprovalDecision::ApproveOnce { channel };
        }
        let says = request.client.as_deref();
        match self.broker.ask(&self.client, QuestionTopic::call(request), says, Some(&reason)).await {
            QuestionEnd::Answered(ApprovalAnswer::Always, channel)
                if self.broker.open().approve_always(reason, channel) =>
            {
                ApprovalDecision::ApproveAndRemember { channel }
            }
            QuestionEnd::Answered(ApprovalAnswer::Yes | ApprovalAnswer::Always, channel) => {
                ApprovalDecision::ApproveOnce { channel }
            }
            QuestionEnd::Answered(ApprovalAnswer::No, envelope::ApprovalChannel::Terminal) => {
                ApprovalDecision::Reject { reason: "declined at the terminal".to_owned() }
            }
            QuestionEnd::Answered(ApprovalAnswer::No, _) => {
                ApprovalDecision::Reject { reason: "declined through `tollgate approve`".to_owned() }
            }
            QuestionEnd::StillRefused => ApprovalDecision::Reject { reason: REFUSED_BEFORE.to_owned() },
            QuestionEnd::Unanswered(why) => ApprovalDecision::Unavailable { why, hint: Some(RETRY_HINT) },
        }
    }

    async fn settle_uncertain(&self, call: &UncertainCall) -> UncertainDecision {
        match self.broker.ask(&self.client, QuestionTopic::uncertain(call), None, None).await {
            QuestionEnd::Answered(ApprovalAnswer::Yes | ApprovalAnswer::Always, _) => UncertainDecision::Run,
            QuestionEnd::Answered(ApprovalAnswer::No, _)
            | QuestionEnd::StillRefused
            | QuestionEnd::Unanswered(_) => UncertainDecision::Leave,
        }
    }
}

impl Approver for ClientApprover {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer> {
        Box::pin(self.confirm_plan(request))
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(self.approve_call(request))
    }

    fn settle<'a>(&'a self, uncertain: &'a UncertainCall) -> BoxFuture<'a, UncertainDecision> {
        Box::pin(self.settle_uncertain(uncertain))
    }
}
