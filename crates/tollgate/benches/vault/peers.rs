//! Installs the programs to compare with from the registry, once.

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn ripgrep(target: &Path) -> PathBuf {
    installed(target, "ripgrep", "rg")
}

pub(crate) fn fd(target: &Path) -> PathBuf {
    installed(target, "fd-find", "fd")
}

fn installed(target: &Path, package: &str, binary: &str) -> PathBuf {
    let tools = target.join("tools");
    let path = tools.join("bin").join(binary);
    if !path.exists() {
        println!("installing {package} from the registry, once");
        let done = Command::new("cargo")
            .args(["install", "--locked", package, "--root"])
            .arg(&tools)
            .arg("--target-dir")
            .arg(tools.join("build"))
            .status()
            .unwrap();
        assert!(done.success(), "{package} could not be installed");
    }
    let version = Command::new(&path).arg("--version").output().unwrap().stdout;
    println!("against {}", String::from_utf8_lossy(&version).lines().next().unwrap_or(binary));
    path
}
