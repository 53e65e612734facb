//! URIs of recorded runs, calls and artifacts.

/// Prefix of every URI.
pub(super) const SCHEME: &str = "tollgate://runs/";
const CALLS: &str = "calls/";
const ARTIFACTS: &str = "artifacts/";

/// Parsed URI of a resource. Every part is one plain name, so a URI cannot lead out of the runs folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum ResourceAddress<'a> {
    Run(&'a str),
    Call {
        run: &'a str,
        call: &'a str,
    },
    Artifact {
        run: &'a str,
        /// Relative to the folder of the run.
        path: &'a str,
    },
}

impl<'a> ResourceAddress<'a> {
    pub(in super::super) fn parse(uri: &'a str) -> Option<ResourceAddress<'a>> {
        let rest = uri.strip_prefix(SCHEME)?;
        let Some((run, path)) = rest.split_once('/') else {
            return is_plain(rest).then_some(ResourceAddress::Run(rest));
        };
        if !is_plain(run) {
            return None;
        }
        if let Some(call) = path.strip_prefix(CALLS) {
            return is_plain(call).then_some(ResourceAddress::Call { run, call });
        }
        let name = path.strip_prefix(ARTIFACTS)?;
        is_plain(name).then_some(ResourceAddress::Artifact { run, path })
    }

    pub(in super::super) fn run(&self) -> &'a str {
        match self {
            ResourceAddress::Run(run)
            | ResourceAddress::Call { run, .. }
            | ResourceAddress::Artifact { run, .. } => run,
        }
    }

    pub(super) fn run_uri(run: &str) -> String {
        format!("{SCHEME}{run}")
    }

    pub(super) fn call_uri(run: &str, call: &str) -> String {
        format!("{SCHEME}{run}/{CALLS}{call}")
    }

    /// Returns the URI of an artifact; `path` is relative to the folder of the run, as in results.
    pub(in super::super) fn artifact_uri(run: &str, path: &str) -> String {
        format!("{SCHEME}{run}/{path}")
    }
}

/// Returns true for a name that is safe in a path, a URI and a list.
pub(super) fn is_plain(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && name.len() <= 255 && name.bytes().all(is_word) && !name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::ResourceAddress;

    #[test]
    fn an_address_leads_to_a_run_a_call_or_an_artifact_and_nowhere_else() {
        let run = "0191-a_B";
        assert_eq!(ResourceAddress::parse("tollgate://runs/0191-a_B"), Some(ResourceAddress::Run(run)));
        let call = ResourceAddress::Call { run, call: "c-1" };
        assert_eq!(ResourceAddress::parse("tollgate://runs/0191-a_B/calls/c-1"), Some(call));
        let artifact = ResourceAddress::Artifact { run, path: "artifacts/call-1-stdout.log" };
        assert_eq!(
            ResourceAddress::parse("tollgate://runs/0191-a_B/artifacts/call-1-stdout.log"),
            Some(artifact)
        );
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
            assert_eq!(ResourceAddress::parse(uri), None, "{uri}");
        }
    }
}
