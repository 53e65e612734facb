//! Seccomp filters: system calls that no command needs, and that file rules and mounts do not cover.
//!
//! The list names denied calls, not allowed ones: a command may be any program, and a sandbox that breaks ordinary
//! programs would be switched off. A denied call fails with "operation not permitted". No process is killed, so a
//! program can do without the call.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};

use super::SandboxKind;
use super::launcher_spec::LauncherSpec;

type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// A condition on one argument: its index, and how its low half compares with a value.
type ArgumentTest = (u8, SeccompCmpOp, u64);

/// Access to other processes, and parts of the kernel through which sandboxes were escaped.
const ALWAYS_DENIED: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_perf_event_open,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_fanotify_init,
    libc::SYS_open_by_handle_at,
    // Another view of the file tree, or of the system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // The machine itself.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_quotactl,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Calls that Landlock allows although they change something outside, or reach a process outside.
const DENIED_WITHOUT_NAMESPACES: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
    // Memory, queues and counters that processes of the same user share without a file.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// Calls that set the mode of a file, and the index of the argument with the mode.
const SETS_MODE: &[(i64, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mkdirat, 2),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];

/// Calls that set the mode of a file only if their flags create one: the indexes of flags and mode.
const OPENS: &[(i64, u8, u8)] = &[
    (libc::SYS_openat, 2, 3),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
];

/// The bits that let a program run with the rights of the user or group that owns its file.
const SET_ID_BITS: [u32; 2] = [libc::S_ISUID, libc::S_ISGID];

/// The flags with which `open` creates a file: by name, and without one (`O_TMPFILE` less `O_DIRECTORY`).
const MAKES_FILE: [i32; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];

/// The same on every architecture, and not in `libc` yet.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;

/// Requests to devices and file systems: typing into the terminal of the parent process, and setting flags of a file
/// that is only open for reading.
const DENIED_IOCTLS: [u64; 4] =
    [0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */, 0x4008_6602, 0x401c_5820];

/// Calls that change another process if their argument of this index is not zero, which means "myself".
const OTHER_PROCESS_CALLS: [(i64, u8); 7] = [
    (libc::SYS_prlimit64, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setaffinity, 0),
];

/// Socket families that reach a network in the ordinary way, and the one that configures it.
const NETWORK: [i32; 3] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Applies the filters to this process and everything that it becomes or starts.
pub(super) fn apply(spec: &LauncherSpec) -> Result<(), String> {
    if spec.kind == SandboxKind::Unsandboxed {
        return Ok(());
    }
    for filter in filters(spec).map_err(|error| error.to_string())? {
        apply_filter(&filter).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn filters(spec: &LauncherSpec) -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let mut denied = SyscallRules::new();
    add_common_rules(&mut denied)?;
    add_socket_rules(spec, &mut denied)?;
    if spec.kind == SandboxKind::Landlock {
        add_landlock_only_rules(&mut denied)?;
    }
    let mut unknown = SyscallRules::new();
    // Their flags are in memory, where no filter can read them. With "no such call" a program uses the older call.
    for call in [libc::SYS_clone3, libc::SYS_openat2] {
        deny(&mut unknown, call, &[])?;
    }
    let answers = [(denied, libc::EPERM), (unknown, libc::ENOSYS)];
    let compiled = answers.into_iter().map(|(rules, answer)| compiled(rules, answer));
    compiled.chain(deny_x32_calls().map(Ok)).collect()
}

fn compiled(rules: SyscallRules, answer: i32) -> Result<BpfProgram, seccompiler::BackendError> {
    let answer = SeccompAction::Errno(answer.unsigned_abs());
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, SeccompAction::Allow, answer, architecture)?.try_into()
}

fn add_common_rules(rules: &mut SyscallRules) -> Result<(), seccompiler::BackendError> {
    for call in ALWAYS_DENIED {
        deny(rules, *call, &[])?;
    }
    let namespaces = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    for flag in namespaces.map(|flag| u64::from(flag.unsigned_abs())) {
        for call in [libc::SYS_clone, libc::SYS_unshare] {
            deny(rules, call, &[(0, SeccompCmpOp::MaskedEq(flag), flag)])?;
        }
    }
    // The flag of a time namespace is a bit of the signal argument of `clone`, but not of `unshare`.
    deny(rules, libc::SYS_unshare, &[(0, SeccompCmpOp::MaskedEq(0x80), 0x80)])?;
    for order in DENIED_IOCTLS {
        deny(rules, libc::SYS_ioctl, &[(1, SeccompCmpOp::Eq, order)])?;
    }
    add_set_id_rules(rules)
}

