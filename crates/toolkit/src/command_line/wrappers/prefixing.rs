//! Programs that take options of their own and then a command: `sudo`, `nice`, `timeout` and their like.

use super::{Call, Inner};
use crate::command_line::options::Options;

struct Wrapper {
    name: &'static str,
    options: Options,
    /// Its own operands before the command.
    operands: usize,
    /// Letters with which it starts a shell or an editor instead.
    shell_letters: &'static str,
}

const fn wrapper(name: &'static str, flags: &'static str, values: &'static str) -> Wrapper {
    Wrapper { name, options: Options::short(flags, values), operands: 0, shell_letters: "" }
}

impl Wrapper {
    const fn long(self, flags: &'static [&'static str], values: &'static [&'static str]) -> Wrapper {
        Wrapper { options: self.options.long(flags, values), ..self }
    }

    const fn operands(self, operands: usize) -> Wrapper {
        Wrapper { operands, ..self }
    }

    const fn shell(self, shell_letters: &'static str) -> Wrapper {
        Wrapper { shell_letters, ..self }
    }
}

/// The ones whose options we know.
const KNOWN: [Wrapper; 20] = [
    wrapper("sudo", "ABEHKNPSVbeiklnsv", "CDRTUghprtu")
        .long(
            &[
                "askpass",
                "background",
                "preserve-env",
                "set-home",
                "login",
                "shell",
                "non-interactive",
                "stdin",
            ],
            &["user", "group", "host", "prompt", "chdir", "chroot", "role", "type", "close-from"],
        )
        .shell("eils"),
    wrapper("doas", "Lns", "Cua").shell("s"),
    wrapper("nice", "", "n").long(&[], &["adjustment"]),
    wrapper("nohup", "", ""),
    wrapper("timeout", "v", "ks")
        .long(&["foreground", "preserve-status", "verbose"], &["kill-after", "signal"])
        .operands(1),
    wrapper("gtimeout", "v", "ks").operands(1),
    wrapper("time", "apqvV", "fo")
        .long(&["append", "portability", "quiet", "verbose"], &["format", "output"]),
    wrapper("gtime", "apqvV", "fo"),
    wrapper("stdbuf", "", "ioe").long(&[], &["input", "output", "error"]),
    wrapper("setsid", "cfw", "").long(&["ctty", "fork", "wait"], &[]),
    wrapper("ionice", "t", "cn").long(&["ignore"], &["class", "classdata"]),
    wrapper("chrt", "abdfior", "TPD").operands(1),
    wrapper("taskset", "ac", "").operands(1),
    wrapper("chroot", "", "").long(&["skip-chdir"], &["userspec", "groups"]).operands(1),
    wrapper("unshare", "CTUcfimnpru", "GSRw").long(
        &[
            "mount",
            "uts",
            "ipc",
            "net",
            "pid",
            "user",
            "cgroup",
            "time",
            "fork",
            "map-root-user",
            "map-current-user",
            "mount-proc",
            "kill-child",
            "keep-caps",
        ],
        &["map-user", "map-group", "root", "wd", "setuid", "setgid"],
    ),
    wrapper("busybox", "", ""),
    wrapper("toybox", "", ""),
    wrapper("builtin", "", ""),
    wrapper("exec", "cl", "a"),
    wrapper("caffeinate", "dimsu", "tw"),
];

/// The ones that run something of which their words show a part at best.
const UNCLEAR: [&str; 86] = [
    "flatpak",
    "flatpak-spawn",
    "snap",
    "lxc",
    "nerdctl",
    "distrobox",
    "toolbox",
    "catchsegv",
    "machinectl",
    "run-parts",
    "runparts",
    "coreutils",
    "capsh",
    "gosu",
    "su-exec",
    "sg",
    "newgrp",
    "tini",
    "dumb-init",
    "daemonize",
    "chpst",
    "envdir",
    "setuidgid",
    "softlimit",
    "numactl",
    "cpulimit",
    "proot",
    "fakechroot",
    "hyperfine",
    "chronic",
    "ifne",
    "pee",
    "sem",
    "logsave",
    "dtach",
    "socat",
    "systemd-nspawn",
    "su",
    "runuser",
    "pkexec",
    "runcon",
    "nsenter",
    "setpriv",
    "prlimit",
    "flock",
    "script",
    "watch",
    "entr",
    "parallel",
    "expect",
    "unbuffer",
    "rlwrap",
    "strace",
    "ltrace",
    "gdb",
    "lldb",
    "valgrind",
    "perf",
    "systemd-run",
    "systemd-inhibit",
    "dbus-run-session",
    "dbus-launch",
    "xvfb-run",
    "ssh-agent",
    "torsocks",
    "torify",
    "proxychains",
    "firejail",
    "bwrap",
    "fakeroot",
    "faketime",
    "direnv",
    "nix-shell",
    "nix",
    "docker",
    "podman",
    "kubectl",
    "at",
    "batch",
    "crontab",
    "tmux",
    "screen",
    "npx",
    "uvx",
    "start-stop-daemon",
    "setarch",
];

