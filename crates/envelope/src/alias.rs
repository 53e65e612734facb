//! The spelling of a tool's name that every provider and client takes.
//!
//! Some refuse dots, some dashes, some names of more than 48 characters, and one name that is refused can cost a whole
//! list of tools. A spelling is never taken apart to find the name again: whoever needs that has a table.

use crate::Hash;

/// The longest spelling that is taken everywhere, with the room that clients need for a prefix of theirs.
pub const MAX_ALIAS_BYTES: usize = 48;
/// 40 bits of the name: enough to keep tools apart that were not made to clash, and those are refused.
const DIGITS: usize = 10;

/// The spelling of a name where nothing clashes with it.
pub(crate) fn alias(name: &str) -> String {
    let plain = plain(name);
    if plain.len() <= MAX_ALIAS_BYTES { plain } else { distinct_alias(name) }
}

/// The spelling of a name whose usual one is another tool's already.
pub fn distinct_alias(name: &str) -> String {
    let hash = Hash::of(name.as_bytes()).to_string();
    let digits = hash.rsplit(':').next().unwrap_or_default();
    let mut alias = plain(name);
    alias.truncate(MAX_ALIAS_BYTES - DIGITS - 1);
    alias.push('_');
    alias.extend(digits.chars().take(DIGITS));
    alias
}

/// One byte for every character, so that it can be cut anywhere.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{MAX_ALIAS_BYTES, alias, distinct_alias};

    #[test]
    fn a_short_name_only_loses_what_is_refused() {
        assert_eq!(alias("vault.createFile"), "vault_createFile");
        assert_eq!(alias("mcp.file-system.read_file"), "mcp_file_system_read_file");
        assert_eq!(distinct_alias("mcp.a.b"), format!("mcp_a_b_{}", &distinct_alias("mcp.a.b")[8..]));
        assert_ne!(distinct_alias("mcp.a.b"), distinct_alias("mcp.a-b"));
    }

    proptest! {
        #[test]
        fn every_spelling_is_taken_everywhere(name in any::<String>()) {
            for spelled in [alias(&name), distinct_alias(&name)] {
                assert!(spelled.len() <= MAX_ALIAS_BYTES, "{spelled}");
                assert!(spelled.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{spelled}");
            }
        }

        #[test]
        fn long_names_that_begin_alike_are_told_apart(tail in "[a-z]{1,8}", other in "[a-z]{1,8}") {
            let long = |tail: &str| format!("mcp.server.{}{tail}", "x".repeat(60));
            assert_eq!(alias(&long(&tail)) == alias(&long(&other)), tail == other);
        }
    }
}
