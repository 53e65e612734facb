//! Parses the `arguments` of a block into the text of a JSON object.

use super::fault::BlockFault;
use super::json::{JsonError, JsonTokenizer, TokenizerProgress, repaired};

/// The arguments of a call that has none.
pub(super) const NONE: &str = "{}";

/// Returns the JSON object in a text, and a description of the repair if one was needed. Fails if the text does not
/// hold one object.
///
/// The text is returned unchanged, white space included, unless it was repaired.
pub(super) fn parse_arguments(
    text: String,
    tokenizer: &mut JsonTokenizer,
) -> Result<(String, Option<&'static str>), BlockFault> {
    if text.is_empty() {
        return Ok((NONE.to_owned(), None));
    }
    tokenizer.restart();
    let error = match tokenizer.read(text.as_bytes()) {
        TokenizerProgress::More if tokenizer.is_complete() => {
            let repairs = tokenizer.repairs();
            let Some(what) = repairs.description() else { return Ok((text, None)) };
            return Ok((
                repaired(&text[tokenizer.object()], repairs.stray_in(&tokenizer.object())),
                Some(what),
            ));
        }
        TokenizerProgress::More => JsonError { at: text.len(), what: "it ends too early" },
        TokenizerProgress::Closed => JsonError { at: tokenizer.at(), what: "a tag follows the object" },
        TokenizerProgress::Broken(error) => error,
    };
    Err(if tokenizer.has_begun() {
        BlockFault::ArgumentsMalformed(error)
    } else {
        BlockFault::ArgumentsNotAnObject
    })
}