/// Options behind which one of the unclear takes a text for a shell.
const TEXT_OPTIONS: [&str; 4] = ["-c", "--command", "--run", "--call"];

pub(super) fn knows(family: &str) -> bool {
    family == "command" || known(family).is_some() || UNCLEAR.contains(&family)
}

fn known(family: &str) -> Option<&'static Wrapper> {
    KNOWN.iter().find(|wrapper| wrapper.name == family)
}

pub(super) fn behind(call: Call<'_>) -> Option<Vec<Inner>> {
    if UNCLEAR.contains(&call.family) {
        return Some(unclear(call));
    }
    if call.family == "command" {
        return Some(command(call));
    }
    let wrapper = known(call.family)?;
    let split = wrapper.options.split(call.words);
    let mut inner = Vec::new();
    if split.has_short(wrapper.shell_letters) {
        inner.push(Inner::hidden(format!("`{}` starts a shell or an editor", call.family)));
    }
    if let Some(unknown) = split.unknown.filter(|word| !is_niceness(call.family, word)) {
        inner.push(Inner::hidden(format!("the option `{unknown}` of `{}`", call.family)));
    }
    let rest = split.rest.get(wrapper.operands..).unwrap_or_default();
    let takes_variables = matches!(call.family, "sudo" | "doas");
    let argv: Vec<String> =
        rest.iter().skip_while(|word| takes_variables && word.contains('=')).cloned().collect();
    if argv.is_empty() {
        inner.push(Inner::hidden(format!("`{}` without a command", call.family)));
    } else {
        inner.push(Inner::Command { by: call.family.to_owned(), argv });
    }
    Some(inner)
}

/// `nice -10`: the number is the option.
fn is_niceness(family: &str, word: &str) -> bool {
    family == "nice" && word.len() > 1 && word[1..].chars().all(|c| c.is_ascii_digit())
}

/// `command -v` only asks where a program is.
fn command(call: Call<'_>) -> Vec<Inner> {
    let split = Options::short("pvV", "").split(call.words);
    if split.has_short("vV") {
        return Vec::new();
    }
    let mut inner = Vec::new();
    if let Some(unknown) = split.unknown {
        inner.push(Inner::hidden(format!("the option `{unknown}` of `command`")));
    }
    if !split.rest.is_empty() {
        inner.push(Inner::Command { by: "command".to_owned(), argv: split.rest.to_vec() });
    }
    inner
}

fn unclear(call: Call<'_>) -> Vec<Inner> {
    let by = call.family;
    let mut inner = vec![Inner::hidden(format!("what `{by}` runs cannot be told from its words"))];
    let mut texts = Vec::new();
    for option in TEXT_OPTIONS {
        for text in super::values_of(call.words, option) {
            texts.push(text);
            inner.push(Inner::Text { by: format!("{by} {option}"), text: text.to_owned() });
        }
    }
    // Every word may be where the command begins: a forbidden program must not slip through as somebody's
    // value. The first that is no option is the likeliest.
    let is_start = |word: &String| !word.starts_with('-') && !texts.contains(&word.as_str());
    let mut starts = call.words.iter().enumerate().filter(|(_, word)| is_start(word));
    if let Some((at, word)) = starts.next() {
        let by = by.to_owned();
        inner.push(match word.contains(' ') {
            true => Inner::Text { by, text: word.clone() },
            false => Inner::Command { by, argv: call.words[at..].to_vec() },
        });
    }
    inner.extend(
        starts.take(3).map(|(at, _)| Inner::Guess { by: by.to_owned(), argv: call.words[at..].to_vec() }),
    );
    inner
}
