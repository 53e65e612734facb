//! The command's environment on its way through the launcher.
//!
//! A call may name variables, and some of them are orders to whatever program starts next (`LD_PRELOAD`).
//! Bubblewrap and the launcher still stand outside the wall when they start, so they must not get these
//! names: each variable travels as the value of a numbered one and is unpacked by the last step.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What the names of the packed variables begin with.
const PREFIX: &str = "TOLLGATE_LAUNCH_";

/// One harmless variable for each of the command's.
pub(super) fn packed(env: &[(OsString, OsString)]) -> impl Iterator<Item = (String, OsString)> {
    env.iter().enumerate().map(|(index, (name, value))| {
        let mut both = name.clone();
        both.push("=");
        both.push(value);
        (format!("{PREFIX}{index}"), both)
    })
}

/// The command's variables, in their order, out of the launcher's own environment.
pub(super) fn unpacked(own: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
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

    use super::{packed, unpacked};

    proptest! {
        #[test]
        fn what_is_packed_comes_out_as_it_was(env in proptest::collection::vec(("[A-Z_]{1,8}", any::<String>()), 0..20)) {
            let env: Vec<(OsString, OsString)> =
                env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
            let own: Vec<(OsString, OsString)> =
                packed(&env).map(|(name, both)| (name.into(), both)).rev_sorted();
            proptest::prop_assert_eq!(unpacked(own.into_iter()), env);
        }
    }

    /// The order of an environment is nobody's promise.
    trait Reversed {
        fn rev_sorted(self) -> Vec<(OsString, OsString)>;
    }

    impl<I: Iterator<Item = (OsString, OsString)>> Reversed for I {
        fn rev_sorted(self) -> Vec<(OsString, OsString)> {
            let mut all: Vec<_> = self.collect();
            all.reverse();
            all
        }
    }
}
