//! Programs that take options and then a command: `sudo`, `nice`, `timeout` and similar ones.

use super::{InnerCommand, WrapperCall};
use crate::option_table::OptionTable;

struct PrefixCommand {
    name: &'static str,
    options: OptionTable,
    /// Number of its own operands before the command.
    operands: usize,
    /// Letters with which it starts a shell or an editor instead.
    shell_letters: &'static str,
}

const fn wrapper(name: &'static str, flags: &'static str, values: &'static str) -> PrefixCommand {
    PrefixCommand { name, options: OptionTable::short(flags, values), operands: 0, shell_letters: "" }
}

impl PrefixCommand {
    const fn long(self, flags: &'static [&'static str], values: &'static [&'static str]) -> PrefixCommand {
        PrefixCommand { options: self.options.long(flags, values), ..self }
    }

    const fn operands(self, operands: usize) -> PrefixCommand {
        PrefixCommand { operands, ..self }
    }

    const fn shell(self, shell_letters: &'static str) -> PrefixCommand {
        PrefixCommand { shell_letters, ..self }
    }
}

/// Programs with known options.
const KNOWN: [PrefixCommand; 20] = [
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

/// Programs whose words do not show everything that they run.
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

/// Options of those programs that take a text for a shell.
const TEXT_OPTIONS: [&str; 4] = ["-c", "--command", "--run", "--call"];

pub(super) fn is_prefix_command(family: &str) -> bool {
    family == "command" || known(family).is_some() || UNCLEAR.contains(&family)
}

fn known(family: &str) -> Option<&'static PrefixCommand> {
    KNOWN.iter().find(|wrapper| wrapper.name == family)
}

pub(super) fn inner_commands(call: WrapperCall<'_>) -> Option<Vec<InnerCommand>> {
    if UNCLEAR.contains(&call.family) {
        return Some(unparsed_commands(call));
    }
    if call.family == "command" {
        return Some(command(call));
    }
    let wrapper = known(call.family)?;
    let split = wrapper.options.split(call.words);
    let mut inner = Vec::new();
    if split.has_short(wrapper.shell_letters) {
        inner.push(InnerCommand::hidden(format!("`{}` starts a shell or an editor", call.family)));
    }
    if let Some(unknown) = split.unknown.filter(|word| !is_niceness(call.family, word)) {
        inner.push(InnerCommand::hidden(format!("the option `{unknown}` of `{}`", call.family)));
    }
    let rest = split.rest.get(wrapper.operands..).unwrap_or_default();
    let takes_variables = matches!(call.family, "sudo" | "doas");
    let argv: Vec<String> =
        rest.iter().skip_while(|word| takes_variables && word.contains('=')).cloned().collect();
    if argv.is_empty() {
        inner.push(InnerCommand::hidden(format!("`{}` without a command", call.family)));
    } else {
        inner.push(InnerCommand::Command { by: call.family.to_owned(), argv });
    }
    Some(inner)
}

/// `nice -10`: the number is the option.
fn is_niceness(family: &str, word: &str) -> bool {
    family == "nice" && word.len() > 1 && word[1..].chars().all(|c| c.is_ascii_digit())
}

/// `command -v` only prints where a program is.
fn command(call: WrapperCall<'_>) -> Vec<InnerCommand> {
    let split = OptionTable::short("pvV", "").split(call.words);
    if split.has_short("vV") {
        return Vec::new();
    }
    let mut inner = Vec::new();
    if let Some(unknown) = split.unknown {
        inner.push(InnerCommand::hidden(format!("the option `{unknown}` of `command`")));
    }
    if !split.rest.is_empty() {
        inner.push(InnerCommand::Command { by: "command".to_owned(), argv: split.rest.to_vec() });
    }
    inner
}

fn unparsed_commands(call: WrapperCall<'_>) -> Vec<InnerCommand> {
    let by = call.family;
    let mut inner = vec![InnerCommand::hidden(format!("`{by}` runs something that its words do not show"))];
    let mut texts = Vec::new();
    for option in TEXT_OPTIONS {
        for text in super::values_of(call.words, option) {
            texts.push(text);
            inner.push(InnerCommand::Text { by: format!("{by} {option}"), text: text.to_owned() });
        }
    }
    // Any word may be where the command begins: a forbidden program must not be mistaken for a value. The first word
    // that is not an option is the most likely one.
    let is_start = |word: &String| !word.starts_with('-') && !texts.contains(&word.as_str());
    let mut starts = call.words.iter().enumerate().filter(|(_, word)| is_start(word));
    if let Some((at, word)) = starts.next() {
        let by = by.to_owned();
        inner.push(match word.contains(' ') {
            true => InnerCommand::Text { by, text: word.clone() },
            false => InnerCommand::Command { by, argv: call.words[at..].to_vec() },
        });
    }
    inner.extend(
        starts
            .take(3)
            .map(|(at, _)| InnerCommand::Guess { by: by.to_owned(), argv: call.words[at..].to_vec() }),
    );
    inner
}
