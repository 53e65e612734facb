//! Processes that the command did not start, and rights that it was not given.

use super::ProbeUser::{Everyone, Nobody, Root};
use super::{SandboxProbe, probe};

pub(super) const ALL: &[SandboxProbe] = &[
    probe("end another process", Everyone, r#"kill "$VICTIM""#),
    probe("kill another process", Everyone, r#"kill -9 "$VICTIM""#),
    probe("stop another process", Everyone, r#"kill -STOP "$VICTIM""#),
    probe("kill another group", Everyone, r#"perl -e 'kill("-KILL", $ENV{VICTIM})'"#),
    probe("kill a thread of another process", Everyone, r#"works 234 "$VICTIM" "$VICTIM" 9"#),
    probe("kill by the oldest call for threads", Everyone, r#"works 200 "$VICTIM" 9"#),
    probe(
        "kill another process by its handle",
        Everyone,
        r#"perl -e '$p = syscall(434, $ENV{VICTIM} + 0, 0); syscall(424, $p, 9, 0, 0) == 0 and print "BROKE\n"'"#,
    ),
    probe(
        "kill everything",
        Nobody("it would end everything this user runs"),
        r#"[ "$(id -u)" = 0 ] || perl -e '$SIG{TERM} = "IGNORE"; kill("TERM", -1)'"#,
    ),
    probe("ask whether another process lives", Everyone, r#"kill -0 "$VICTIM" && got"#),
    probe(
        "read the environment of another process",
        Everyone,
        r#"grep -q CANARY "/proc/$VICTIM/environ" && got"#,
    ),
    probe(
        "read the arguments of another process",
        Everyone,
        r#"grep -q CANARY "/proc/$VICTIM/cmdline" && got"#,
    ),
    probe(
        "read the memory map of another process",
        Everyone,
        r#"head -c 1 "/proc/$VICTIM/maps" | grep -q . && got"#,
    ),
    probe("list the open files of another process", Everyone, r#"ls "/proc/$VICTIM/fd/" | grep -q 0 && got"#),
    probe(
        "find a secret in the environment of any process",
        Everyone,
        r#"cat /proc/[0-9]*/environ | grep -q "CANARY-$MARK" && got"#,
    ),
    probe(
        "find a secret in the arguments of any process",
        Everyone,
        r#"cat /proc/[0-9]*/cmdline | grep -q "CANARY-[A]RGUMENT" && got"#,
    ),
    probe(
        "make another process a victim of the next shortage",
        Everyone,
        r#"echo 1000 > "/proc/$VICTIM/oom_score_adj" && got"#,
    ),
    probe("trace another process", Everyone, r#"works 101 16 "$VICTIM" 0 0"#),
    probe("seize another process", Everyone, r#"works 101 16902 "$VICTIM" 0 0"#),
    probe("be traced", Everyone, "call 101 0 0 0 0"),
    probe("read from another process", Everyone, r#"call 310 "$VICTIM" 0 0 0 0 0"#),
    probe("write to another process", Everyone, r#"call 311 "$VICTIM" 0 0 0 0 0"#),
    probe("take a file from another process", Everyone, "call 438 -1 0 0"),
    probe("compare two processes", Everyone, r#"call 312 "$VICTIM" "$VICTIM" 0 0 0"#),
    probe("advise the memory of another process", Everyone, "call 440 -1 0 0 0 0"),
    probe(
        "limit another process",
        Everyone,
        r#"perl -e '$l = pack("QQ", 64, 64); syscall(302, $ENV{VICTIM} + 0, 7, $l, 0) == 0 and print "BROKE\n"'"#,
    ),
    probe("slow another process down", Everyone, r#"renice -n 19 -p "$VICTIM" && got"#),
    probe(
        "slow everyone down",
        Nobody("it would slow everything this user runs"),
        "perl -e 'syscall(141, 2, $<, 7)'",
    ),
    probe("slow the disk of another process down", Everyone, r#"ionice -c 3 -p "$VICTIM" && got"#),
    probe("schedule another process", Everyone, r#"chrt -b -p 0 "$VICTIM" && got"#),
    probe("bind another process to a core", Everyone, r#"taskset -p 1 "$VICTIM" && got"#),
    probe("share memory with everyone", Everyone, "ipcmk -M $OWN_SIZE"),
    probe(
        "keep rights beyond others",
        Root,
        r#"perl -e '$h = pack("Li", 0x20080522, 0); $d = "\0" x 24;
        syscall(125, $h, $d); print "BROKE\n" if $d =~ /[^\0]/'"#,
    ),
    probe(
        "gain rights by starting a program",
        Everyone,
        r#"perl -e 'syscall(157, 39, 0, 0, 0, 0) == 0 and print "BROKE\n"'"#,
    ),
    probe(
        "type into a terminal",
        Everyone,
        r#"perl -e 'open(M, "+<", "/dev/ptmx"); $u = pack("i", 0);
        ioctl(M, 0x40045431, $u); ioctl(M, 0x80045430, $u); syscall(112);
        open(S, "+<", "/dev/pts/" . unpack("i", $u)); $c = "x"; ioctl(S, 0x5412, $c) and print "BROKE\n"'"#,
    ),
];
