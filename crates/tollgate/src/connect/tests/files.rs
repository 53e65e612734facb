//! Files are written whole or not at all.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::connect::client::ConfigScope;
use crate::connect::client_config_file::ConfigFile;

#[test]
fn a_file_keeps_its_mode_and_its_link() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
    fs::File::create(&real).unwrap().set_permissions(Permissions::from_mode(0o640)).unwrap();
    symlink(&real, &link).unwrap();
    let file = ConfigFile::read(&link).unwrap();
    assert!(file.is_link && file.target == real.canonicalize().unwrap());
    file.replace("new", ConfigScope::User).unwrap();
    let mode = fs::metadata(&real).unwrap().permissions().mode() & 0o777;
    assert_eq!((fs::read_to_string(&real).unwrap().as_str(), mode), ("new", 0o640));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    // What was shown is no longer what is there.
    let why = file.replace("newer", ConfigScope::User).unwrap_err().to_string();
    assert_eq!(
        (why.as_str(), fs::read_to_string(&real).unwrap().as_str()),
        ("it has changed meanwhile", "new")
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left behind");
}

#[test]
fn a_new_file_is_for_its_owner_unless_it_is_shared() {
    let folder = tempfile::tempdir().unwrap();
    for (name, scope, mode) in
        [("a/b/u.json", ConfigScope::User, 0o600), ("p.json", ConfigScope::Project, 0o644)]
    {
        let path = folder.path().join(name);
        ConfigFile::read(&path).unwrap().replace("{}", scope).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
    }
}
