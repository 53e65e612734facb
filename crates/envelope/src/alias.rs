//! Tool name aliases that every provider and client accepts.
//!
//! Some refuse dots, some dashes, some names of more than 48 characters, and one refused name can invalidate
//! a whole list of tools. An alias is never parsed to get the name back: that needs a table.

use crate::Hash;

/// Maximum length of an alias that is accepted everywhere, with room for the prefixes that clients add.
pub const MAX_ALIAS_BYTES: usize = 48;
/// 40 bits of a hash of the name: enough to separate tools that were not made to collide; those are refused.
const DIGITS: usize = 10;

/// Returns the alias of a name without a collision.
pub(crate) fn alias(name: &str) -> String {
    let plain = plain(name);
    if plain.len() <= MAX_ALIAS_BYTES { plain } else { distinct_alias(name) }
}

/// Returns the alias of a name whose usual alias belongs to another tool.
pub fn distinct_alias(name: &str) -> String {
    let hash = Hash::of(name.as_bytes()).to_string();
    let digits = hash.rsplit(':').next().unwrap_or_default();
    let mut alias = plain(name);
    alias.truncate(MAX_ALIAS_BYTES - DIGITS - 1);
    alias.push('_');
    alias.extend(digits.chars().take(DIGITS));
    alias
}

/// Replaces every character by one ASCII byte, so that the result can be cut anywhere.
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
