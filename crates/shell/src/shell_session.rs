//! The shell session: state that the tools of this crate share. One vault, its available sandboxes, and the tasks of
//! each run.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use command_line::CommandLine;
use envelope::{Artifact, Failure, Fault, RunId, Timestamp, VaultPath};
use toolkit::{BoxFuture, CleanupRecord, PermittedBy, RunCleanup, ToolCx};

use crate::process::{
    CommandSpawner, FinishedCommand, HEAD_BYTES, MARK, TaskId, TaskInfo, TaskRegistry, TaskState, TaskUpdate,
    unavailable,
};
use crate::sandbox::{
    self, AvailableSandboxes, CommandWorkdir, ExecPolicy, LaunchSpec, PreparedCommand, SandboxKind,
    SandboxProfile, StartNotifier, StartSignal, VaultFiles, program_files,
};
use crate::server_process::ServerSpec;
use crate::settings::CommandSettings;

/// The session. `None` if tools are only listed.
pub type SharedSession = Option<Arc<ShellSession>>;

/// Time to clean up after the request to end.
pub(crate) const GRACE: Duration = Duration::from_millis(500);
/// Limit of running tasks.
const MAX_TASKS: usize = 32;
/// The longest time until a stopped command is over: its processes dead and its output stored.
pub(crate) const STOP_MS: u64 = 4_000;
/// Our folder in a vault.
const OURS: &str = ".tollgate";
/// In a sandbox both are replaced by private folders. Without one they are at least not the user's own.
const HOME: &str = "/tmp";

/// Lifetime of the process that keeps background tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessLifetime {
    /// It ends with the run: a command is waited for as long as its call may take, unless the call itself says when it
    /// becomes a task.
    Run,
    /// It outlives runs, so a slow command continues after its call.
    Session,
}

/// Parts of a session. A session accesses nothing else.
pub struct SessionParts {
    /// The vault, as a real path.
    pub root: PathBuf,
    /// Our own binary.
    pub launcher: PathBuf,
    pub settings: CommandSettings,
    /// Programs of deny rules: no command can execute them.
    pub denied_programs: Vec<String>,
    /// The variables that the settings name, with their values.
    pub passed_on: Vec<(OsString, OsString)>,
    pub lifetime: ProcessLifetime,
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

/// A command that can be started, and the signal of its start.
pub(crate) struct ReadyCommand {
    pub(crate) prepared: PreparedCommand,
    pub(crate) start_signal: Option<(StartSignal, StartNotifier)>,
}

/// A command that a call wants to run.
pub(crate) struct CommandRequest {
    pub(crate) argv: Vec<OsString>,
    pub(crate) workdir: PathBuf,
    /// Variables besides those of every command.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) tty: bool,
    pub(crate) vault_files: VaultFiles,
}

/// Parts of a command to start in a sandbox.
struct LaunchRequest {
    argv: Vec<OsString>,
    workdir: CommandWorkdir,
    env: Vec<(OsString, OsString)>,
    tty: bool,
}

pub struct ShellSession {
    parts: SessionParts,
    available: OnceLock<AvailableSandboxes>,
    spawner: OnceLock<CommandSpawner>,
    /// By run: no run sees, types into or ends the tasks of another one.
    tasks: Mutex<BTreeMap<Option<RunId>, TaskRegistry>>,
}

impl ShellSession {
    pub fn new(parts: SessionParts) -> Arc<ShellSession> {
        Arc::new(ShellSession {
            parts,
            available: OnceLock::new(),
            spawner: OnceLock::new(),
            tasks: Mutex::default(),
        })
    }

    /// Available sandboxes. Probed on the first call.
    pub fn available_sandboxes(&self) -> &AvailableSandboxes {
        self.available.get_or_init(|| sandbox::probe_sandboxes(&self.parts.launcher))
    }

