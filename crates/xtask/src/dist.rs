//! `cargo xtask dist`: builds the release binary with profile-guided optimization.
//!
//! The compiler lays out code along the branches that are taken often. So the program is built with instrumentation,
//! run with the workload of `training`, and built again with the profile.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail, ensure};

use crate::command::{ToolCommand, quoted, remove, root};
use crate::training;

/// The target folder of the instrumented build, and the folder of its raw profiles.
const TRAINING: &str = "target/training";
const RAW_PROFILES: &str = "target/training/counts";
/// The merged profile, which the compiler reads.
const PROFILE: &str = "target/training/tollgate.profdata";
/// The target folder of the optimized build; a folder of its own, so that neither build replaces the other.
const OPTIMIZED: &str = "target/trained";
const SHIPPED: &str = "target/shipped";

pub(crate) fn dist() -> anyhow::Result<bool> {
    let profdata_tools = profdata_tools()?;
    let triple = triple()?;
    // Results of an earlier run must not be taken for those of this one.
    for earlier in [RAW_PROFILES, SHIPPED] {
        remove(&root().join(earlier))?;
    }
    println!("==> building the instrumented program");
    if !build_command(
        &triple,
        TRAINING,
        &format!("-Cprofile-generate={}", root().join(RAW_PROFILES).display()),
    )
    .run()?
    {
        return Ok(false);
    }
    println!("==> running the workload");
    let instrumented = built(TRAINING, &triple);
    training::train(&instrumented, &root().join(TRAINING).join("world"))?;
    merge_profiles(&profdata_tools)?;
    println!("==> building with the profile");
    if !build_command(&triple, OPTIMIZED, &format!("-Cprofile-use={}", root().join(PROFILE).display()))
        .run()?
    {
        return Ok(false);
    }
    let optimized = built(OPTIMIZED, &triple);
    check_function_names(&instrumented, &optimized)?;
    install_shipped(&optimized)?;
    Ok(true)
}

/// Returns the shipped program, unless its sources have changed since.
pub(crate) fn shipped() -> anyhow::Result<Option<PathBuf>> {
    let shipped = root().join(SHIPPED).join("tollgate");
    let Ok(built) = shipped.metadata().and_then(|metadata| metadata.modified()) else { return Ok(None) };
    Ok((newest_source(&root())? <= built).then_some(shipped))
}

/// Returns the time of the newest change of a source of the program.
fn newest_source(root: &Path) -> anyhow::Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    let mut left = vec![root.join("Cargo.toml"), root.join("Cargo.lock"), root.join("crates")];
    while let Some(path) = left.pop() {
        let look = || format!("cannot look at {}", path.display());
        if path.is_dir() {
            // Not part of the program.
            if path.ends_with("crates/xtask") || path.ends_with("benches") || path.ends_with("tests") {
                continue;
            }
            for entry in std::fs::read_dir(&path).with_context(look)? {
                left.push(entry.with_context(look)?.path());
            }
        } else {
            newest = newest.max(path.metadata().and_then(|metadata| metadata.modified()).with_context(look)?);
        }
    }
    Ok(newest)
}

/// Both builds use the same cargo profile: functions are matched by names that contain it. The flags are not part of
/// the names. With an explicit target, cargo does not apply them to build scripts.
fn build_command(triple: &str, into: &str, flag: &str) -> ToolCommand {
    let words =
        ["cargo", "build", "--profile", "dist", "-p", "tollgate", "--bin", "tollgate", "--target", triple];
    // Unlike in `RUSTFLAGS`, a path may contain spaces.
    let flags: Vec<String> = own_flags().into_iter().chain([flag.to_owned()]).collect();
    ToolCommand::new(&words).env(&[("CARGO_TARGET_DIR", into), (FLAGS, &flags.join(BETWEEN_FLAGS))])
}

const FLAGS: &str = "CARGO_ENCODED_RUSTFLAGS";
const BETWEEN_FLAGS: &str = "\u{1f}";

/// The flags in the variables of the environment.
fn own_flags() -> Vec<String> {
    let split = |flags: String, at: &str| flags.split(at).map(str::to_owned).collect::<Vec<_>>();
    let flags = match (std::env::var(FLAGS), std::env::var("RUSTFLAGS")) {
        (Ok(flags), _) => split(flags, BETWEEN_FLAGS),
        (Err(_), Ok(flags)) => split(flags, " "),
        (Err(_), Err(_)) => Vec::new(),
    };
    flags.into_iter().filter(|flag| !flag.is_empty()).collect()
}

fn built(into: &str, triple: &str) -> PathBuf {
    root().join(into).join(triple).join("dist").join("tollgate")
}

