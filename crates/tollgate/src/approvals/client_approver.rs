//! Asks on behalf of one client.

use std::sync::Arc;

use engine::{Answer, ApprovalRequest, Approver, ConfirmRequest, UncertainCall, UncertainVerdict, Verdict};
use envelope::ClientId;
use gateway::FrontEnd;
use toolkit::BoxFuture;

use super::{Broker, End};
use crate::ask::Reason;
use crate::desk::{About, Word};

const AGAIN: &str = "let the person answer with `tollgate approve`, then make the same call again";
const STILL_NO: &str = "the answer to the same question was no, a few minutes ago";

/// The approver of one client: whatever it asks is this client's question.
pub(super) struct ClientApprover {
    pub(super) broker: Arc<Broker>,
    pub(super) client: ClientId,
    /// How it came in.
    pub(super) front_end: FrontEnd,
}

impl ClientApprover {
    async fn confirm_plan(&self, request: &ConfirmRequest) -> Answer {
        match self.broker.ask(&self.client, About::plan(request), request.client.as_deref(), None).await {
            End::Said(Word::Yes | Word::Always, channel) => Answer::Yes { channel },
            End::Said(Word::No, _) => Answer::No { reason: "the user said no".to_owned() },
            End::StillNo => Answer::No { reason: STILL_NO.to_owned() },
            End::Nobody(why) => Answer::Nobody { why },
        }
    }

    async fn approve_call(&self, request: &ApprovalRequest) -> Verdict {
        let reason = Reason::of(request, &self.client, self.front_end);
        if let Some(channel) = self.broker.open().always_by(&reason) {
            return Verdict::Once { channel };
        }
        let says = request.client.as_deref();
        match self.broker.ask(&self.client, About::call(request), says, Some(&reason)).await {
            End::Said(Word::Always, channel) if self.broker.open().always(reason, channel) => {
                Verdict::Remember { channel }
            }
            End::Said(Word::Yes | Word::Always, channel) => Verdict::Once { channel },
            End::Said(Word::No, envelope::Channel::Terminal) => {
                Verdict::Reject { reason: "asked at the terminal".to_owned() }
            }
            End::Said(Word::No, _) => {
                Verdict::Reject { reason: "asked through `tollgate approve`".to_owned() }
            }
            End::StillNo => Verdict::Reject { reason: STILL_NO.to_owned() },
            End::Nobody(why) => Verdict::Nobody { why, way_out: Some(AGAIN) },
        }
    }

    async fn settle_uncertain(&self, call: &UncertainCall) -> UncertainVerdict {
        match self.broker.ask(&self.client, About::uncertain(call), None, None).await {
            End::Said(Word::Yes | Word::Always, _) => UncertainVerdict::Run,
            End::Said(Word::No, _) | End::StillNo | End::Nobody(_) => UncertainVerdict::Leave,
        }
    }
}

impl Approver for ClientApprover {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, Answer> {
        Box::pin(self.confirm_plan(request))
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Verdict> {
        Box::pin(self.approve_call(request))
    }

    fn settle<'a>(&'a self, uncertain: &'a UncertainCall) -> BoxFuture<'a, UncertainVerdict> {
        Box::pin(self.settle_uncertain(uncertain))
    }
}
