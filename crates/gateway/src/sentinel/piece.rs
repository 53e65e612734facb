//! What the scanner hands on.

use super::fault::BlockFault;

/// A stretch of the model's text. The stretches in order are the text: nothing is lost, nothing comes twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Plain text, as much of it as was there.
    Text(&'a str),
    Call {
        /// The block as the model wrote it, both tags included.
        raw: &'a str,
        call: FoundCall,
    },
    Rejected(Rejected<'a>),
}

/// A call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundCall {
    /// A name that is known to be a tool.
    pub name: String,
    /// A JSON object, in the model's own spelling unless it was repaired.
    pub arguments: String,
    /// Whether something had to be mended, in the block or in its arguments.
    pub repaired: bool,
    /// Whether the arguments were an object where a text belongs.
    pub as_object: bool,
}

/// A block that is no call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected<'a> {
    /// The block as the model wrote it.
    pub raw: &'a str,
    pub why: BlockFault,
    /// Its name, as far as one could be read.
    pub name: Option<String>,
}

impl<'a> Piece<'a> {
    /// The text that this piece stands for.
    pub fn raw(&self) -> &'a str {
        match self {
            Piece::Text(raw) | Piece::Call { raw, .. } | Piece::Rejected(Rejected { raw, .. }) => raw,
        }
    }
}
