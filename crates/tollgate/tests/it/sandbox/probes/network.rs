//! Sockets: to the network, to the same machine, to a service that listens in the file tree.

use super::ProbeUser::{Everyone, Root, Somewhere};
use super::{SandboxProbe, probe};

pub(super) const ALL: &[SandboxProbe] = &[
    probe(
        "connect to a port of this machine",
        Everyone,
        r#"perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr => "127.0.0.1:$ENV{TCP}", Timeout => 2) and print "BROKE\n"'"#,
    ),
    probe("connect by the shell", Everyone, r#"bash -c 'exec 3<> "/dev/tcp/127.0.0.1/$TCP"' && got"#),
    probe(
        "send a datagram to this machine",
        Everyone,
        r#"perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(Proto => "udp", PeerAddr => "127.0.0.1:$ENV{UDP}") and $s->send("x")'"#,
    ),
    probe(
        "send a datagram to a server of names",
        Everyone,
        r#"perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 17) and print "BROKE\n"'"#,
    ),
    probe(
        "listen on a port",
        Everyone,
        r#"perl -MIO::Socket::INET -e 'IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:0") and print "BROKE\n"'"#,
    ),
    probe(
        "a socket of the sixth version",
        Everyone,
        r#"perl -MSocket -e 'socket(S, PF_INET6, SOCK_STREAM, 6) and print "BROKE\n"'"#,
    ),
    probe("a socket to the kernel", Everyone, "call 41 16 3 0"),
    probe("a socket for whole packets", Root, "call 41 17 3 768"),
    probe("a raw socket", Root, "call 41 2 3 1"),
    probe("a socket to the host of this machine", Everyone, "call 41 40 1 0"),
    probe("a socket for ciphers", Everyone, "call 41 38 5 0"),
    probe("a socket of a family that nobody knows", Everyone, "call 41 99 1 0"),
    probe("a pair of a network family", Everyone, r#"call 53 2 1 0 "12345678""#),
    probe(
        "connect to a service that listens in the file tree",
        Everyone,
        r#"perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => "$ENV{BASE}/host.sock") and print "BROKE\n"'"#,
    ),
    probe(
        "send to a service that listens in the file tree",
        Everyone,
        r#"perl -MSocket -e 'socket(S, PF_UNIX, SOCK_DGRAM, 0) and send(S, "x", 0, pack_sockaddr_un("$ENV{BASE}/host.dgram"))'"#,
    ),
    probe(
        "send there from one of a pair",
        Everyone,
        r#"perl -MSocket -e 'socketpair(S, T, PF_UNIX, SOCK_DGRAM, 0) and send(S, "x", 0, pack_sockaddr_un("$ENV{BASE}/host.dgram"))'"#,
    ),
    probe(
        "send there from one of a raw pair",
        Everyone,
        r#"perl -MSocket -e 'socketpair(S, T, PF_UNIX, SOCK_RAW, 0) and send(S, "x", 0, pack_sockaddr_un("$ENV{BASE}/host.dgram"))'"#,
    ),
    probe(
        "connect to a service that listens under a name alone",
        Everyone,
        r#"perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) and connect(S, pack("S", 1) . "\0" . $ENV{ABSTRACT}) and print "BROKE\n"'"#,
    ),
    probe("look names up at a service", Somewhere, r#"getent hosts example.com && got"#),
];
