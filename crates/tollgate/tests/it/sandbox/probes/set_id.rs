//! Files that would run with the rights of whoever owns them. Each way to make one leaves it in `notes`, where
//! `left` looks for it.

use super::ProbeUser::{Everyone, Somewhere};
use super::{SandboxProbe, probe};

/// 2541 is 04755, 1517 is 02755, 36333 is a plain file with 06755; 65 is `O_CREAT | O_WRONLY`, 4259841 is
/// `O_TMPFILE | O_WRONLY`.
pub(super) const ALL: &[SandboxProbe] = &[
    probe("chmod to set-user-id", Everyone, "cp /bin/true notes/t; call 90 notes/t 2541; left"),
    probe("chmod to set-group-id", Everyone, "cp /bin/true notes/t; call 90 notes/t 1517; left"),
    probe("chmod by its program", Everyone, "cp /bin/true notes/t; chmod u+s,g+s notes/t; left"),
    probe("chmod a folder to set-group-id", Everyone, "chmod g+s notes; left"),
    probe(
        "fchmod to set-user-id",
        Everyone,
        r#"cp /bin/true notes/t; perl -e 'open(F, "<", "notes/t"); syscall(91, fileno(F), 04755)'; left"#,
    ),
    probe("fchmodat to set-user-id", Everyone, "cp /bin/true notes/t; call 268 -100 notes/t 2541; left"),
    probe("fchmodat2 to set-user-id", Somewhere, "cp /bin/true notes/t; call 452 -100 notes/t 2541 0; left"),
    probe("open a new file with set-user-id", Everyone, "call 2 notes/t 65 2541; left"),
    probe("openat a new file with set-group-id", Everyone, "call 257 -100 notes/t 65 1517; left"),
    probe(
        "openat2 a new file with set-user-id",
        Everyone,
        r#"perl -e '$how = pack("QQQ", 65, 04755, 0); $path = "notes/t"; syscall(437, -100, $path, $how, 24)'; left"#,
    ),
    probe("creat a file with set-user-id", Everyone, "call 85 notes/t 2541; left"),
    probe("mknod a file with both", Everyone, "call 133 notes/t 36333 0; left"),
    probe("mknodat a file with both", Everyone, "call 259 -100 notes/t 36333 0; left"),
    probe(
        "open a file without a name with set-user-id and name it",
        Everyone,
        r#"perl -e '($in, $to) = ("notes", "notes/t"); $f = syscall(257, -100, $in, 4259841, 04755);
            $from = "/proc/self/fd/$f"; syscall(265, -100, $from, -100, $to, 0x400)'; left"#,
    ),
    probe(
        "unpack an archive with set-user-id",
        Everyone,
        "cp /bin/true notes/t; tar -cf notes/n.tar --mode=4755 notes/t; rm notes/t; tar -xpf notes/n.tar; left",
    ),
];
