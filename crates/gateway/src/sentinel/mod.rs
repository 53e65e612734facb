//! Tool calls in a model's text: `<tool_call>{...}</tool_call>`, found as the text arrives.