/// Denies every call that would give a file the set-user-id or set-group-id bit.
///
/// The mounts of a command ignore these bits, but the files stay on the disk, where the next user's shell does not
/// ignore them.
fn add_set_id_rules(rules: &mut SyscallRules) -> Result<(), seccompiler::BackendError> {
    let has = |argument: u8, bits: u64| (argument, SeccompCmpOp::MaskedEq(bits), bits);
    for bit in SET_ID_BITS.map(u64::from) {
        for (call, mode) in SETS_MODE {
            deny(rules, *call, &[has(*mode, bit)])?;
        }
        for (call, flags, mode) in OPENS {
            for makes in MAKES_FILE {
                deny(rules, *call, &[has(*flags, u64::from(makes.unsigned_abs())), has(*mode, bit)])?;
            }
        }
    }
    Ok(())
}

/// Without a network, a command can only use sockets between its own processes.
///
/// Landlock does not cover connections to a socket in the file tree, such as the one of a container service or a key
/// agent. Under Landlock alone a command gets pairs of connected sockets only, of the kinds that cannot be connected to
/// another address.
fn add_socket_rules(spec: &LauncherSpec, rules: &mut SyscallRules) -> Result<(), seccompiler::BackendError> {
    let mut families: Vec<i32> = if spec.profile.network { NETWORK.to_vec() } else { Vec::new() };
    let pair_only = spec.kind == SandboxKind::Landlock;
    if !pair_only {
        families.push(libc::AF_UNIX);
    }
    let all_others: Vec<ArgumentTest> =
        families.iter().map(|family| (0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs()))).collect();
    deny(rules, libc::SYS_socket, &all_others)?;
    let unix = u64::from(libc::AF_UNIX.unsigned_abs());
    deny(rules, libc::SYS_socketpair, &[(0, SeccompCmpOp::Ne, unix)])?;
    if pair_only {
        let kind = SeccompCmpOp::MaskedEq(0xf);
        for loose in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
            deny(rules, libc::SYS_socketpair, &[(1, kind.clone(), u64::from(loose.unsigned_abs()))])?;
        }
    }
    Ok(())
}

fn add_landlock_only_rules(rules: &mut SyscallRules) -> Result<(), seccompiler::BackendError> {
    for call in DENIED_WITHOUT_NAMESPACES {
        deny(rules, *call, &[])?;
    }
    // Times are set by path or by an open file. Landlock has checked an open file, but not a path.
    let by_path = SeccompCondition::new(1, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    rules.entry(libc::SYS_utimensat).or_default().push(SeccompRule::new(vec![by_path])?);
    for (call, who) in OTHER_PROCESS_CALLS {
        deny(rules, call, &[(who, SeccompCmpOp::Ne, 0)])?;
    }
    // Whole groups and users, even for "myself".
    deny(rules, libc::SYS_setpriority, &[(0, SeccompCmpOp::Ne, 0)])?;
    deny(rules, libc::SYS_ioprio_set, &[(0, SeccompCmpOp::Ne, 1)])
}

/// Denies a call if all tests hold. Without tests it is always denied, and stays so.
fn deny(
    rules: &mut SyscallRules,
    call: i64,
    tests: &[ArgumentTest],
) -> Result<(), seccompiler::BackendError> {
    let known = rules.contains_key(&call);
    let rules = rules.entry(call).or_default();
    if tests.is_empty() {
        rules.clear();
    } else if !known || !rules.is_empty() {
        let conditions = tests.iter().map(|(argument, how, value)| {
            SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, how.clone(), *value)
        });
        rules.push(SeccompRule::new(conditions.collect::<Result<_, _>>()?)?);
    }
    Ok(())
}

/// On x86-64 every call has a second number, for the x32 ABI, which the rules above do not name. Such programs are
/// practically extinct, so all of these numbers fail with "no such call".
fn deny_x32_calls() -> Option<BpfProgram> {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const ANSWER: u16 = 0x06;
    const SECOND_NUMBERS: u32 = 0x4000_0000;
    const FAIL: u32 = 0x0005_0000;
    const ALLOW: u32 = 0x7fff_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    cfg!(target_arch = "x86_64").then(|| {
        vec![
            step(LOAD_NUMBER, 0, 0, 0),
            step(JUMP_IF_AT_LEAST, 0, 1, SECOND_NUMBERS),
            step(ANSWER, 0, 0, FAIL | libc::ENOSYS.unsigned_abs()),
            step(ANSWER, 0, 0, ALLOW),
        ]
    })
}
