//! Paths in messages about open notes: a host names a file as it is on disk, such as `a:b.md`, and knows no escapes.

use envelope::VaultPath;
use serde::{Deserialize as _, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(path: &VaultPath, into: S) -> Result<S::Ok, S::Error> {
    into.serialize_str(&path.readable())
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<VaultPath, D::Error> {
    let text = String::deserialize(from)?;
    VaultPath::from_readable(&text).map_err(serde::de::Error::custom)
}

/// The same for a set of paths.
pub(crate) mod set {
    use std::collections::BTreeSet;

    use envelope::VaultPath;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(paths: &BTreeSet<VaultPath>, into: S) -> Result<S::Ok, S::Error> {
        into.collect_seq(paths.iter().map(VaultPath::readable))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeSet<VaultPath>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let paths = texts.iter().map(|text| VaultPath::from_readable(text));
        paths.collect::<Result<_, _>>().map_err(serde::de::Error::custom)
    }
}
