//! Differences between two sets of command settings.

use shell::{CommandSettings, SandboxRequirement};

use super::comparison::{DifferenceKind, SettingsDifference, raised_or_lowered};

pub(super) fn command_differences(old: &CommandSettings, new: &CommandSettings) -> Vec<SettingsDifference> {
    // Every field by name, so that a new one needs a decision here.
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
        SandboxRequirement::Required => "required",
        SandboxRequirement::Off => "off (commands run without a sandbox)",
    };
    if old.sandbox != new.sandbox {
        let loosens = new.sandbox == SandboxRequirement::Off;
        let (old, new) = (sandbox(old.sandbox), sandbox(new.sandbox));
        found.push(SettingsDifference::value("commands.sandbox", old, new, loosens));
    }
    if old.network != new.network {
        let described = |network: bool| if network { "true (commands reach the network)" } else { "false" };
        found.push(SettingsDifference::value(
            "commands.network",
            described(old.network),
            described(new.network),
            new.network,
        ));
    }
    let folders = |settings: &CommandSettings| -> Vec<String> {
        settings.readable.iter().map(|folder| folder.display().to_string()).collect()
    };
    found.extend(entries("commands read", &folders(old), &folders(new)));
    found.extend(entries("commands get the variable", &old.env, &new.env));
    if old.path != new.path {
        found.push(SettingsDifference::value("commands.path", &old.path, &new.path, true));
    }
    if old.execute_vault_files != *executes {
        let described = |executes: bool| match executes {
            true => "true (commands that a rule allows execute any file of the vault)",
            false => "false",
        };
        let (old, new) = (described(old.execute_vault_files), described(*executes));
        found.push(SettingsDifference::value("commands.execute_vault_files", old, new, *executes));
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

/// Returns the differences of a list that grants its entries.
fn entries(what: &str, old: &[String], new: &[String]) -> Vec<SettingsDifference> {
    let described = |kind, entry: &String| {
        SettingsDifference::new(kind, kind == DifferenceKind::Added, format!("{what} {entry}"))
    };
    let removed = old.iter().filter(|entry| !new.contains(entry));
    let added = new.iter().filter(|entry| !old.contains(entry));
    let removed = removed.map(|entry| described(DifferenceKind::Removed, entry));
    removed.chain(added.map(|entry| described(DifferenceKind::Added, entry))).collect()
}
