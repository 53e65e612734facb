//! A vault on which the system grants no write access.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

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