    /// Returns the sandbox of a command. Fails if it is required and cannot be built. Probing starts programs and
    /// blocks, so it runs off the runtime.
    pub(crate) async fn sandbox_kind(self: &Arc<ShellSession>) -> Result<SandboxKind, Fault> {
        let session = Arc::clone(self);
        let decide = move || session.parts.settings.sandbox_kind(|| session.available_sandboxes().clone());
        if self.available.get().is_some() {
            return decide();
        }
        tokio::task::spawn_blocking(decide).await.unwrap_or_else(|_panic| {
            Err(Fault::new(Failure::ExecutionFailed, "probing the available sandboxes crashed"))
        })
    }

    pub(crate) fn spawner(&self) -> Result<&CommandSpawner, Fault> {
        if self.spawner.get().is_none() {
            // Two concurrent calls make two; one of them is dropped.
            let _already = self.spawner.set(CommandSpawner::new()?);
        }
        self.spawner.get().ok_or_else(|| {
            Fault::new(Failure::DependencyUnavailable, "no thread could be started for commands")
        })
    }

    /// Fails if too many tasks are running: each holds files and threads of ours.
    pub(crate) fn check_task_limit(&self) -> Result<(), Fault> {
        let all: Vec<TaskInfo> = self.task_registries().values().flat_map(TaskRegistry::list).collect();
        let running = all.iter().filter(|task| task.state == TaskState::Running).count();
        if running < MAX_TASKS {
            return Ok(());
        }
        Err(Fault::new(
            Failure::PreconditionFailed,
            format!("{running} tasks are running, which is the most"),
        )
        .hint("end one with TaskStop; TaskList names them"))
    }

    /// Tasks of the run that a call belongs to.
    pub(crate) fn tasks(&self, cx: &ToolCx) -> TaskRegistry {
        self.task_registries().get(&cx.run_id().cloned()).cloned().unwrap_or_default()
    }

    /// The same for a call that may add one.
    pub(crate) fn tasks_entry(&self, cx: &ToolCx) -> TaskRegistry {
        self.task_registries().entry(cx.run_id().cloned()).or_default().clone()
    }

