//! The output of the scanner.

use super::fault::BlockFault;

/// A segment of the model's text. The segments in order are the whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextSegment<'a> {
    /// Plain text.
    Text(&'a str),
    Call {
        /// The block as the model wrote it, both tags included.
        raw: &'a str,
        call: FoundCall,
    },
    Rejected(RejectedBlock<'a>),
}

/// A call in a model's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundCall {
    /// The name of a known tool.
    pub name: String,
    /// A JSON object, as the model wrote it unless it was repaired.
    pub arguments: String,
    /// Whether the block or its arguments were repaired.
    pub repaired: bool,
    /// Whether the arguments were an object instead of a string.
    pub as_object: bool,
}

/// A block that is not a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedBlock<'a> {
    /// The block as the model wrote it.
    pub raw: &'a str,
    pub fault: BlockFault,
    /// Its name, if one could be read.
    pub name: Option<String>,
}

impl<'a> TextSegment<'a> {
    /// Returns the text of the segment.
    pub fn raw_text(&self) -> &'a str {
        match self {
            TextSegment::Text(raw)
            | TextSegment::Call { raw, .. }
            | TextSegment::Rejected(RejectedBlock { raw, .. }) => raw,
        }
    }
}
