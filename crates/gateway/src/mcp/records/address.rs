//! The address of something on record, as clients write it.

/// What every address begins with.
pub(super) const SCHEME: &str = "tollgate://runs/";
const CALLS: &str = "calls/";
const ARTIFACTS: &str = "artifacts/";

/// Where a resource is. Every part is one plain name: an address leads nowhere but into the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Address<'a> {
    Run(&'a str),
    Call {
        run: &'a str,
        call: &'a str,
    },
    Artifact {
        run: &'a str,
        /// Seen from the folder of the run.
        path: &'a str,
    },
}

impl<'a> Address<'a> {
    pub(in super::super) fn parse(uri: &'a str) -> Option<Address<'a>> {
        let rest = uri.strip_prefix(SCHEME)?;
        let Some((run, path)) = rest.split_once('/') else {
            return is_plain(rest).then_some(Address::Run(rest));
        };
        if !is_plain(run) {
            return None;
        }
        if let Some(call) = path.strip_prefix(CALLS) {
            return is_plain(call).then_some(Address::Call { run, call });
        }
        let name = path.strip_prefix(ARTIFACTS)?;
        is_plain(name).then_some(Address::Artifact { run, path })
    }

    pub(in super::super) fn run(&self) -> &'a str {
        match self {
            Address::Run(run) | Address::Call { run, .. } | Address::Artifact { run, .. } => run,
        }
    }

    pub(super) fn run_uri(run: &str) -> String {
        format!("{SCHEME}{run}")
    }

    pub(super) fn call_uri(run: &str, call: &str) -> String {
        format!("{SCHEME}{run}/{CALLS}{call}")
    }

    /// `path` as results have it, seen from the folder of the run.
    pub(in super::super) fn artifact_uri(run: &str, path: &str) -> String {
        format!("{SCHEME}{run}/{path}")
    }
}

/// A name that is a name wherever it stands: in a path, in an address, in a list.
pub(super) fn is_plain(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && name.len() <= 255 && name.bytes().all(is_word) && !name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn an_address_leads_to_a_run_a_call_or_an_artifact_and_nowhere_else() {
        let run = "0191-a_B";
        assert_eq!(Address::parse("tollgate://runs/0191-a_B"), Some(Address::Run(run)));
        let call = Address::Call { run, call: "c-1" };
        assert_eq!(Address::parse("tollgate://runs/0191-a_B/calls/c-1"), Some(call));
        let artifact = Address::Artifact { run, path: "artifacts/call-1-stdout.log" };
        assert_eq!(Address::parse("tollgate://runs/0191-a_B/artifacts/call-1-stdout.log"), Some(artifact));
        for uri in [
            "",
            "tollgate://runs/",
            "tollgate://runs",
            "tollgate://runs/..",
            "tollgate://runs/../secret",
            "tollgate://runs/a/",
            "tollgate://runs/a/run.json",
            "tollgate://runs/a/calls/",
            "tollgate://runs/a/calls/b/c",
            "tollgate://runs/a/artifacts",
            "tollgate://runs/a/artifacts/",
            "tollgate://runs/a/artifacts/..",
            "tollgate://runs/a/artifacts/../run.json",
            "tollgate://runs/a/artifacts/.hidden",
            "tollgate://runs/a/artifacts/b/c",
            "tollgate://runs/a/artifacts/%2e%2e",
            "tollgate://runs/a/artifacts/b\0",
            "tollgate://runs//etc/passwd",
            "TOLLGATE://runs/a",
            "file:///etc/passwd",
        ] {
            assert_eq!(Address::parse(uri), None, "{uri}");
        }
    }
}
