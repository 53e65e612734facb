//! A person's system in a temporary folder, and what is left of it after a command.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use shell::sandbox::{
    CommandWorkdir, ExecPolicy, LaunchSpec, PreparedCommand, ResourceLimits, SandboxKind, SandboxProfile,
    prepare_command,
};

use crate::sandbox::probes::PRELUDE;

/// The binary that stands between the start of a process and the start of a command.
pub(crate) fn launcher() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_tollgate"))
}

pub(crate) struct ProbeWorld {
    base: tempfile::TempDir,
    mark: String,
    tcp: TcpListener,
    udp: UdpSocket,
    stream: UnixListener,
    datagram: UnixDatagram,
    named: UnixListener,
    victim: Child,
}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl ProbeWorld {
    pub(crate) fn new() -> ProbeWorld {
        let base = tempfile::tempdir().unwrap();
        let mark = format!("tollgate-probe-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        for (path, text) in FILES {
            let path = base.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir(base.path().join("outside/empty")).unwrap();
        let program = base.path().join("outside/program");
        fs::set_permissions(program, Permissions::from_mode(0o755)).unwrap();
        let named = SocketAddr::from_abstract_name(&mark).unwrap();
        // Perl, since its arguments are its own: what a person's programs are told may be secret.
        let victim = Command::new("perl")
            .args(["-e", "sleep 120", "CANARY-ARGUMENT"])
            .env("TOKEN", format!("CANARY-{mark}"))
            .current_dir(base.path().join("outside"))
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        ProbeWorld {
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            stream: UnixListener::bind(base.path().join("host.sock")).unwrap(),
            datagram: UnixDatagram::bind(base.path().join("host.dgram")).unwrap(),
            named: UnixListener::bind_addr(&named).unwrap(),
            victim,
            base,
            mark,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    pub(crate) fn vault(&self) -> PathBuf {
        self.path("vault").canonicalize().unwrap()
    }

    /// As the policy of a careful person has it, with limits that a test can reach.
    pub(crate) fn reach(&self, kind: SandboxKind) -> SandboxProfile {
        let limits = match kind {
            SandboxKind::Bubblewrap | SandboxKind::Landlock => ResourceLimits {
                memory_bytes: 256 << 20,
                processes: 64,
                file_bytes: 8 << 20,
                open_files: 128,
            },
            SandboxKind::Unsandboxed => ResourceLimits {
                memory_bytes: 8 << 30,
                processes: 5000,
                file_bytes: 1 << 30,
                open_files: 4096,
            },
        };
        SandboxProfile {
            root: self.vault(),
            protected: [".obsidian", ".git", ".trash", ".stversions"].map(str::to_owned).to_vec(),
            hidden: vec![".tollgate".to_owned()],
            readable: vec![self.path("readable")],
            writable: Vec::new(),
            network: false,
            exec: ExecPolicy::unrestricted(),
            limits,
        }
    }

    /// The script as a command, with the places that it needs to know in its environment.
    pub(crate) fn launch(&self, script: &str) -> LaunchSpec {
        let places = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".to_owned()),
            ("BASE", self.base.path().display().to_string()),
            ("VAULT", self.vault().display().to_string()),
            ("OUT", self.path("outside").display().to_string()),
            ("PERSON", self.path("home").display().to_string()),
            ("READABLE", self.path("readable").display().to_string()),
            ("MARK", self.mark.clone()),
            ("ABSTRACT", self.mark.clone()),
            ("OWN_SIZE", self.own_size().to_string()),
            ("VICTIM", self.victim.id().to_string()),
            ("TCP", self.tcp.local_addr().unwrap().port().to_string()),
            ("UDP", self.udp.local_addr().unwrap().port().to_string()),
        ];
        LaunchSpec {
            argv: ["/bin/sh", "-c", &format!("{PRELUDE}\n{script}")].map(OsString::from).to_vec(),
            workdir: CommandWorkdir::Vault(self.vault()),
            env: places.map(|(name, value)| (name.into(), value.into())).to_vec(),
            tty: false,
            start_notifier: None,
        }
    }

    /// A number of bytes that no other world asks for: shared memory bears no name.
    fn own_size(&self) -> u32 {
        4096 + self.victim.id()
    }

    /// Runs a script behind a sandbox to its end.
    pub(crate) fn run(&self, kind: SandboxKind, script: &str) -> Output {
        self.run_in(kind, &self.reach(kind), script)
    }

    pub(crate) fn run_in(&self, kind: SandboxKind, reach: &SandboxProfile, script: &str) -> Output {
        let PreparedCommand { mut command, resources } =
            prepare_command(kind, reach, &self.launch(script), &launcher()).unwrap();
        let output = command.stdin(Stdio::null()).output().unwrap();
        drop(resources);
        output
    }

    /// What a script broke: what it says itself, and what has changed in the world.
    pub(crate) fn broken_by(&mut self, kind: SandboxKind, script: &str) -> Option<String> {
        let before = self.snapshot();
        let output = self.run(kind, script);
        if script.contains("ipcmk")
            && let Some(segment) = shared(self.own_size())
        {
            let removed = Command::new("ipcrm").args(["-m", &segment]).status();
            return Some(format!("shared memory {segment}, removed: {removed:?}"));
        }
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let after = self.snapshot();
        if said.contains("BROKE") {
            Some(format!("it says {}", said.trim()))
        } else if before != after {
            let changed: Vec<_> = before
                .iter()
                .filter(|entry| !after.contains(entry))
                .chain(after.iter().filter(|entry| !before.contains(entry)))
                .collect();
            Some(format!("changed: {changed:?}"))
        } else {
            self.heard()
        }
    }

    /// Everything that no command may change, with what can be seen of it.
    fn snapshot(&mut self) -> Vec<(PathBuf, String)> {
        let mut seen = BTreeMap::new();
        for name in ["outside", "home", "readable", "vault/.obsidian", "vault/.tollgate", "vault/.git"] {
            look(&self.path(name), &mut seen);
        }
        for name in ["vault/.trash", "vault/.Stversions"] {
            look(&self.path(name), &mut seen);
        }
        for entry in fs::read_dir(self.base.path()).unwrap() {
            seen.insert(entry.unwrap().path(), "at the top".to_owned());
        }
        for place in ["/tmp", "/var/tmp", "/dev/shm"] {
            look(&Path::new(place).join(&self.mark), &mut seen);
        }
        seen.insert("victim".into(), self.state_of_victim());
        seen.into_iter().collect()
    }

    fn state_of_victim(&mut self) -> String {
        if let Some(status) = self.victim.try_wait().unwrap() {
            return status.to_string();
        }
        let read = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", self.victim.id())).unwrap();
        let stat = read("stat");
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().collect();
        // It sleeps, or has just been started and still runs; a signal may be on its way.
        let stopped = matches!(fields[0], "T" | "t");
        let pending: Vec<String> =
            read("status").lines().filter(|line| line.contains("Pnd:")).map(str::to_owned).collect();
        format!("stopped: {stopped}, nice: {}, signals: {pending:?}", fields[16])
    }

    fn heard(&self) -> Option<String> {
        self.tcp.set_nonblocking(true).unwrap();
        self.udp.set_nonblocking(true).unwrap();
        self.stream.set_nonblocking(true).unwrap();
        self.datagram.set_nonblocking(true).unwrap();
        self.named.set_nonblocking(true).unwrap();
        let heard = [
            ("tcp", self.tcp.accept().map(|_| ())),
            ("udp", self.udp.recv(&mut [0; 8]).map(|_| ())),
            ("stream", self.stream.accept().map(|_| ())),
            ("datagram", self.datagram.recv(&mut [0; 8]).map(|_| ())),
            ("named", self.named.accept().map(|_| ())),
        ];
        heard.into_iter().find_map(|(name, heard)| match heard {
            Ok(()) => Some(format!("{name} heard of it")),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(error) => panic!("{name}: {error}"),
        })
    }
}

impl Drop for ProbeWorld {
    fn drop(&mut self) {
        let _ended = self.victim.kill();
        let _collected = self.victim.wait();
        for place in ["/tmp", "/var/tmp", "/dev/shm"] {
            let _none = fs::remove_file(Path::new(place).join(&self.mark));
        }
    }
}

const FILES: [(&str, &str); 12] = [
    ("vault/notes/a.md", "a note\n"),
    ("vault/Inbox.md", "- one\n"),
    ("vault/.obsidian/app.json", "{}\n"),
    ("vault/.Stversions/old.md", "old\n"),
    ("vault/.tollgate/record", "CANARY\n"),
    ("outside/victim.md", "outside\n"),
    ("outside/secret", "CANARY\n"),
    ("outside/program", "#!/bin/sh\necho BROKE\n"),
    ("home/.bashrc", "alias l=ls\n"),
    ("home/.ssh/id", "CANARY\n"),
    ("home/.local/state/tollgate/approvals/7k2m9x4p.question.json", "CANARY\n"),
    ("readable/manual.md", "how to\n"),
];

/// A file or folder with all in it: kind, mode, owner, time and contents of each.
fn look(path: &Path, seen: &mut BTreeMap<PathBuf, String>) {
    let Ok(about) = fs::symlink_metadata(path) else { return };
    let text = if about.is_file() { fs::read_to_string(path).unwrap_or_default() } else { String::new() };
    let time = (about.mtime(), about.mtime_nsec());
    let facts = (about.mode(), about.uid(), about.nlink(), time, text);
    seen.insert(path.to_owned(), format!("{facts:?}"));
    if about.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten() {
            look(&entry.unwrap().path(), seen);
        }
    }
}

/// Memory of this size that processes share without a file, by its number.
fn shared(size: u32) -> Option<String> {
    let table = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let size = size.to_string();
    let rows = table.lines().skip(1).map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.get(3) == Some(&size.as_str())).find_map(|row| row.get(1).map(|&id| id.to_owned()))
}
