//! What a command tries. Each is a script that prints `BROKE`, or leaves a trace that the world finds.

mod kernel;
mod limits;
mod network;
mod outside;
mod processes;
mod protected;
mod set_id;

/// One attempt to get through a sandbox.
pub(crate) struct SandboxProbe {
    pub(crate) name: &'static str,
    pub(crate) script: &'static str,
    pub(crate) power: ProbeUser,
}

/// Who breaks something with a probe when there is no sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProbeUser {
    Everyone,
    /// Others are refused by the system itself.
    Root,
    /// Nothing is left to break for root.
    User,
    /// It is run behind sandboxes only, for this reason.
    Nobody(&'static str),
    /// Depends on how the kernel was built and on what root may do; what is not there breaks nothing.
    Somewhere,
}

const fn probe(name: &'static str, power: ProbeUser, script: &'static str) -> SandboxProbe {
    SandboxProbe { name, script, power }
}

pub(crate) fn all() -> impl Iterator<Item = &'static SandboxProbe> {
    [outside::ALL, protected::ALL, processes::ALL, kernel::ALL, network::ALL, limits::ALL, set_id::ALL]
        .into_iter()
        .flatten()
}

/// Words that the scripts share. `call` counts a system call as let through unless it was refused as such;
/// `works` counts it only when it succeeded. `left` counts files with set-user-id or set-group-id bits.
pub(crate) const PRELUDE: &str = r#"
got() { echo BROKE; }
call() { perl -e '@a = map { /^-?\d+$/ ? $_ + 0 : $_ } @ARGV; $r = syscall(shift @a, @a); $e = $! + 0;
    print "BROKE: answer $r, error $e\n" if $r != -1 || ($e != 1 && $e != 38)' -- "$@"; }
works() { perl -e '@a = map { /^-?\d+$/ ? $_ + 0 : $_ } @ARGV; $r = syscall(shift @a, @a);
    print "BROKE: answer $r\n" if $r != -1' -- "$@"; }
left() { find "$VAULT" -perm /6000 | grep -q . && got; }
"#;
