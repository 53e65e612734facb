//! A vault on which the system grants no write access.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use serde_json::{Value, json};

use super::call_runner::CallRunner;
use super::calls::{reading, writing};
use super::other_process::{ProcessRole, start_as};
use crate::support::{HostileVault, put};

/// An unprivileged user.
const NOBODY: u32 = 65_534;

#[test]
fn a_read_only_vault_is_read_and_every_write_is_refused_without_a_trace() {
    let world = HostileVault::new();
    fs::create_dir(world.inside("empty")).unwrap();
    put(&world.inside("Notes/spare.md"), "# H\nspare\n");
    put(&world.inside("Notes/real.md"), "# H\nreal\n");
    for folder in ["", "Notes", "empty"] {
        fs::set_permissions(world.inside(folder), Permissions::from_mode(0o555)).unwrap();
    }
    fs::set_permissions(world.temp.path(), Permissions::from_mode(0o755)).unwrap();
    let store = world.temp.path().join("store");
    fs::create_dir(&store).unwrap();
    fs::set_permissions(&store, Permissions::from_mode(0o777)).unwrap();
    // The superuser is refused nothing, so another user tries.
    let is_root = fs::metadata(world.temp.path()).unwrap().uid() == 0;
    let user = is_root.then_some(NOBODY);
    let status = start_as(&ProcessRole::ReadOnly, world.temp.path(), user).wait().unwrap();
    assert!(status.success());
    world.assert_outside_untouched();
    for folder in ["", "Notes", "empty"] {
        fs::set_permissions(world.inside(folder), Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_folder_that_cannot_be_opened_is_named_wherever_its_notes_are_missing() {
    let world = HostileVault::new();
    for folder in ["Notes/Closed", "Notes/Open"] {
        fs::create_dir(world.inside(folder)).unwrap();
        put(&world.inside(&format!("{folder}/seed.md")), "a seed for [[real]]\n");
    }
    let mode =
        |path: &str, mode| fs::set_permissions(world.inside(path), Permissions::from_mode(mode)).unwrap();
    mode("Notes/Closed", 0o000);
    fs::set_permissions(world.temp.path(), Permissions::from_mode(0o755)).unwrap();
    let store = world.temp.path().join("store");
    fs::create_dir(&store).unwrap();
    fs::set_permissions(&store, Permissions::from_mode(0o777)).unwrap();
    let is_root = fs::metadata(world.temp.path()).unwrap().uid() == 0;
    let user = is_root.then_some(NOBODY);
    let status = start_as(&ProcessRole::Unprivileged, world.temp.path(), user).wait().unwrap();
    mode("Notes/Closed", 0o755);
    assert!(status.success());
}

/// Calls of a user who may not open one folder.
pub(crate) fn read_around_a_closed_folder(base: &Path) {
    assert!(fs::read_dir(base.join("vault/Notes/Closed")).is_err(), "the folder can be opened after all");
    let runner = CallRunner::new(&base.join("vault"), &base.join("store"));
    let said = |tool: &str, args: Value| {
        let mapped = runner.call(tool, &args).result.unwrap();
        (mapped.data, mapped.receipt)
    };
    let (data, receipt) = said("vault.searchText", json!({ "query": "seed" }));
    assert_eq!((&data["foldersSkipped"], &data["notLookedInto"]), (&json!(1), &json!(["Notes/Closed/"])));
    assert_eq!(data["matches"][0]["path"], "Notes/Open/seed.md");
    assert!(receipt.contains("Not looked into, 1 folder that cannot be opened: Notes/Closed/"), "{receipt}");
    // What comes after the last match is not searched, so nothing is missing there.
    let (data, _) = said("vault.searchText", json!({ "query": "seed", "paths": ["Notes/Open"] }));
    assert_eq!(data["notLookedInto"], Value::Null);

    let (data, receipt) = said("vault.listFiles", json!({ "recursive": true }));
    assert_eq!((&data["foldersSkipped"], &data["notLookedInto"]), (&json!(1), &json!(["Notes/Closed/"])));
    assert!(receipt.contains("1 folder that cannot be opened: Notes/Closed/"), "{receipt}");
    let (data, _) = said("vault.listFiles", json!({ "prefix": "Notes" }));
    assert_eq!(data["notLookedInto"], Value::Null, "only a recursive listing misses something");

    let (data, receipt) = said("vault.getLinks", json!({ "path": "Notes/real.md" }));
    assert_eq!(data["notLookedInto"], json!(["Notes/Closed/"]));
    assert!(
        receipt.contains("Not looked into, 1 file or folder that may hold links too: Notes/Closed/"),
        "{receipt}"
    );

    let moved = json!({ "fromPath": "Notes/real.md", "toPath": "Notes/other.md", "dryRun": true });
    let (data, receipt) = said("vault.rename", moved);
    assert_eq!(data["notLookedInto"], json!(["Notes/Closed/"]));
    assert!(receipt.contains("Notes/Closed/"), "{receipt}");
}

/// Calls that the other user tries.
pub(crate) fn try_everything(base: &Path) {
    let folder = base.join("vault");
    assert!(fs::File::create(folder.join("Notes/probe")).is_err(), "the vault can be written to after all");
    let runner = CallRunner::new(&folder, &base.join("store"));
    let names = || {
        let mut names: Vec<_> =
            fs::read_dir(folder.join("Notes")).unwrap().map(|e| e.unwrap().path()).collect();
        names.sort();
        names
    };
    let before = names();
    for path in ["Notes/real.md", "Notes/new.md", "Notes/Deep/new.md", "empty"] {
        for call in writing(path, "Notes/spare.md", "Notes/moved.md") {
            let outcome = runner.call(call.tool, &call.args);
            let (what, said) = (format!("{} of {path}", call.name), outcome.said());
            assert_ne!(outcome.verdict(), "execution_failed", "{what}: {said}");
            assert!(outcome.changes.is_empty(), "{what}: {:?}", outcome.changes);
            let nothing_to_do = call.name == "folder" && path == "empty";
            assert_eq!(outcome.result.is_ok(), nothing_to_do, "{what}: {said}");
        }
    }
    assert_eq!(names(), before);
    assert_eq!(fs::read_to_string(folder.join("Notes/real.md")).unwrap(), "# H\nreal\n");
    for call in reading("Notes/real.md").into_iter().filter(|call| call.tool != "vault.listFiles") {
        assert_eq!(runner.call(call.tool, &call.args).verdict(), "done", "{}", call.name);
    }
}
