//! What the stages of `cargo xtask test` need beyond cargo, and how each is fetched.
//!
//! A stranger has a Rust toolchain; what else a stage needs is listed here, looked for, and installed
//! when it is missing. Whatever is not needed for the verdict (nextest) is used when present, never asked for.

use anyhow::bail;

use crate::command::Shown;

struct Requirement {
    name: &'static str,
    /// Succeeds when the requirement is there.
    probe: &'static [&'static str],
    /// Fetches it.
    install: &'static [&'static str],
}

const REQUIREMENTS: [Requirement; 3] = [
    Requirement {
        name: "rustfmt",
        probe: &["cargo", "fmt", "--version"],
        install: &["rustup", "component", "add", "rustfmt"],
    },
    Requirement {
        name: "clippy",
        probe: &["cargo", "clippy", "--version"],
        install: &["rustup", "component", "add", "clippy"],
    },
    Requirement {
        // Gives the tests of the prompts a terminal.
        name: "script (of util-linux)",
        probe: &["script", "--version"],
        install: &["apt-get", "install", "-y", "bsdutils"],
    },
];

/// Installs what is missing; fails with the name and the command of what could not be installed.
pub(crate) fn install_missing() -> anyhow::Result<()> {
    for requirement in &REQUIREMENTS {
        if Shown::new(requirement.probe).works() {
            continue;
        }
        let install = Shown::new(requirement.install);
        println!("{} is missing; running `{install}`", requirement.name);
        if !matches!(install.run(), Ok(true)) {
            bail!("{} is missing and `{install}` did not help; install it and try again", requirement.name);
        }
    }
    Ok(())
}

/// Whether cargo-nextest is here: one process a test, and a time for each.
pub(crate) fn has_nextest() -> bool {
    Shown::new(&["cargo", "nextest", "--version"]).works()
}
