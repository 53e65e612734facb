//! Maps error numbers of the system to faults with a hint.

use envelope::{Failure, Fault};
use rustix::io::Errno;

/// Returns the fault for a caller who tried to do `doing` at `path`.
pub(super) fn from_errno(doing: &str, path: &str, error: Errno) -> Fault {
    match error {
        Errno::NOENT => Fault::new(Failure::NotFound, format!("`{path}` does not exist")),
        Errno::EXIST => Fault::new(Failure::Conflict, format!("`{path}` already exists")),
        Errno::NOTDIR => Fault::new(
            Failure::PreconditionFailed,
            format!("cannot {doing} `{path}`: a part of it is a file, not a folder"),
        ),
        Errno::ISDIR => {
            Fault::new(Failure::PreconditionFailed, format!("cannot {doing} `{path}`: it is a folder"))
                .hint("name a file inside it")
        }
        Errno::LOOP | Errno::XDEV => Fault::new(
            Failure::SandboxViolation,
            format!("cannot {doing} `{path}`: a link on the way leaves the vault or was swapped in"),
        ),
        Errno::ACCESS | Errno::PERM | Errno::ROFS => Fault::new(
            Failure::PreconditionFailed,
            format!("cannot {doing} `{path}`: the system does not permit it ({error})"),
        )
        .hint("give this user the right to it, or choose another folder"),
        Errno::NAMETOOLONG => {
            Fault::new(Failure::InvalidArguments, format!("cannot {doing} `{path}`: the name is too long"))
                .hint("use a shorter name")
        }
        Errno::NOSPC | Errno::DQUOT => Fault::new(
            Failure::ExecutionFailed,
            format!("cannot {doing} `{path}`: the disk is full; this file was not changed"),
        )
        .hint("free some space on the disk of the vault, then try again"),
        Errno::IO => Fault::new(
            Failure::ExecutionFailed,
            format!("cannot {doing} `{path}`: the disk reports an error ({error})"),
        )
        .hint("check the disk of the vault before anything else is written"),
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => Fault::new(
            Failure::DependencyUnavailable,
            format!("cannot {doing} `{path}`: the system is out of handles or memory ({error})"),
        ),
        other => Fault::new(Failure::ExecutionFailed, format!("cannot {doing} `{path}`: {other}")),
    }
}

pub(super) fn from_io(doing: &str, path: &str, error: &std::io::Error) -> Fault {
    match Errno::from_io_error(error) {
        Some(errno) => from_errno(doing, path, errno),
        None => Fault::new(Failure::ExecutionFailed, format!("cannot {doing} `{path}`: {error}")),
    }
}

/// The change was made, but the disk did not confirm that it survives a power failure.
pub(super) fn not_durable(path: &str, error: Errno) -> Fault {
    Fault::new(
        Failure::ExecutionFailed,
        format!("`{path}` was changed, but the disk did not confirm it ({error})"),
    )
    .detail("outcome", "unknown")
    .hint("check the disk of the vault, then read the file back before anything else is written")
}

/// The path, or a link on it, ends in a protected folder.
pub(crate) fn protected(path: &str, by: &str) -> Fault {
    Fault::new(
        Failure::SandboxViolation,
        format!("`{path}` lies in `{by}`, which belongs to another program or to Tollgate itself"),
    )
    .detail("protected", by)
    .hint("use a path outside .obsidian, .git, .trash and .tollgate")
}

pub(super) fn leaves_vault(path: &str, link: &str) -> Fault {
    Fault::new(Failure::SandboxViolation, format!("`{path}` leaves the vault through the link `{link}`"))
        .detail("link", link)
        .hint("use a path that reaches its file without that link")
}

/// An entry exists whose name differs only in case or encoding.
pub(super) fn name_collision(wanted: &str, existing: &str) -> Fault {
    Fault::new(
        Failure::Conflict,
        format!("`{wanted}` and the existing `{existing}` are the same name on many systems"),
    )
    .detail("existing", existing)
    .hint(format!("write `{existing}` as it is spelled, or choose a name that differs in more than case"))
}

/// A path continues after a file.
pub(super) fn below_a_file(file: &str) -> Fault {
    Fault::new(Failure::PreconditionFailed, format!("`{file}` is a file, so nothing can be below it"))
        .hint("name a folder, or leave out what follows the file")
}

/// The file has more bytes than a tool reads into memory.
pub(super) fn too_large(path: &str, limit: u64) -> Fault {
    Fault::new(Failure::PreconditionFailed, format!("`{path}` has more than {limit} bytes"))
        .detail("limit", limit)
        .hint("edit a smaller file, or overwrite the whole file")
}

/// Another program changes the path faster than it can be resolved.
pub(super) fn unstable_path(path: &str) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` keeps changing while it is looked up"))
        .hint("try again when the other program has finished")
        .retryable(true)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect;
    use rustix::io::Errno;

    use super::{from_errno, from_io};

    #[test]
    fn every_refusal_of_the_system_has_words_and_a_failure() {
        let mut table = String::new();
        for error in [
            Errno::NOENT,
            Errno::EXIST,
            Errno::NOTDIR,
            Errno::ISDIR,
            Errno::LOOP,
            Errno::XDEV,
            Errno::ACCESS,
            Errno::ROFS,
            Errno::NAMETOOLONG,
            Errno::NOSPC,
            Errno::DQUOT,
            Errno::IO,
            Errno::MFILE,
            Errno::BUSY,
        ] {
            let fault = from_errno("create", "a.md", error);
            writeln!(table, "{} | {} | {}", fault.failure, fault.message, fault.recovery_hint()).unwrap();
        }
        expect![[r#"
            not_found | `a.md` does not exist | list what exists and use one of those names
            conflict | `a.md` already exists | read the current state, then decide again
            precondition_failed | cannot create `a.md`: a part of it is a file, not a folder | bring about what the message names, then try again
            precondition_failed | cannot create `a.md`: it is a folder | name a file inside it
            sandbox_violation | cannot create `a.md`: a link on the way leaves the vault or was swapped in | use a path inside the vault, outside .obsidian, .git, .trash and .tollgate
            sandbox_violation | cannot create `a.md`: a link on the way leaves the vault or was swapped in | use a path inside the vault, outside .obsidian, .git, .trash and .tollgate
            precondition_failed | cannot create `a.md`: the system does not permit it (Permission denied (os error 13)) | give this user the right to it, or choose another folder
            precondition_failed | cannot create `a.md`: the system does not permit it (Read-only file system (os error 30)) | give this user the right to it, or choose another folder
            invalid_arguments | cannot create `a.md`: the name is too long | use a shorter name
            execution_failed | cannot create `a.md`: the disk is full; this file was not changed | free some space on the disk of the vault, then try again
            execution_failed | cannot create `a.md`: the disk is full; this file was not changed | free some space on the disk of the vault, then try again
            execution_failed | cannot create `a.md`: the disk reports an error (Input/output error (os error 5)) | check the disk of the vault before anything else is written
            dependency_unavailable | cannot create `a.md`: the system is out of handles or memory (Too many open files (os error 24)) | try again in a moment
            execution_failed | cannot create `a.md`: Device or resource busy (os error 16) | read the message; a retry without a change fails again
        "#]].assert_eq(&table);
    }

    #[test]
    fn a_short_write_without_an_error_number_is_still_a_fault() {
        let error = std::io::Error::from(std::io::ErrorKind::WriteZero);
        let fault = from_io("write", "a.md", &error);
        assert_eq!(fault.failure, envelope::Failure::ExecutionFailed);
    }
}
