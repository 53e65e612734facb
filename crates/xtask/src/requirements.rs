//! The programs that `cargo xtask test` needs beside cargo, and how each is installed.
//!
//! Only a Rust toolchain is assumed; everything else a stage needs is listed here, looked for, and installed if it is
//! missing. Without some programs a part of the tests is skipped, and that is printed; without the others the command
//! fails. nextest is used if it is present and never required.

use anyhow::bail;

use crate::clients;
use crate::command::ToolCommand;

struct DevRequirement {
    name: &'static str,
    /// Succeeds if the program is installed.
    probe: &'static [&'static str],
    /// Installs the program.
    install: &'static [&'static str],
    without: MissingEffect,
}

/// The effect of a program that cannot be installed.
enum MissingEffect {
    NoVerdict,
    /// These tests are skipped, and print that.
    Skipped(&'static str),
}

const REQUIREMENTS: [DevRequirement; 7] = [
    DevRequirement {
        name: "rustfmt",
        probe: &["cargo", "fmt", "--version"],
        install: &["rustup", "component", "add", "rustfmt"],
        without: MissingEffect::NoVerdict,
    },
    DevRequirement {
        name: "clippy",
        probe: &["cargo", "clippy", "--version"],
        install: &["rustup", "component", "add", "clippy"],
        without: MissingEffect::NoVerdict,
    },
    DevRequirement {
        // Gives the tests of prompts a terminal.
        name: "script (of util-linux)",
        probe: &["script", "--version"],
        install: &["apt-get", "install", "-y", "bsdutils"],
        without: MissingEffect::NoVerdict,
    },
    DevRequirement {
        name: "bubblewrap",
        probe: &["bwrap", "--version"],
        install: &["apt-get", "install", "-y", "bubblewrap"],
        without: MissingEffect::Skipped("the tests of the bubblewrap sandbox"),
    },
    DevRequirement {
        // Lets single system calls fail, and traces which programs a command starts.
        name: "strace",
        probe: &["strace", "--version"],
        install: &["apt-get", "install", "-y", "strace"],
        without: MissingEffect::Skipped(
            "the tests of a failing disk, and of the programs that a command starts",
        ),
    },
    DevRequirement {
        name: "npm (of Node.js)",
        probe: &["npm", "--version"],
        install: &["apt-get", "install", "-y", "npm"],
        without: MissingEffect::NoVerdict,
    },
    DevRequirement {
        name: "python3 with venv",
        probe: &["python3", "-c", "import venv, ensurepip"],
        install: &["apt-get", "install", "-y", "python3-venv"],
        without: MissingEffect::NoVerdict,
    },
];

/// Installs the missing programs. Returns an error with name and command for one that is required and cannot be
/// installed.
pub(crate) fn install_missing() -> anyhow::Result<()> {
    for requirement in &REQUIREMENTS {
        if ToolCommand::new(requirement.probe).works() {
            continue;
        }
        let install = ToolCommand::new(requirement.install);
        println!("{} is missing; running `{install}`", requirement.name);
        if matches!(install.run(), Ok(true)) {
            continue;
        }
        let name = requirement.name;
        match requirement.without {
            MissingEffect::NoVerdict => {
                bail!("{name} is missing and `{install}` did not help; install it and try again")
            }
            MissingEffect::Skipped(tests) => {
                println!("{name} is missing and could not be installed; skipped: {tests}");
            }
        }
    }
    clients::install()
}

/// Returns whether cargo-nextest is installed: it runs each test in a process and measures its time.
pub(crate) fn has_nextest() -> bool {
    ToolCommand::new(&["cargo", "nextest", "--version"]).works()
}
