//! Tool calls in a model's text: `<tool_call>{...}</tool_call>`, found as the text arrives.
//!
//! [`Scanner`] takes the text in whatever pieces it comes and hands on, in order, plain text, calls, and blocks
//! that are no calls. [`Judge`] stands on top of it and decides by the tools of the request: a call, text for the
//! reader, or a failure. Both are pure: no I/O, no clock, no task. One pass, linear in the text whatever it
//! holds, exact under any split. Not here on purpose: `tool_choice`, ids and events, which need the whole answer.
//!
//! # The rules
//!
//! **Where a block begins.** `<tool_call>`, then JSON white space, then `{` (or `[` and `{`, see repair).
//! Whatever else follows, the tag is plain text, and reading goes on right behind it. Only what may still become
//! a tag is held back.
//!
//! **Where it ends.** The object is read as JSON, so a close tag inside a string ends nothing. Behind the object
//! stand white space and `</tool_call>`. Once the JSON is broken, nothing can be said about its strings any
//! more: then the block ends at the *first* `</tool_call>` behind its open tag, and reading goes on behind that.
//! A good block behind a broken one is found.
//!
//! **No close tag at all.** At the limit of a block (1 MiB) its open tag is rejected alone, and reading goes on
//! right behind the tag. At the end of the text the whole rest is rejected: without a close tag there is no call
//! in it. A call is never made from a block that was cut.
//!
//! **Quoted blocks** are text: inside a fenced code block (three or more `` ` `` or `~` at the start of a line,
//! behind at most three spaces, up to a line with at least as many of them and nothing else), or inside a code
//! span that began on the same line. A model that shows a call does not make it. What stands inside a block says
//! nothing about fences and spans outside of it.
//!
//! **Members.** `name` is text and, byte for byte, the name of a tool. `arguments` is text that holds a JSON
//! object; empty text means `{}`; an object instead of a text is taken as it is written, and counted. Any order.
//! A key twice is a fault, in the block and at any depth of the arguments. More than 16 members are a fault. `id`
//! and `type` are ignored. Another member is ignored when the tool is not strict, a fault when it is. No
//! `arguments` means `{}`, unless there is such another member: then they were probably given under another name.
//! Half of a surrogate pair is a fault.
//!
//! **Repair**, for tools that are not strict, counted: commas before a closing bracket, line breaks and tabs
//! inside a string, an array of one around the object, one closing bracket too many; in the block and in the
//! text of `arguments` alike. A bracket is dropped only when it is clear which one is too many: not after a
//! bracket of its kind closed a value in front of a comma, in a parent of the same kind. No quote is ever
//! guessed, nothing that was cut is ever completed.
//!
//! **Strict.** What is no call and names a strict tool is a failure, and nothing is repaired. A name that is
//! unknown is a failure when every tool is strict. A block whose name cannot be read is one when any tool is.
//! Otherwise it is text, complete.
//!
//! # Cases
//!
//! `T` stands for `<tool_call>`, `/T` for `</tool_call>`, `f` is a tool.
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
//! | `` `T{"name":"f"}/T` `` and fenced blocks | text, counted | the same |

mod arguments;
mod block;
mod close_tag;
mod fault;
mod held;
mod json;
mod judge;
mod piece;
mod quotes;
mod scanner;
mod short;
mod tool_names;
mod unique_keys;

pub use self::fault::BlockFault;
pub use self::json::Misstep;
pub use self::judge::{CheckArguments, Counts, Judge, StrictFailure, Verdict};
pub use self::piece::{FoundCall, Piece, Rejected};
pub use self::scanner::{DEFAULT_LIMIT, Scanner};
pub use self::tool_names::ToolNames;