    fn task_registries(&self) -> MutexGuard<'_, BTreeMap<Option<RunId>, TaskRegistry>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lifetime(&self) -> ProcessLifetime {
        self.parts.lifetime
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.parts.now)()
    }

    /// Returns the working directory of a command: the vault, or a folder in it.
    pub(crate) fn workdir(&self, given: Option<&str>) -> Result<PathBuf, Fault> {
        let protected: Vec<String> = VaultPath::protected_names().map(str::to_owned).collect();
        sandbox::resolve_workdir(&self.parts.root, given, &protected)
    }

    /// Returns the files of the vault that a command can execute.
    ///
    /// You expect a build that you approved to run what it builds. A rule allows the words that it names, so a command
    /// that runs by a rule alone can execute the files that these words name, and no others.
    pub(crate) fn vault_files(&self, by: PermittedBy, line: &CommandLine, workdir: &Path) -> VaultFiles {
        if by == PermittedBy::User || self.parts.settings.execute_vault_files {
            return VaultFiles::All;
        }
        let programs = line.commands.iter().filter_map(|command| command.argv.first());
        let paths = programs.filter(|program| program.contains('/')).map(|program| workdir.join(program));
        let real = paths.filter_map(|path| path.canonicalize().ok());
        VaultFiles::Only(real.filter(|path| path.starts_with(&self.parts.root) && path.is_file()).collect())
    }

    /// Explains why a program may not have been executable.
    pub(crate) fn execution_hint(&self, vault_files: &VaultFiles) -> Option<String> {
        let mut why = Vec::new();
        if *vault_files != VaultFiles::All {
            why.push(
                "a command that you did not approve yourself executes no files of the vault but the program that it \
                 names, unless `execute_vault_files = true` is set under [commands] in .tollgate/config.toml"
                    .to_owned(),
            );
        }
        if !self.parts.denied_programs.is_empty() {
            why.push(format!("deny rules forbid to execute {}", self.parts.denied_programs.join(", ")));
        }
        (!why.is_empty()).then(|| format!("a program could not be executed: {}", why.join("; ")))
    }

    pub(crate) fn output_bytes(&self) -> u64 {
        self.parts.settings.output_bytes()
    }

    /// Prepares a command in its sandbox. `mark` identifies its processes.
    pub(crate) fn prepare(
        &self,
        kind: SandboxKind,
        mark: &str,
        request: CommandRequest,
    ) -> Result<ReadyCommand, Fault> {
        let CommandRequest { argv, workdir, env, tty, vault_files } = request;
        let settings = &self.parts.settings;
        let denied = self.parts.denied_programs.iter();
        let denied = denied.flat_map(|program| program_files(program, &settings.path)).collect();
        let exec = ExecPolicy { vault_files, denied };
        let profile = self.profile(settings.readable.clone(), settings.network, exec);
        let env = self.environment(&env, tty, &self.parts.passed_on);
        let workdir = CommandWorkdir::Vault(workdir);
        self.prepare_sandboxed(kind, &profile, LaunchRequest { argv, workdir, env, tty }, mark)
    }

    /// Prepares a server process, with its own access and without the variables of commands. It starts in a private
    /// folder: a tool could have put code into the vault that it would load from there.
    pub(crate) fn prepare_server(&self, kind: SandboxKind, spec: &ServerSpec) -> Result<ReadyCommand, Fault> {
        // The user has configured it, and it may be a file that it has downloaded itself.
        let profile = self.profile(spec.readable.clone(), spec.network, ExecPolicy::unrestricted());
        let profile = SandboxProfile { writable: spec.writable.clone(), ..profile };
        let env = self.environment(&spec.env, false, &[]);
        let argv = spec.argv.clone();
        self.prepare_sandboxed(
            kind,
            &profile,
            LaunchRequest { argv, workdir: CommandWorkdir::Private, env, tty: false },
            &spec.mark,
        )
    }

    fn profile(&self, readable: Vec<PathBuf>, network: bool, exec: ExecPolicy) -> SandboxProfile {
        SandboxProfile {
            root: self.parts.root.clone(),
            protected: VaultPath::protected_names().map(str::to_owned).collect(),
            // No command needs to read the records of runs.
            hidden: vec![OURS.to_owned()],
            readable,
            writable: Vec::new(),
            network,
            exec,
            limits: self.parts.settings.limits(),
        }
    }

    fn prepare_sandboxed(
        &self,
        kind: SandboxKind,
        profile: &SandboxProfile,
        launched: LaunchRequest,
        mark: &str,
    ) -> Result<ReadyCommand, Fault> {
        let LaunchRequest { argv, workdir, mut env, tty } = launched;
        env.push((MARK.into(), mark.into()));
        let start_signal = sandbox::start_signal().map_err(|error| unavailable(&error))?;
        let notifier = start_signal.as_ref().map(|(_, notifier)| notifier.number());
        let launch = LaunchSpec { argv, workdir, env, tty, start_notifier: notifier };
        let prepared = sandbox::prepare_command(kind, profile, &launch, &self.parts.launcher)?;
        Ok(ReadyCommand { prepared, start_signal })
    }

    /// Returns an environment without anything from our own, which may hold secrets.
    fn environment(
        &self,
        given: &BTreeMap<String, String>,
        tty: bool,
        passed_on: &[(OsString, OsString)],
    ) -> Vec<(OsString, OsString)> {
        let mut env: BTreeMap<OsString, OsString> = BTreeMap::new();
        let terminal = if tty { "xterm-256color" } else { "dumb" };
        let usual = [
            ("PATH", self.parts.settings.path.as_str()),
            ("HOME", HOME),
            ("TMPDIR", HOME),
            ("LANG", "C.UTF-8"),
            ("TERM", terminal),
            // Notes named `HEAD`, `config`, `objects` and `refs` would be a repository to git, with settings that start
            // programs. With these variables only a `.git` is a repository, and `git status` starts no monitor.
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "safe.bareRepository"),
            ("GIT_CONFIG_VALUE_0", "explicit"),
            ("GIT_CONFIG_KEY_1", "core.fsmonitor"),
            ("GIT_CONFIG_VALUE_1", "false"),
        ];
        env.extend(usual.map(|(name, value)| (name.into(), value.into())));
        env.extend(passed_on.iter().cloned());
        env.extend(given.iter().map(|(name, value)| (name.into(), value.into())));
        env.into_iter().collect()
    }
}

