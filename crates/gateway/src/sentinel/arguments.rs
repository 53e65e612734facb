//! From what a block gives as `arguments` to the text of a JSON object.

use super::fault::BlockFault;
use super::json::{Cursor, Misstep, Progress, mended};

/// What a call gets that gives nothing.
pub(super) const NONE: &str = "{}";

/// The object that a text holds, and what had to be mended.
///
/// The text is returned as it is, white space included, unless it had to be mended.
pub(super) fn from_text(
    text: String,
    cursor: &mut Cursor,
) -> Result<(String, Option<&'static str>), BlockFault> {
    if text.is_empty() {
        return Ok((NONE.to_owned(), None));
    }
    cursor.restart();
    let misstep = match cursor.read(text.as_bytes()) {
        Progress::More if cursor.is_complete() => {
            let repairs = cursor.repairs();
            let Some(what) = repairs.what() else { return Ok((text, None)) };
            return Ok((mended(&text[cursor.object()], repairs.stray_in(&cursor.object())), Some(what)));
        }
        Progress::More => Misstep { at: text.len(), what: "it ends too early" },
        Progress::Closed => Misstep { at: cursor.at(), what: "a tag stands behind the object" },
        Progress::Broken(misstep) => misstep,
    };
    Err(if cursor.has_begun() {
        BlockFault::ArgumentsMalformed(misstep)
    } else {
        BlockFault::ArgumentsNotAnObject
    })
}
