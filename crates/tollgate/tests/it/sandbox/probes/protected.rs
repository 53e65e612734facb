//! Folders of the vault that are not the command's to change, whether they are there or not.

use super::ProbeUser::Everyone;
use super::{SandboxProbe, probe};

pub(super) const ALL: &[SandboxProbe] = &[
    probe("write to a protected file", Everyone, "echo x > .obsidian/app.json"),
    probe("make a file in a protected folder", Everyone, "echo x > .obsidian/community-plugins.json"),
    probe("make a folder in a protected folder", Everyone, "mkdir .obsidian/plugins"),
    probe("delete a protected file", Everyone, "rm -f .obsidian/app.json"),
    probe("delete a protected folder", Everyone, "rm -rf .obsidian"),
    probe("rename a protected folder", Everyone, "mv .obsidian .old"),
    probe("move a note over a protected file", Everyone, "mv notes/a.md .obsidian/app.json"),
    probe("move a protected file out", Everyone, "mv .obsidian/app.json notes/"),
    probe("swap a folder with a protected one", Everyone, "works 316 -100 notes -100 .obsidian 2"),
    probe(
        "write through a link to a protected folder",
        Everyone,
        "ln -s ../.obsidian notes/o && echo x > notes/o/app.json",
    ),
    probe(
        "write through a hard link to a protected file",
        Everyone,
        "ln .obsidian/app.json notes/h && echo x > notes/h",
    ),
    probe("write by way of /proc/self/cwd", Everyone, "echo x > /proc/self/cwd/.obsidian/app.json"),
    probe("write by way of an open folder", Everyone, "exec 9< .obsidian; echo x > /proc/self/fd/9/app.json"),
    probe("change the mode of a protected file", Everyone, "chmod 777 .obsidian/app.json"),
    probe("change the mode of a protected folder", Everyone, "chmod 777 .obsidian"),
    probe("change the times of a protected file", Everyone, "touch -d 2001-01-01 .obsidian/app.json"),
    probe("make an absent folder", Everyone, "mkdir .git; echo x > .git/config"),
    probe("make an absent folder as a file", Everyone, "echo gitdir: x > .git"),
    probe("make an absent folder as a link", Everyone, "ln -s notes .git"),
    probe("move a folder to an absent name", Everyone, "mkdir notes/g && mv -T notes/g .git"),
    probe(
        "swap a folder with what stands in",
        Everyone,
        "mkdir -p .git; echo x > notes/config; works 316 -100 notes -100 .git 2",
    ),
    probe("remove what stands in, then make it", Everyone, "rmdir .git; mkdir .git && echo x > .git/config"),
    probe("write into what stands in", Everyone, "mkdir -p .trash; echo x > .trash/note.md"),
    probe("make a repository", Everyone, "git init -q . ; [ -e .git/HEAD ] && got"),
    probe("read a hidden file", Everyone, "grep -q CANARY .tollgate/record && got"),
    probe(
        "read a hidden file through a link",
        Everyone,
        "ln -s ../.tollgate notes/t; grep -q CANARY notes/t/record && got",
    ),
    probe(
        "read a hidden file through a hard link",
        Everyone,
        "ln .tollgate/record notes/r && grep -q CANARY notes/r && got",
    ),
    probe("write to a hidden file", Everyone, "echo x > .tollgate/record"),
    probe("make a file in a hidden folder", Everyone, "echo x > .tollgate/policy.toml"),
    probe("rename a hidden folder", Everyone, "mv .tollgate notes/t"),
    probe("delete a hidden folder", Everyone, "rm -rf .tollgate"),
    probe("write to a folder with other letters", Everyone, "echo x > .Stversions/x"),
];