fn triple() -> anyhow::Result<String> {
    let version = ToolCommand::new(&["rustc", "-vV"]).read()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` does not name its host")?.to_owned())
}

/// The `llvm-profdata` programs that may read the profiles: that of the toolchain first, then those of the system.
fn profdata_tools() -> anyhow::Result<Vec<String>> {
    let libraries = ToolCommand::new(&["rustc", "--print", "target-libdir"]).read()?;
    let own = Path::new(libraries.trim()).with_file_name("bin").join("llvm-profdata");
    let numbered = (OLDEST..=NEWEST_TRIED).rev().map(|version| format!("llvm-profdata-{version}"));
    let all = [own.display().to_string(), "llvm-profdata".to_owned()].into_iter().chain(numbered);
    let found: Vec<String> =
        all.filter(|tool| ToolCommand::new(&[tool, "merge", "--help"]).works()).collect();
    ensure!(!found.is_empty(), "llvm-profdata is missing; {INSTALL_HINT}");
    Ok(found)
}

/// The first version that reads the profiles of current compilers.
const OLDEST: u32 = 19;
const NEWEST_TRIED: u32 = 30;
const INSTALL_HINT: &str = "`rustup component add llvm-tools` installs the one of your compiler, `apt-get install llvm-19` \
                        another. Without it, use `cargo install --path crates/tollgate --profile dist`";

fn merge_profiles(profdata_tools: &[String]) -> anyhow::Result<()> {
    ensure!(
        root().join(RAW_PROFILES).exists(),
        "the instrumented program left no profiles in {RAW_PROFILES}"
    );
    let mut problems = String::new();
    for tool in profdata_tools {
        match ToolCommand::new(&[tool, "merge", "--sparse", "-o", PROFILE, RAW_PROFILES]).read() {
            Ok(_) => return Ok(()),
            Err(problem) => problems = format!("{problems}{problem:#}\n"),
        }
    }
    bail!("{problems}no installed llvm-profdata reads the profiles; {INSTALL_HINT}");
}

/// Checks that functions of both builds have the same names. Without a match the compiler drops the profile silently.
fn check_function_names(instrumented: &Path, optimized: &Path) -> anyhow::Result<()> {
    let read = |path: &Path| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let (instrumented, optimized) = (read(instrumented)?, read(optimized)?);
    let counted: HashSet<&[u8]> = names(&instrumented).collect();
    let same = names(&optimized).filter(|name| counted.contains(name)).count();
    ensure!(same > 0, "no function of the optimized build has a profile");
    Ok(())
}

/// Names of the workspace's functions, with the compiler's hash.
fn names(program: &[u8]) -> impl Iterator<Item = &[u8]> {
    const OURS: &[u8] = b"9responses";
    let words = program.split(|byte| *byte == 0);
    words.filter(|word| word.starts_with(b"_") && word.windows(OURS.len()).any(|part| part == OURS))
}

fn install_shipped(optimized: &Path) -> anyhow::Result<()> {
    let folder = root().join(SHIPPED);
    let shipped = folder.join("tollgate");
    let copied = std::fs::create_dir_all(&folder).and_then(|()| std::fs::copy(optimized, &shipped));
    copied.with_context(|| format!("cannot write {}", shipped.display()))?;
    println!("\nIt is ready. To have it where cargo puts programs:");
    println!("    install -D -t ~/.cargo/bin {}", quoted(&shipped.display().to_string()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    use super::{names, newest_source};
    use crate::command::remove;

    #[test]
    fn a_program_is_as_old_as_the_newest_file_that_it_is_built_from() {
        let root = std::env::temp_dir().join(format!("tollgate-sources-{}", std::process::id()));
        let files = [
            ("Cargo.toml", 1),
            ("Cargo.lock", 2),
            ("crates/plan/src/deep/a.rs", 4),
            ("crates/plan/Cargo.toml", 3),
            ("crates/plan/tests/b.rs", 5),
            ("crates/plan/benches/c.rs", 6),
            ("crates/xtask/src/d.rs", 7),
        ];
        for (path, hour) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(hour * 3_600);
            File::create(&path).unwrap().set_modified(changed).unwrap();
        }
        let newest = newest_source(&root).unwrap();
        remove(&root).unwrap();
        assert_eq!(newest.duration_since(SystemTime::UNIX_EPOCH).unwrap(), Duration::from_secs(4 * 3_600));
    }

    #[test]
    fn names_of_ours_are_told_from_others_in_both_manglings() {
        let words = [
            "\x7fELF",
            "_ZN9responses4edge3fooE",
            "_ZN5tokio3barE",
            "_RNvCs1_9responses3foo",
            "9responses",
            "text 9responses",
        ];
        let program = words.join("\0");
        let found: Vec<&[u8]> = names(program.as_bytes()).collect();
        assert_eq!(found, [&b"_ZN9responses4edge3fooE"[..], b"_RNvCs1_9responses3foo"]);
    }
}
