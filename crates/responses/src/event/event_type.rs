//! The names of the events that this server sends.

macro_rules! event_types {
    ($($variant:ident $name:literal)*) => {
        /// The type of an event. Its name is both the event's name and the `type` of its payload.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ResponseEventType {
            $($variant,)*
        }

        impl ResponseEventType {
            pub const ALL: &[ResponseEventType] = &[$(ResponseEventType::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(ResponseEventType::$variant => $name,)*
                }
            }
        }
    };
}

event_types! {
    Created "response.created"
    InProgress "response.in_progress"
    Completed "response.completed"
    Incomplete "response.incomplete"
    Failed "response.failed"
    ItemAdded "response.output_item.added"
    ItemDone "response.output_item.done"
    PartAdded "response.content_part.added"
    PartDone "response.content_part.done"
    TextDelta "response.output_text.delta"
    TextDone "response.output_text.done"
    RefusalDelta "response.refusal.delta"
    RefusalDone "response.refusal.done"
    ArgumentsDelta "response.function_call_arguments.delta"
    ArgumentsDone "response.function_call_arguments.done"
    InputDelta "response.custom_tool_call_input.delta"
    InputDone "response.custom_tool_call_input.done"
    SummaryPartAdded "response.reasoning_summary_part.added"
    SummaryPartDone "response.reasoning_summary_part.done"
    SummaryTextDelta "response.reasoning_summary_text.delta"
    SummaryTextDone "response.reasoning_summary_text.done"
    Error "error"
}
