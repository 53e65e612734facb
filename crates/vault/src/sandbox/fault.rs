//! From an error number of the system to a fault that says what to do.

use envelope::{Failure, Fault};
use rustix::io::Errno;

/// What the system's refusal means for a caller who tried to do `doing` at `path`.
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
            format!("cannot {doing} `{path}`: the disk is full; no file was changed"),
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

/// The path, or a link on the way, ends in a folder that no tool may touch.
pub(crate) fn protected(path: &str, by: &str) -> Fault {
    Fault::new(
        Failure::SandboxViolation,
        format!("`{path}` lies in `{by}`, which belongs to another program or to Tollgate itself"),
    )
    .detail("protected", by)
    .hint("use a path outside .obsidian, .git, .trash and .tollgate")
}

pub(super) fn leaves(path: &str, link: &str) -> Fault {
    Fault::new(Failure::SandboxViolation, format!("`{path}` leaves the vault through the link `{link}`"))
        .detail("link", link)
        .hint("use a path that reaches its file without that link")
}

/// Something with the same name for a person, or for another system, is already there.
pub(super) fn twin(wanted: &str, existing: &str) -> Fault {
    Fault::new(
        Failure::Conflict,
        format!("`{wanted}` and the existing `{existing}` are the same name on many systems"),
    )
    .detail("existing", existing)
    .hint(format!("write `{existing}` as it is spelled, or choose a name that differs in more than case"))
}

/// Something swaps the path under us faster than we can look.
pub(super) fn restless(path: &str) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` keeps changing while it is looked up"))
        .hint("try again when the other program has finished")
        .retryable(true)
}
