//! The command's environment on its way through the launcher.
//!
//! A call can set variables, and some of them control the next program that starts (`LD_PRELOAD`). Bubblewrap and the
//! launcher start outside of the sandbox, so they must not get these names: each variable is passed as the value of a
//! numbered one, and the last step unpacks it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Prefix of the names of packed variables.
const PREFIX: &str = "TOLLGATE_LAUNCH_";

/// Returns one harmless variable for each variable of the command.
pub(super) fn pack_environment(env: &[(OsString, OsString)]) -> impl Iterator<Item = (String, OsString)> {
    env.iter().enumerate().map(|(index, (name, value))| {
        let mut both = name.clone();
        both.push("=");
        both.push(value);
        (format!("{PREFIX}{index}"), both)
    })
}

/// Returns the command's variables, in their order, from the launcher's own environment.
pub(super) fn unpack_environment(
    own: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let mut numbered: Vec<(usize, OsString)> =
        own.filter_map(|(name, both)| Some((number(&name)?, both))).collect();
    numbered.sort_by_key(|(number, _)| *number);
    numbered.into_iter().filter_map(|(_, both)| split(&both)).collect()
}

fn number(name: &OsStr) -> Option<usize> {
    name.to_str()?.strip_prefix(PREFIX)?.parse().ok()
}

fn split(both: &OsStr) -> Option<(OsString, OsString)> {
    let bytes = both.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=')?;
    let (name, value) = (bytes.get(..at)?, bytes.get(at + 1..)?);
    Some((OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use proptest::prelude::{any, proptest};

    use super::{pack_environment, unpack_environment};

    proptest! {
        #[test]
        fn what_is_packed_comes_out_as_it_was(env in proptest::collection::vec(("[A-Z_]{1,8}", any::<String>()), 0..20)) {
            let env: Vec<(OsString, OsString)> =
                env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
            let own: Vec<(OsString, OsString)> =
                pack_environment(&env).map(|(name, both)| (name.into(), both)).rev_sorted();
            proptest::prop_assert_eq!(unpack_environment(own.into_iter()), env);
        }
    }

    /// An environment has no guaranteed order.
    trait ReverseOrder {
        fn rev_sorted(self) -> Vec<(OsString, OsString)>;
    }

    impl<I: Iterator<Item = (OsString, OsString)>> ReverseOrder for I {
        fn rev_sorted(self) -> Vec<(OsString, OsString)> {
            let mut all: Vec<_> = self.collect();
            all.reverse();
            all
        }
    }
}