impl RunCleanup for ShellSession {
    fn close<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Vec<CleanupRecord>> {
        Box::pin(async move {
            let Some(tasks) = self.task_registries().remove(&Some(run.clone())) else { return Vec::new() };
            let stopped: BTreeSet<TaskId> =
                tasks.stop_all(GRACE).await.into_iter().map(|(id, _)| id).collect();
            let mut closed = Vec::new();
            for task in tasks.list() {
                let was_running = stopped.contains(&task.id);
                let seen = tasks.read_output_confirmed(task.id, Duration::ZERO, HEAD_BYTES).await.ok();
                // Long output is in an artifact. Short output would be lost.
                let unread = seen.as_ref().map(unread_output).unwrap_or_default();
                let (artifacts, warnings, lost) = match seen.and_then(|seen| seen.end).as_deref() {
                    Some(Ok(finished)) => (artifacts_of(finished), finished.warnings.clone(), None),
                    Some(Err(fault)) => (Vec::new(), Vec::new(), Some(fault.message.clone())),
                    None => (Vec::new(), Vec::new(), None),
                };
                let is_silent = artifacts.is_empty() && unread.is_empty() && warnings.is_empty();
                if was_running || lost.is_some() || !is_silent {
                    let mut message = cleanup_message(&task, was_running, lost.as_deref());
                    for warning in warnings {
                        message.push_str(&format!(". Warning: {warning}"));
                    }
                    closed.push(CleanupRecord { message, artifacts, unread });
                }
            }
            closed
        })
    }
}

fn artifacts_of(finished: &FinishedCommand) -> Vec<Artifact> {
    let streams = [Some(&finished.stdout), finished.stderr.as_ref()].into_iter().flatten();
    streams.filter_map(|stream| stream.artifact.clone()).collect()
}

/// Returns the output of a task that was not read.
fn unread_output(seen: &TaskUpdate) -> BTreeMap<String, String> {
    let streams = [("stdout", Some(&seen.output.stdout)), ("stderr", seen.output.stderr.as_ref())];
    let printed = streams.into_iter().filter_map(|(name, fresh)| Some((name, fresh?)));
    let printed = printed.filter(|(_, fresh)| fresh.path.is_none() && !fresh.head.is_empty());
    printed
        .map(|(name, fresh)| (name.to_owned(), String::from_utf8_lossy(&fresh.head).into_owned()))
        .collect()
}

