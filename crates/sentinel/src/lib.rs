//! Tool calls in a model's text: `<tool_call>{...}</tool_call>`, found while the text arrives.
//!
//! [`Scanner`] takes the text in chunks of any size and emits, in order, plain text, calls, and blocks that are not calls.
//! [`AnswerParser`] uses it and decides by the tools of the request: a call, text for the reader, or a failure. Both are
//! pure: no I/O, no clock, no task. One pass, linear in the text whatever it contains, with the same result for every
//! split. Deliberately omitted: `tool_choice`, ids and events, which need the whole answer.
//!
//! # The rules
//!
//! **Start of a block.** `<tool_call>`, then JSON white space, then `{` (or `[` or a code fence and `{`, see repair). If
//! anything else follows, and within 1 KiB `</tool_call>` without another open tag between, the block has a fault;
//! otherwise the tag is plain text, and scanning continues after it. Only text that may become a tag or a block is buffered.
//!
//! **End of a block.** The object is parsed as JSON, so a close tag inside a string ends nothing. After the object come
//! white space and `</tool_call>`. Once the JSON is malformed, its strings are unknown: the block then ends at the *first*
//! `</tool_call>` after its open tag, and scanning continues there. A good block after a malformed one is found.
//!
//! **Missing close tag.** At the limit of a block (1 MiB) its open tag alone is rejected, and scanning continues after the
//! tag. At the end of the text the whole rest is rejected: without a close tag it contains no call. A block that was cut
//! off never makes a call.
//!
//! **Quoted blocks** are text: inside a fenced code block (three or more `` ` `` or `~` at the start of a line, after at
//! most three spaces, up to a line with at least as many of them and nothing else), or inside a code span that started on
//! the same line. A model that shows a call does not make it. The content of a block does not affect the fences and spans
//! outside of it. A stray backtick is no span: a block without a fault counts if its line ends without the backticks that
//! would close the span (once a line). A fence that is never closed hides no calls at the end of the text: blocks without a
//! fault count if nothing but white space follows them.
//!
//! **Members.** `name` is a string and exactly the name of a tool, or another name of it that belongs to no other tool. `arguments` is a string with a JSON object; the empty
//! string means `{}`; an object instead of a string is accepted as written, and counted. Any order. A duplicate key is a
//! fault, in the block and at any depth of the arguments. More than 16 members are a fault. `id` and `type` are ignored.
//! Another member is ignored if the tool is not strict, and a fault if it is. Missing `arguments` mean `{}`, unless there
//! is such another member: the arguments probably have another name then. Half of a surrogate pair is a fault.
//!
//! **Repair**, counted, for tools that are not strict: commas before a closing bracket, line breaks and tabs inside a
//! string, an array of one around the object, one surplus closing bracket; in the block and in the text of `arguments`; and
//! for every tool a code fence inside the tags, around the object. A
//! bracket is dropped only if it is clear which one is surplus: not after a bracket of its kind closed a value before a
//! comma, in a parent of the same kind. Quotes are never guessed, and a block that was cut off is never completed.
//!
//! **Strict.** A block that is not a call and names a strict tool is a failure, and nothing in its JSON is repaired. An unknown name
//! is a failure if every tool is strict. A block without a readable name is a failure if any tool is strict. Otherwise
//! the block is text, complete.
//!
//! # Cases
//!
//! `T` is `<tool_call>`, `/T` is `</tool_call>`, `f` is a tool.
//!
//! | text of the model | not strict | strict |
//! |---|---|---|
//! | `T{"name":"f","arguments":"{\"a\":1}"}/T` | call | call |
//! | `T{"arguments":{"a":1},"name":"f"}/T` | call | call |
//! | `T{"name":"f"}/T`, `T{"name":"f","arguments":""}/T` | call with `{}` | the same |
//! | `T{"name":"f","arguments":"{\"a\":\"/T\"}"}/T` | call, the inner tag is argument text | the same |
//! | `T{"name":"f","arguments":"{\"a\":1,}"}/T` | call, repaired | failure |
//! | `T[{"name":"f"}]/T`, `T{"name":"f"}}/T` | call, repaired | failure |
//! | `T{"name":"f","arguments":{"a":{"b":1}},"c":2}}/T` | text: two brackets could be the one too many | failure |
//! | `T{"name":"f","id":"1"}/T` | call | call |
//! | `T{"name":"f","arguments":"","why":"x"}/T` | call | failure |
//! | `T{"name":"f","parameters":{}}/T` | text | failure |
//! | `T{"name":"f","name":"f"}/T` | text | failure |
//! | `T{"name":"g"}/T` | text | failure if all tools are strict |
//! | `T{"name":"f","arguments":"{\"a\":1}}/T T{"name":"f"}/T` | text, then a call | failure, then a call |
//! | `T{"name":"f","argu` and the end | text | failure |
//! | `T` in prose, `TT{"name":"f"}/T` | text; text and a call | the same |
//! | `T read x /T` | text | failure |
//! | ```` T```json\n{"name":"f"}\n```/T ```` | call, repaired | the same |
//! | `` `T{"name":"f"}/T` `` and fenced blocks | text, counted | the same |
//! | `` a ` T{"name":"f"}/T ``, and no more backticks on the line | call | the same |
//! | ```` ```\nx\nT{"name":"f"}/T ````, and the end | call | the same |

mod arguments;
mod call_block;
mod close_tag;
mod fault;
mod buffer;
mod json;
mod answer_parser;
mod text_segment;
mod quote_tracker;
mod quoted_block;
mod scanner;
mod short_text;
mod think_splitter;
mod tool_names;
mod unique_keys;

pub use self::answer_parser::{AnswerParser, CheckArguments, ParserCounts, ParserVerdict, StrictFailure};
pub use self::fault::BlockFault;
pub use self::json::JsonError;
pub use self::scanner::{DEFAULT_LIMIT, Scanner};
pub use self::text_segment::{FoundCall, RejectedBlock, TextSegment};
pub use self::think_splitter::{ThinkSegment, ThinkSplitter};
pub use self::tool_names::ToolNames;
