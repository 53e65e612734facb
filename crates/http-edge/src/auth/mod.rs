//! Client authentication: bearer tokens, the files that hold them, and the client that each token identifies.

mod client_file;
mod client_tokens;
mod private_file;
mod token;
mod token_file;

pub use self::client_file::{ClientFile, ClientRecord};
pub use self::client_tokens::{Admission, ClientTokens};
pub use self::token::Token;
pub use self::token_file::TokenError;
