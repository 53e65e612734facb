//! Instructions for the model, sent before its first call.

/// Short on purpose: every client puts it in front of every conversation.
pub(super) const INSTRUCTIONS: &str = "\
Tollgate runs tool calls on a vault of Markdown notes: every call is checked, approved where the settings \
require it, recorded, and can be undone.\n\
- Read freely. For one change, call its tool; the user may be asked to approve it.\n\
- For several changes, write a plan and use plan_preview, then plan_run with its previewId: the user sees all diffs and \
approves once. A plan is JSON: {\"version\":\"1.0\",\"goal\":…,\"riskLevel\":\"read-only\"|\"writes\"|\"commands\",\"steps\":\
[{\"id\":…,\"tool\":…,\"args\":{…}}]}. A string that is wholly $steps.<id>.<field> takes that field of an earlier \
step's output.\n\
- A result is a receipt: short, with the outcome first. When it says that something was cut, it names the call that \
gives the rest. Tools are named with a dot there and in plans: artifact.read is the tool artifact_read.\n\
- Every tool also takes `note`, a remark for the user, and `requestId`, your own id of the call; both are recorded.\n\
- A failed call says what to do instead. Do not repeat a call that the user declined; ask them what they want.\n\
- When a call waits for `tollgate approve`, tell the user so, and make the same call again afterwards.";