fn cleanup_message(task: &TaskInfo, was_running: bool, lost: Option<&str>) -> String {
    let how = match (was_running, lost) {
        (true, None) => "was still running when the run ended and was stopped".to_owned(),
        (true, Some(why)) => format!("was still running when the run ended and was stopped ({why})"),
        (false, None) => "had ended".to_owned(),
        (false, Some(why)) => format!("had failed ({why})"),
    };
    format!("{} {how}: {}", task.id, task.command)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::process::Command;
    use std::sync::Arc;
    use std::time::Duration;

    use envelope::{Artifact, CallId, Fault, Hash, RunId, Timestamp};
    use toolkit::{ArtifactSink, CancelToken, OpenArtifact, RunCleanup, ToolCx};

    use super::{ProcessLifetime, SessionParts, ShellSession};
    use crate::process::{
        CommandInput, CommandJob, CommandSpawner, EndCause, JobLimits, OutputCursor, ProcessContainment,
        RetrievalStatus, RunningCommand, TaskRegistry,
    };
    use crate::sandbox;
    use crate::settings::CommandSettings;

    /// A run that keeps no artifacts.
    struct Nowhere;

    impl ArtifactSink for Nowhere {
        fn create(&self, _role: &str, _extension: &str) -> Result<Option<OpenArtifact>, Fault> {
            Ok(None)
        }

        fn seal(&self, _artifact: OpenArtifact, _bytes: u64, _hash: Hash) -> Result<Artifact, Fault> {
            unreachable!("none was made")
        }

        fn discard(&self, _artifact: &Artifact) {}

        fn open(&self, _path: &str) -> Result<File, Fault> {
            unreachable!("none was made")
        }
    }

    fn call_of(run: &RunId) -> ToolCx {
        ToolCx::new(CallId::parse("call").unwrap(), CancelToken::new(), None).of_run(run.clone())
    }

    #[allow(clippy::disallowed_methods, reason = "a test starts its own processes")]
    fn job(name: &str, argv: &[&str]) -> CommandJob {
        let mut command = Command::new(argv[0]);
        command.args(&argv[1..]).env_clear();
        CommandJob {
            command,
            shown: name.to_owned(),
            marker: format!("session-{}-{name}", std::process::id()),
            started: Timestamp::UNIX_EPOCH,
            input: CommandInput::Nothing,
            terminal: None,
            containment: ProcessContainment::Uncontained,
            start_signal: None,
            resources: Box::new(()),
            limits: JobLimits { timeout: None, grace: Duration::ZERO, output_bytes: u64::MAX },
            artifacts: Arc::new(Nowhere),
        }
    }

    async fn starts_task(session: &ShellSession, run: &RunId, name: &str) {
        let job = job(name, &["/bin/sleep", "1000"]);
        let running = RunningCommand::start(&CommandSpawner::new().unwrap(), job).await.unwrap();
        session.tasks_entry(&call_of(run)).promote(running);
    }

    fn tasks_of(session: &ShellSession, run: &RunId) -> Vec<String> {
        let tasks = session.tasks(&call_of(run)).list();
        tasks.iter().map(|task| format!("{} {} {:?}", task.id, task.command, task.state)).collect()
    }

    #[tokio::test]
    async fn a_run_sees_and_ends_its_own_tasks_and_no_others() {
        let session = ShellSession::new(SessionParts {
            root: "/".into(),
            launcher: "/nowhere".into(),
            settings: CommandSettings::default(),
            denied_programs: Vec::new(),
            passed_on: Vec::new(),
            lifetime: ProcessLifetime::Session,
            now: Arc::new(|| Timestamp::UNIX_EPOCH),
        });
        let [one, other, third] = ["one", "other", "third"].map(|run| RunId::parse(run).unwrap());
        starts_task(&session, &one, "a").await;
        starts_task(&session, &other, "b").await;
        starts_task(&session, &other, "c").await;
        assert_eq!(tasks_of(&session, &one), ["task_1 a Running"]);
        assert_eq!(tasks_of(&session, &other), ["task_1 b Running", "task_2 c Running"]);
        assert_eq!(tasks_of(&session, &third), [] as [&str; 0]);
        assert_eq!(session.close(&third).await, []);
        let closed: Vec<String> =
            session.close(&one).await.into_iter().map(|closed| closed.message).collect();
        assert_eq!(closed, ["task_1 was still running when the run ended and was stopped: a"]);
        assert_eq!(tasks_of(&session, &one), [] as [&str; 0]);
        assert_eq!(tasks_of(&session, &other), ["task_1 b Running", "task_2 c Running"]);
        assert_eq!(session.close(&other).await.len(), 2);
    }

    /// A sandbox that fails and writes its message in two parts, and a task that is read in between.
    #[tokio::test]
    async fn what_stands_before_a_command_is_never_taken_for_what_it_prints() {
        let start_signal = sandbox::start_signal().unwrap();
        if start_signal.is_none() {
            return; // Nothing stands before a command on this system.
        }
        let mut job = job("a", &["/bin/sh", "-c", "printf 'tollgate: ' >&2; read -r word; echo $word >&2"]);
        job.input = CommandInput::Open(Vec::new());
        job.start_signal = start_signal;
        let running = RunningCommand::start(&CommandSpawner::new().unwrap(), job).await.unwrap();
        let printed = running.wait_for_output(&OutputCursor::default()).await;
        assert_ne!(printed, OutputCursor::default());
        let tasks = TaskRegistry::new();
        let id = tasks.promote(running);
        let looked = tasks.read_output_confirmed(id, Duration::ZERO, 100).await.unwrap();
        assert_eq!((looked.status, looked.output.is_empty()), (RetrievalStatus::NotReady, true));
        tasks.input(id, b"no place\n", true).unwrap();
        let looked = tasks.read_output_confirmed(id, Duration::from_secs(60), 100).await.unwrap();
        let end = looked.end.unwrap();
        let why = &end.as_ref().as_ref().unwrap_err().message;
        assert!(why.ends_with("not built: tollgate: no place"), "{why}");
    }

    /// A sandbox that prints an error and then hangs, until it is stopped.
    #[tokio::test]
    async fn what_stands_before_a_command_that_is_stopped_is_not_its_output_either() {
        let start_signal = sandbox::start_signal().unwrap();
        if start_signal.is_none() {
            return; // Nothing stands before a command on this system.
        }
        let mut job = job("a", &["/bin/sh", "-c", "echo 'a complaint' >&2; read -r word"]);
        job.input = CommandInput::Open(Vec::new());
        job.start_signal = start_signal;
        let running = RunningCommand::start(&CommandSpawner::new().unwrap(), job).await.unwrap();
        running.wait_for_output(&OutputCursor::default()).await;
        let tasks = TaskRegistry::new();
        let id = tasks.promote(running);
        let end = tasks.stop(id, Duration::ZERO).await.unwrap();
        let finished = end.as_ref().as_ref().unwrap();
        assert_eq!((finished.cause, finished.stderr.as_ref().unwrap().bytes), (EndCause::Stopped, 0));
        let looked = tasks.read_output_confirmed(id, Duration::ZERO, 100).await.unwrap();
        assert!(looked.output.is_empty());
    }

    /// Output before the command is returned with it, even if the command itself is silent.
    #[tokio::test]
    async fn a_command_that_is_reached_is_noticed_though_it_prints_nothing() {
        let Some((start_signal, notifier)) = sandbox::start_signal().unwrap() else {
            return; // Nothing stands before a command on this system.
        };
        let ring =
            format!("printf echo; read -r word; printf ! > /proc/self/fd/{}; sleep 1000", notifier.number());
        let mut job = job("a", &["/bin/sh", "-c", &ring]);
        job.input = CommandInput::Open(Vec::new());
        job.start_signal = Some((start_signal, notifier));
        let running = RunningCommand::start(&CommandSpawner::new().unwrap(), job).await.unwrap();
        running.wait_for_output(&OutputCursor::default()).await;
        let tasks = TaskRegistry::new();
        let id = tasks.promote(running);
        let looked = tasks.read_output_confirmed(id, Duration::ZERO, 100).await.unwrap();
        assert_eq!((looked.status, looked.output.is_empty()), (RetrievalStatus::NotReady, true));
        let (looked, _) =
            tokio::join!(tasks.read_output_confirmed(id, Duration::from_secs(60), 100), async {
                tasks.input(id, b"go\n", true)
            });
        let looked = looked.unwrap();
        assert_eq!((looked.status, &*looked.output.stdout.head), (RetrievalStatus::Success, &b"echo"[..]));
    }
}
