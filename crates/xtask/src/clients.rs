//! Installs the programs that the tests of the servers run as clients, from npm and PyPI.
//!
//! They are released packages, unmodified, at the versions in the lists beside the scripts. They are installed into
//! `target/clients` once, and again if a list, the Python version or the path of the workspace has changed.

use std::os::unix::fs::symlink;

use anyhow::{Context, bail};

use crate::command::{ToolCommand, remove, root, timed, write};

/// The scripts that use the clients, beside the lists of their packages.
const SCRIPTS: &str = "crates/tollgate/tests/clients";
const LISTS: [&str; 3] = ["package.json", "package-lock.json", "requirements.txt"];

const INSTALLED: &str = "target/clients";
/// The lists at the time of the installation. The file exists only if everything is installed.
const STAMP: &str = "target/clients/installed.txt";

/// Installs the clients unless the installed ones match the lists.
pub(crate) fn install() -> anyhow::Result<()> {
    let wanted = wanted()?;
    if std::fs::read_to_string(root().join(STAMP)).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    println!("installing the clients of {SCRIPTS} into {INSTALLED} (about 1 GB)");
    let (done, took) = timed(|| install_all(&wanted));
    done.context(
        "the clients could not be installed; see what npm or pip say above, and whether they reach their \
         registries. `cargo nextest run` runs all tests but those that need them",
    )?;
    println!("    installed in {:.1} s", took.as_secs_f64());
    Ok(())
}

/// Everything that decides what is installed.
fn wanted() -> anyhow::Result<String> {
    // A Python virtual environment works only at its path and for its version.
    let mut wanted = format!("{}\n{}", root().display(), ToolCommand::new(&["python3", "--version"]).read()?);
    for list in LISTS {
        let path = root().join(SCRIPTS).join(list);
        wanted +=
            &std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    }
    Ok(wanted)
}

fn install_all(wanted: &str) -> anyhow::Result<()> {
    let folder = root().join(INSTALLED);
    remove(&folder)?;
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for list in LISTS {
        std::fs::copy(root().join(SCRIPTS).join(list), folder.join(list))
            .with_context(|| format!("cannot copy {list}"))?;
    }
    // Node looks for packages beside the scripts.
    symlink(root().join(SCRIPTS), folder.join("scripts")).context("cannot link to the scripts")?;
    std::thread::scope(|scope| {
        let npm = scope.spawn(from_npm);
        let pypi = from_pypi();
        npm.join().unwrap_or_else(|_| bail!("installing from npm broke off")).and(pypi)
    })?;
    write(STAMP, wanted)
}

fn from_npm() -> anyhow::Result<()> {
    // No package needs its install script.
    let quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"];
    run(&ToolCommand::new(&[&["npm", "ci", "--prefix", INSTALLED], quiet.as_slice()].concat()))
}

fn from_pypi() -> anyhow::Result<()> {
    let [pip, list] = ["python/bin/pip", "requirements.txt"].map(|path| format!("{INSTALLED}/{path}"));
    run(&ToolCommand::new(&["python3", "-m", "venv", &format!("{INSTALLED}/python")]))?;
    run(&ToolCommand::new(&[
        &pip,
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--requirement",
        &list,
    ]))
}

fn run(command: &ToolCommand) -> anyhow::Result<()> {
    if !command.run()? {
        bail!("`{command}` failed");
    }
    Ok(())
}
