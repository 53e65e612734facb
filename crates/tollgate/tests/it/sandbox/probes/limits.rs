//! More than a command may use. The limits are small behind sandboxes and large without one.

use super::ProbeUser::{Everyone, Nobody, Somewhere};
use super::{SandboxProbe, probe};

pub(super) const ALL: &[SandboxProbe] = &[
    probe("use more memory", Everyone, r#"perl -e '$x = "a" x (400 << 20); print "BROKE\n"'"#),
    probe(
        "use more memory in small pieces",
        Everyone,
        r#"perl -e 'push @x, "a" x (1 << 20) for 1 .. 400; print "BROKE\n"'"#,
    ),
    probe(
        "start more processes",
        Everyone,
        r#"perl -e 'for (1 .. 300) { $p = fork; exit 1 unless defined $p; if (!$p) { sleep 20; exit } push @p, $p }
            select(undef, undef, undef, 1.5); print "BROKE\n"; kill 9, @p'"#,
    ),
    probe(
        "write a larger file",
        Everyone,
        r#"head -c 20000000 /dev/zero > notes/big
        [ "$(stat -c %s notes/big)" -gt 9000000 ] && got"#,
    ),
    probe(
        "stretch a larger file",
        Everyone,
        r#"truncate -s 20000000 notes/big
        [ "$(stat -c %s notes/big)" -gt 9000000 ] && got"#,
    ),
    probe(
        "open more files",
        Everyone,
        r#"perl -e 'for (1 .. 300) { open(my $f, "<", "notes/a.md") or exit 1; push @f, $f }
        print "BROKE\n"'"#,
    ),
    probe(
        "leave a core",
        Somewhere,
        "cd notes; ulimit -c unlimited; sh -c 'kill -QUIT $$'; ls | grep -q core && got",
    ),
    probe(
        "leave a core without asking",
        Nobody("no command leaves one, with or without a kind"),
        "cd notes; sh -c 'kill -QUIT $$'; ls | grep -q core && got",
    ),
    probe("raise the limit of files", Somewhere, "ulimit -f unlimited && got"),
    probe("raise the limit of memory", Somewhere, "ulimit -d unlimited && got"),
    probe(
        "see what the one that started it has in its environment",
        Nobody("an environment is never inherited"),
        "printenv | grep -q '^CARGO' && got",
    ),
];
