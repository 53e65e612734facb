//! `cargo xtask dist`: the program as it is shipped, laid out by what was seen to run.
//!
//! A request runs through a lot of code once. Where the compiler knows which branches are taken, it lays the code out along
//! them: fewer jumps, and what is hardly ever needed is out of the way. So the program is built twice: once so that it
//! counts where it goes, and, when it has been used for a while, once more by these counts.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail, ensure};

use crate::command::{Shown, quoted, remove, root};
use crate::training;

/// Where the program is built that counts, and where it leaves its counts.
const TRAINING: &str = "target/training";
const COUNTS: &str = "target/training/counts";
/// The same in a form that the compiler reads.
const PROFILE: &str = "target/training/tollgate.profdata";
/// Where it is built by them. Apart, so that neither build throws the other away.
const TRAINED: &str = "target/trained";
const SHIPPED: &str = "target/shipped";

pub(crate) fn dist() -> anyhow::Result<bool> {
    let mergers = mergers()?;
    let triple = triple()?;
    // Of an earlier try nothing may be taken for the outcome of this one.
    for earlier in [COUNTS, SHIPPED] {
        remove(&root().join(earlier))?;
    }
    println!("==> building the program so that it counts where it goes");
    if !building(&triple, TRAINING, &format!("-Cprofile-generate={}", root().join(COUNTS).display())).run()? {
        return Ok(false);
    }
    println!("==> using it, as people do");
    let counting = built(TRAINING, &triple);
    training::train(&counting, &root().join(TRAINING).join("world"))?;
    merge(&mergers)?;
    println!("==> building it by what was counted");
    if !building(&triple, TRAINED, &format!("-Cprofile-use={}", root().join(PROFILE).display())).run()? {
        return Ok(false);
    }
    let trained = built(TRAINED, &triple);
    has_the_same_names(&counting, &trained)?;
    ship(&trained)?;
    Ok(true)
}

/// The program that was shipped last, unless something that it is built from has changed since.
pub(crate) fn shipped() -> anyhow::Result<Option<PathBuf>> {
    let shipped = root().join(SHIPPED).join("tollgate");
    let Ok(built) = shipped.metadata().and_then(|metadata| metadata.modified()) else { return Ok(None) };
    Ok((newest_source(&root())? <= built).then_some(shipped))
}

/// When anything was changed last that the program is built from.
fn newest_source(root: &Path) -> anyhow::Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    let mut left = vec![root.join("Cargo.toml"), root.join("Cargo.lock"), root.join("crates")];
    while let Some(path) = left.pop() {
        let look = || format!("cannot look at {}", path.display());
        if path.is_dir() {
            // Neither is a part of the program.
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

/// Both builds have the same profile of cargo's: functions are found again by names that it is a part of. Flags are no part
/// of them; with a target that is named, cargo keeps them from what runs while it builds.
fn building(triple: &str, into: &str, flag: &str) -> Shown {
    let words =
        ["cargo", "build", "--profile", "dist", "-p", "tollgate", "--bin", "tollgate", "--target", triple];
    // Unlike in `RUSTFLAGS`, a path may have spaces.
    let flags: Vec<String> = own_flags().into_iter().chain([flag.to_owned()]).collect();
    Shown::new(&words).env(&[("CARGO_TARGET_DIR", into), (FLAGS, &flags.join(BETWEEN_FLAGS))])
}

const FLAGS: &str = "CARGO_ENCODED_RUSTFLAGS";
const BETWEEN_FLAGS: &str = "\u{1f}";

/// The flags of whoever builds, as far as they are variables.
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
    let version = Shown::new(&["rustc", "-vV"]).read()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` does not say what it builds for")?.to_owned())
}

/// Programs that may read what was counted: that of the toolchain first, then those of the system.
fn mergers() -> anyhow::Result<Vec<String>> {
    let libraries = Shown::new(&["rustc", "--print", "target-libdir"]).read()?;
    let own = Path::new(libraries.trim()).with_file_name("bin").join("llvm-profdata");
    let numbered = (OLDEST..=NEWEST_TRIED).rev().map(|version| format!("llvm-profdata-{version}"));
    let all = [own.display().to_string(), "llvm-profdata".to_owned()].into_iter().chain(numbered);
    let found: Vec<String> = all.filter(|tool| Shown::new(&[tool, "merge", "--help"]).works()).collect();
    ensure!(!found.is_empty(), "there is no llvm-profdata here; {WAYS_OUT}");
    Ok(found)
}

/// The first version that reads what today's compilers count.
const OLDEST: u32 = 19;
const NEWEST_TRIED: u32 = 30;
const WAYS_OUT: &str = "`rustup component add llvm-tools` brings the one of your compiler, and `apt-get install llvm-19` \
                        one that will do. Without it there is `cargo install --path crates/tollgate --profile dist`";

fn merge(mergers: &[String]) -> anyhow::Result<()> {
    ensure!(root().join(COUNTS).exists(), "the program was used and left no counts in {COUNTS}");
    let mut problems = String::new();
    for merger in mergers {
        match Shown::new(&[merger, "merge", "--sparse", "-o", PROFILE, COUNTS]).read() {
            Ok(_) => return Ok(()),
            Err(problem) => problems = format!("{problems}{problem:#}\n"),
        }
    }
    bail!("{problems}no llvm-profdata that is here reads what was counted; {WAYS_OUT}");
}

/// A function gets the counts that were taken under its name, and where no names are the same it gets none, without a word.
fn has_the_same_names(counting: &Path, trained: &Path) -> anyhow::Result<()> {
    let read = |path: &Path| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let (counting, trained) = (read(counting)?, read(trained)?);
    let counted: HashSet<&[u8]> = names(&counting).collect();
    let same = names(&trained).filter(|name| counted.contains(name)).count();
    ensure!(same > 0, "no function has the name under which it was counted, so the counts were of no use");
    Ok(())
}

/// Names of functions of ours, with the hash that the compiler puts into each.
fn names(program: &[u8]) -> impl Iterator<Item = &[u8]> {
    const OURS: &[u8] = b"7gateway";
    let words = program.split(|byte| *byte == 0);
    words.filter(|word| word.starts_with(b"_") && word.windows(OURS.len()).any(|part| part == OURS))
}

fn ship(trained: &Path) -> anyhow::Result<()> {
    let folder = root().join(SHIPPED);
    let shipped = folder.join("tollgate");
    let copied = std::fs::create_dir_all(&folder).and_then(|()| std::fs::copy(trained, &shipped));
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
            "_ZN7gateway4edge3fooE",
            "_ZN5tokio3barE",
            "_RNvCs1_7gateway3foo",
            "7gateway",
            "text 7gateway",
        ];
        let program = words.join("\0");
        let found: Vec<&[u8]> = names(program.as_bytes()).collect();
        assert_eq!(found, [&b"_ZN7gateway4edge3fooE"[..], b"_RNvCs1_7gateway3foo"]);
    }
}
