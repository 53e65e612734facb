//! How the reach of commands differs between two sets of settings.

use shell::{CommandSettings, Demand};

use super::comparison::{Difference, DifferenceKind, raised_or_lowered};

pub(super) fn command_differences(old: &CommandSettings, new: &CommandSettings) -> Vec<Difference> {
    // Every field by name: a new one has to be decided about here.
    let CommandSettings {
        sandbox: _,
        network: _,
        readable: _,
        env: _,
        path: _,
        memory_mb: _,
        processes: _,
        open_files: _,
        output_mb: _,
        file_mb: _,
        execute_vault_files: executes,
    } = new;
    let mut found = Vec::new();
    let sandbox = |demand| match demand {
        Demand::Required => "required",
        Demand::Off => "off (commands run without a sandbox)",
    };
    if old.sandbox != new.sandbox {
        let loosens = new.sandbox == Demand::Off;
        let (old, new) = (sandbox(old.sandbox), sandbox(new.sandbox));
        found.push(Difference::value("commands.sandbox", old, new, loosens));
    }
    if old.network != new.network {
        let told = |network: bool| if network { "true (commands reach the network)" } else { "false" };
        found.push(Difference::value("commands.network", told(old.network), told(new.network), new.network));
    }
    let folders = |settings: &CommandSettings| -> Vec<String> {
        settings.readable.iter().map(|folder| folder.display().to_string()).collect()
    };
    found.extend(entries("commands read", &folders(old), &folders(new)));
    found.extend(entries("commands get the variable", &old.env, &new.env));
    if old.path != new.path {
        found.push(Difference::value("commands.path", &old.path, &new.path, true));
    }
    if old.execute_vault_files != *executes {
        let told = |executes: bool| match executes {
            true => "true (commands that a rule allows execute any file of the vault)",
            false => "false",
        };
        let (old, new) = (told(old.execute_vault_files), told(*executes));
        found.push(Difference::value("commands.execute_vault_files", old, new, *executes));
    }
    let limits = [
        ("memory_mb", old.memory_mb, new.memory_mb),
        ("processes", old.processes, new.processes),
        ("open_files", old.open_files, new.open_files),
        ("output_mb", old.output_mb, new.output_mb),
        ("file_mb", old.file_mb, new.file_mb),
    ];
    found.extend(raised_or_lowered("commands", &limits));
    found
}

/// Entries of a list that grants what it names.
fn entries(what: &str, old: &[String], new: &[String]) -> Vec<Difference> {
    let told = |kind, entry: &String| {
        Difference::new(kind, kind == DifferenceKind::Added, format!("{what} {entry}"))
    };
    let removed = old.iter().filter(|entry| !new.contains(entry));
    let added = new.iter().filter(|entry| !old.contains(entry));
    let removed = removed.map(|entry| told(DifferenceKind::Removed, entry));
    removed.chain(added.map(|entry| told(DifferenceKind::Added, entry))).collect()
}
