//! What the stages of `cargo xtask test` need beyond cargo, and how each is fetched.
//!
//! A stranger has a Rust toolchain; what else a stage needs is listed here, looked for, and installed
//! when it is missing. Without some of it a part of the tests is skipped, which is said; without the rest there
//! is no verdict. Whatever is not needed for the verdict (nextest) is used when present, never asked for.

use anyhow::bail;

use crate::clients;
use crate::command::Shown;

struct Requirement {
    name: &'static str,
    /// Succeeds when the requirement is there.
    probe: &'static [&'static str],
    /// Fetches it.
    install: &'static [&'static str],
    without: Without,
}

/// What happens when a requirement cannot be had.
enum Without {
    NoVerdict,
    /// These tests say themselves that they are skipped.
    Skipped(&'static str),
}

const REQUIREMENTS: [Requirement; 7] = [
    Requirement {
        name: "rustfmt",
        probe: &["cargo", "fmt", "--version"],
        install: &["rustup", "component", "add", "rustfmt"],
        without: Without::NoVerdict,
    },
    Requirement {
        name: "clippy",
        probe: &["cargo", "clippy", "--version"],
        install: &["rustup", "component", "add", "clippy"],
        without: Without::NoVerdict,
    },
    Requirement {
        // Gives the tests of the prompts a terminal.
        name: "script (of util-linux)",
        probe: &["script", "--version"],
        install: &["apt-get", "install", "-y", "bsdutils"],
        without: Without::NoVerdict,
    },
    Requirement {
        name: "bubblewrap",
        probe: &["bwrap", "--version"],
        install: &["apt-get", "install", "-y", "bubblewrap"],
        without: Without::Skipped("the tests of the best wall around commands"),
    },
    Requirement {
        // Lets single system calls fail, and tells which programs a command starts.
        name: "strace",
        probe: &["strace", "--version"],
        install: &["apt-get", "install", "-y", "strace"],
        without: Without::Skipped(
            "the tests of a disk that fails now and then, and of what a command starts",
        ),
    },
    Requirement {
        name: "npm (of Node.js)",
        probe: &["npm", "--version"],
        install: &["apt-get", "install", "-y", "npm"],
        without: Without::NoVerdict,
    },
    Requirement {
        name: "python3 with venv",
        probe: &["python3", "-c", "import venv, ensurepip"],
        install: &["apt-get", "install", "-y", "python3-venv"],
        without: Without::NoVerdict,
    },
];

/// Installs what is missing; fails with the name and the command of what there is no verdict without.
pub(crate) fn install_missing() -> anyhow::Result<()> {
    for requirement in &REQUIREMENTS {
        if Shown::new(requirement.probe).works() {
            continue;
        }
        let install = Shown::new(requirement.install);
        println!("{} is missing; running `{install}`", requirement.name);
        if matches!(install.run(), Ok(true)) {
            continue;
        }
        let name = requirement.name;
        match requirement.without {
            Without::NoVerdict => {
                bail!("{name} is missing and `{install}` did not help; install it and try again")
            }
            Without::Skipped(tests) => println!("{name} is missing and stays so; skipped: {tests}"),
        }
    }
    clients::install()
}

/// Whether cargo-nextest is here: one process a test, and a time for each.
pub(crate) fn has_nextest() -> bool {
    Shown::new(&["cargo", "nextest", "--version"]).works()
}
