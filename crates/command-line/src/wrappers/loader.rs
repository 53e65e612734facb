//! Programs that start a file under another name: the dynamic loader, emulators, and the names under which `setarch`
//! sets another architecture.

use super::{InnerCommand, WrapperCall};
use crate::option_table::OptionTable;
use crate::program_name::name_of;

const LOADER: OptionTable =
    OptionTable { flags: "", values: "", long_flags: &LOADER_FLAGS, long_values: &LOADER_VALUES };

const LOADER_FLAGS: [&str; 2] = ["inhibit-cache", "verify"];

const LOADER_VALUES: [&str; 7] = [
    "library-path",
    "inhibit-rpath",
    "audit",
    "preload",
    "argv0",
    "glibc-hwcaps-prepend",
    "glibc-hwcaps-mask",
];

/// Names of architectures, each a program that starts its operands.
const MACHINES: [&str; 29] = [
    "i386",
    "i486",
    "i586",
    "i686",
    "athlon",
    "x86_64",
    "linux32",
    "linux64",
    "uname26",
    "ppc",
    "ppc32",
    "ppc64",
    "ppcle",
    "ppc64le",
    "s390",
    "s390x",
    "mips",
    "mips32",
    "mips64",
    "sparc",
    "sparc32",
    "sparc32bash",
    "sparc64",
    "parisc",
    "parisc64",
    "ia64",
    "arm",
    "aarch64",
    "riscv64",
];

const MACHINE: OptionTable = OptionTable {
    flags: "BFILRSTXZ3v",
    values: "",
    long_flags: &[
        "32bit",
        "fdpic-funcptrs",
        "short-inode",
        "addr-compat-layout",
        "addr-no-randomize",
        "whole-seconds",
        "sticky-timeouts",
        "read-implies-exec",
        "mmap-page-zero",
        "3gb",
        "4gb",
        "uname-2.6",
        "verbose",
    ],
    long_values: &[],
};

pub(super) fn starts_by_name(program: &str) -> bool {
    is_loader(program) || is_emulator(program) || MACHINES.contains(&name_of(program))
}

/// `ld.so`, `ld-linux-x86-64.so.2`, `ld-musl-x86_64.so.1`, `ld-2.31.so`.
fn is_loader(program: &str) -> bool {
    let name = name_of(program);
    name == "ld.so" || (name.starts_with("ld") && name.contains(".so"))
}

/// `qemu-x86_64`, `qemu-aarch64-static`, `box64`.
fn is_emulator(program: &str) -> bool {
    let name = name_of(program);
    name.starts_with("qemu-") || matches!(name, "box64" | "box86" | "wine" | "wine64")
}

pub(super) fn inner_commands(call: WrapperCall<'_>) -> Option<Vec<InnerCommand>> {
    if !starts_by_name(call.program) {
        return None;
    }
    let options = if is_loader(call.program) { LOADER } else { MACHINE };
    let by = name_of(call.program).to_owned();
    let split = options.split(call.words);
    let mut inner = vec![InnerCommand::hidden(format!("`{by}` starts a program under another name"))];
    if !split.rest.is_empty() {
        inner.push(InnerCommand::Command { by: by.clone(), argv: split.rest.to_vec() });
    }
    // An unknown option may take the next word.
    if (split.unknown.is_some() || is_emulator(call.program)) && split.rest.len() > 1 {
        inner.push(InnerCommand::Guess { by, argv: split.rest[1..].to_vec() });
    }
    Some(inner)
}
