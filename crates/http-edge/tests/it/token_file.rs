//! The file with the token.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use expect_test::{Expect, expect};
use http_edge::Token;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[allow(clippy::disallowed_methods, reason = "a test lays out files as they might be found")]
fn write(path: &Path, text: &str, file_mode: u32) {
    fs::write(path, text).unwrap();
    set_mode(path, file_mode);
}

// Conformance: proxy 16.3
//     The token is made once, for its owner's eyes.
//     In: http-edge/auth/token_file.rs
#[test]
fn a_token_is_made_once_and_is_nobody_elses_business() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/state/token");
    let made = Token::load_or_create(&path).unwrap();
    let text = made.reveal();
    assert_eq!((text.len(), text.starts_with("tg_")), (3 + 64, true));
    assert_eq!(Token::load_or_create(&path).unwrap().reveal(), text);
    assert_eq!([mode(&path), mode(path.parent().unwrap())], [0o600, 0o700]);
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    assert_eq!(format!("{made:?}"), "Token(..)");

    let other = Token::load_or_create(&folder.path().join("new/other")).unwrap();
    assert_ne!(other.reveal(), text);
}

#[test]
fn all_who_start_at_once_have_the_same_token() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/token");
    let barrier = std::sync::Barrier::new(16);
    let tokens: Vec<String> = std::thread::scope(|scope| {
        let start = || {
            barrier.wait();
            Token::load_or_create(&path).unwrap().reveal().to_owned()
        };
        let starters: Vec<_> = (0..16).map(|_| scope.spawn(start)).collect();
        starters.into_iter().map(|starter| starter.join().unwrap()).collect()
    });
    assert!(tokens.iter().all(|token| *token == tokens[0]), "{tokens:?}");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

/// Lays something out in an empty folder and asks for the token `token` in it.
fn check(lay_out: impl FnOnce(&Path), expected: &Expect) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("state");
    fs::create_dir(&place).unwrap();
    set_mode(&place, 0o700);
    lay_out(&place);
    let before = fs::symlink_metadata(place.join("token")).ok().map(|found| found.permissions().mode());
    let answer = match Token::load_or_create(&place.join("token")) {
        Ok(token) => format!("loaded {} characters", token.reveal().len()),
        Err(error) => {
            let after =
                fs::symlink_metadata(place.join("token")).ok().map(|found| found.permissions().mode());
            assert_eq!(before, after, "what was refused is left as it was");
            error.to_string()
        }
    };
    expected.assert_eq(&answer.replace(place.to_str().unwrap(), "STATE"));
}

const OURS: &str = "a-token-of-our-own-choice\n";

#[test]
fn a_token_of_ones_own_is_taken() {
    check(|place| write(&place.join("token"), OURS, 0o600), &expect!["loaded 25 characters"]);
    check(|place| write(&place.join("token"), OURS, 0o400), &expect!["loaded 25 characters"]);
}

// Conformance: proxy 16.3
#[test]
fn a_file_that_others_can_read_is_refused() {
    check(
        |place| write(&place.join("token"), OURS, 0o640),
        &expect![
            "others can read `STATE/token` (mode 640), so its token is not secret any more; delete it, and a new one is created"
        ],
    );
    check(
        |place| write(&place.join("token"), OURS, 0o604),
        &expect![
            "others can read `STATE/token` (mode 604), so its token is not secret any more; delete it, and a new one is created"
        ],
    );
}

#[test]
fn a_link_is_refused_wherever_it_points() {
    check(
        |place| {
            write(&place.join("elsewhere"), OURS, 0o600);
            symlink("elsewhere", place.join("token")).unwrap();
        },
        &expect![
            "`STATE/token` is a link, and anyone who can change its target can change the token; replace it by the file itself, or delete the link, and a token is created"
        ],
    );
    check(
        |place| symlink("nowhere", place.join("token")).unwrap(),
        &expect![
            "`STATE/token` is a link, and anyone who can change its target can change the token; replace it by the file itself, or delete the link, and a token is created"
        ],
    );
}

#[test]
fn what_is_no_token_is_refused() {
    check(
        |place| write(&place.join("token"), "", 0o600),
        &expect![
            "`STATE/token` contains no token: one line of 24 to 256 letters, digits and `-._~+/=` is expected; delete it, and one is created"
        ],
    );
    check(
        |place| write(&place.join("token"), "short\n", 0o600),
        &expect![
            "`STATE/token` contains no token: one line of 24 to 256 letters, digits and `-._~+/=` is expected; delete it, and one is created"
        ],
    );
    check(
        |place| write(&place.join("token"), &"a b".repeat(20), 0o600),
        &expect![
            "`STATE/token` contains no token: one line of 24 to 256 letters, digits and `-._~+/=` is expected; delete it, and one is created"
        ],
    );
    check(
        |place| write(&place.join("token"), &"a".repeat(5000), 0o600),
        &expect![
            "`STATE/token` contains no token: one line of 24 to 256 letters, digits and `-._~+/=` is expected; delete it, and one is created"
        ],
    );
    check(
        |place| fs::create_dir(place.join("token")).unwrap(),
        &expect!["`STATE/token` is not a file; move it away, and a token is created there"],
    );
}

#[test]
fn a_folder_that_others_can_write_to_is_refused() {
    check(
        |place| set_mode(place, 0o770),
        &expect!["others can change files in `STATE` (mode 770); run `chmod 700` on it"],
    );
    check(
        |place| set_mode(place, 0o1777),
        &expect!["others can change files in `STATE` (mode 777); run `chmod 700` on it"],
    );
}

#[test]
fn what_belongs_to_somebody_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    write(&path, OURS, 0o600);
    // Only root can change the owner of a file; as another user there is nothing to test.
    if std::os::unix::fs::chown(&path, Some(12345), None).is_ok() {
        let error = Token::load_or_create(&path).unwrap_err().to_string();
        assert_eq!(
            error.replace(path.to_str().unwrap(), "TOKEN"),
            "`TOKEN` belongs to another user; delete it, and a token of your own is created"
        );
    }
}
