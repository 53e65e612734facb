//! What the tools of this crate share: one vault, its walls, and the tasks of each run.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use envelope::{Artifact, Failure, Fault, RunId, Timestamp, VaultPath};
use toolkit::command_line::CommandLine;
use toolkit::{BoxFuture, Closed, Closing, PermittedBy, ToolCx};

use crate::process::{
    Finished, HEAD_BYTES, MARK, Retrieved, Spawner, TaskId, TaskInfo, TaskState, Tasks, unavailable,
};
use crate::sandbox::{
    self, Doorbell, ExecPolicy, Launch, Prepared, Reach, Threshold, VaultFiles, Wall, Walls, Workdir,
    program_files,
};
use crate::settings::CommandSettings;

/// The session, or none where tools are only listed.
pub type Shell = Option<Arc<Session>>;

/// How long a command may tidy up after it was told to end.
pub(crate) const GRACE: Duration = Duration::from_millis(500);
/// Tasks that may go on at a time.
const MAX_TASKS: usize = 32;
/// The longest that it takes until a command is over, its processes dead and its output kept.
pub(crate) const STOP_MS: u64 = 4_000;
/// The folder of a vault that is ours.
const OURS: &str = ".tollgate";
/// Behind a wall both are private, whatever they are called here; without one they are at least not the person's.
const HOME: &str = "/tmp";

/// How long the process lives that keeps background tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// It ends with the run: a command is waited for as long as its call may take, unless the call itself says
    /// when it is to go on as a task.
    Run,
    /// It outlives runs, so a command that takes long goes on behind its call.
    Session,
}

/// What a session is made of. Everything it may touch comes in here.
pub struct SessionParts {
    /// The vault, as a real path.
    pub root: PathBuf,
    /// Our own binary.
    pub launcher: PathBuf,
    pub settings: CommandSettings,
    /// Programs that deny rules name: no command may execute them.
    pub denied_programs: Vec<String>,
    /// The variables that the settings name, with their values.
    pub passed_on: Vec<(OsString, OsString)>,
    pub lifetime: Lifetime,
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

/// A command that can be started, and how to learn whether it was reached.
pub(crate) struct Ready {
    pub(crate) prepared: Prepared,
    pub(crate) threshold: Option<(Threshold, Doorbell)>,
}

/// A command that a call wants to run.
pub(crate) struct CommandRequest {
    pub(crate) argv: Vec<OsString>,
    pub(crate) workdir: PathBuf,
    /// Variables besides those that every command gets.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) tty: bool,
    pub(crate) vault_files: VaultFiles,
}

/// What is started behind a wall.
struct Launched {
    argv: Vec<OsString>,
    workdir: Workdir,
    env: Vec<(OsString, OsString)>,
    tty: bool,
}

pub struct Session {
    parts: SessionParts,
    walls: OnceLock<Walls>,
    spawner: OnceLock<Spawner>,
    /// By run: no run sees, types into or ends what another one started.
    tasks: Mutex<BTreeMap<Option<RunId>, Tasks>>,
}

impl Session {
    pub fn new(parts: SessionParts) -> Arc<Session> {
        Arc::new(Session { parts, walls: OnceLock::new(), spawner: OnceLock::new(), tasks: Mutex::default() })
    }

    /// Which walls stand here. Built and tried the first time somebody asks.
    pub fn walls(&self) -> &Walls {
        self.walls.get_or_init(|| sandbox::probe(&self.parts.launcher))
    }

    /// The wall that a command gets, or why it gets none and does not run. Trying the walls starts programs, so
    /// it is done where waiting holds nobody up.
    pub(crate) async fn wall(self: &Arc<Session>) -> Result<Wall, Fault> {
        let session = Arc::clone(self);
        let decide = move || session.parts.settings.wall(|| session.walls().clone());
        if self.walls.get().is_some() {
            return decide();
        }
        tokio::task::spawn_blocking(decide).await.unwrap_or_else(|_panic| {
            Err(Fault::new(Failure::ExecutionFailed, "trying the walls around commands crashed"))
        })
    }

    pub(crate) fn spawner(&self) -> Result<&Spawner, Fault> {
        if self.spawner.get().is_none() {
            // Two that come at once make two; one of them is not used.
            let _already = self.spawner.set(Spawner::new()?);
        }
        self.spawner.get().ok_or_else(|| {
            Fault::new(Failure::DependencyUnavailable, "no thread could be started for commands")
        })
    }

    /// Each task holds files and threads of ours; so many can go on at a time.
    pub(crate) fn room_for_task(&self) -> Result<(), Fault> {
        let all: Vec<TaskInfo> = self.every_task().values().flat_map(Tasks::list).collect();
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

    /// The tasks of the run that a call belongs to.
    pub(crate) fn tasks(&self, cx: &ToolCx) -> Tasks {
        self.every_task().get(&cx.run_id().cloned()).cloned().unwrap_or_default()
    }

    /// The same for a call that may add one.
    pub(crate) fn place_for_tasks(&self, cx: &ToolCx) -> Tasks {
        self.every_task().entry(cx.run_id().cloned()).or_default().clone()
    }

    fn every_task(&self) -> MutexGuard<'_, BTreeMap<Option<RunId>, Tasks>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lifetime(&self) -> Lifetime {
        self.parts.lifetime
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.parts.now)()
    }

    /// Where a command starts: the vault, or a folder in it.
    pub(crate) fn workdir(&self, given: Option<&str>) -> Result<PathBuf, Fault> {
        let protected: Vec<String> = VaultPath::protected_names().map(str::to_owned).collect();
        sandbox::resolve_workdir(&self.parts.root, given, &protected)
    }

    /// The files of the vault that a command may execute.
    ///
    /// You expect a build that you approved to run what it builds. A rule allows the words that it names, so a
    /// command that runs by a rule alone may execute the files that these words name, and no others.
    pub(crate) fn vault_files(&self, by: PermittedBy, line: &CommandLine, workdir: &Path) -> VaultFiles {
        if by == PermittedBy::User || self.parts.settings.execute_vault_files {
            return VaultFiles::All;
        }
        let programs = line.commands.iter().filter_map(|command| command.argv.first());
        let paths = programs.filter(|program| program.contains('/')).map(|program| workdir.join(program));
        let real = paths.filter_map(|path| path.canonicalize().ok());
        VaultFiles::Only(real.filter(|path| path.starts_with(&self.parts.root) && path.is_file()).collect())
    }

    /// What to say of a command that ended since a program could not be executed.
    pub(crate) fn not_executable(&self, vault_files: &VaultFiles) -> Option<String> {
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

    /// The command behind its wall, not started yet. `mark` is how its processes are known.
    pub(crate) fn prepare(&self, wall: Wall, mark: &str, request: CommandRequest) -> Result<Ready, Fault> {
        let CommandRequest { argv, workdir, env, tty, vault_files } = request;
        let settings = &self.parts.settings;
        let denied = self.parts.denied_programs.iter();
        let denied = denied.flat_map(|program| program_files(program, &settings.path)).collect();
        let exec = ExecPolicy { vault_files, denied };
        let reach = self.reach(settings.readable.clone(), settings.network, exec);
        let env = self.environment(&env, tty, &self.parts.passed_on);
        let workdir = Workdir::Vault(workdir);
        self.behind(wall, &reach, Launched { argv, workdir, env, tty }, mark)
    }

    /// The same for a program that reaches what is said for it alone, and gets no variable that commands get. It
    /// starts in a folder of its own: what it would load from the vault, a tool could have put there.
    pub(crate) fn prepare_reaching(
        &self,
        wall: Wall,
        mark: &str,
        argv: Vec<OsString>,
        given: &BTreeMap<String, String>,
        (readable, network): (Vec<PathBuf>, bool),
    ) -> Result<Ready, Fault> {
        // It was set up by the user, and may be a file that it has fetched itself.
        let reach = self.reach(readable, network, ExecPolicy::unrestricted());
        let env = self.environment(given, false, &[]);
        self.behind(wall, &reach, Launched { argv, workdir: Workdir::Private, env, tty: false }, mark)
    }

    fn reach(&self, readable: Vec<PathBuf>, network: bool, exec: ExecPolicy) -> Reach {
        Reach {
            root: self.parts.root.clone(),
            protected: VaultPath::protected_names().map(str::to_owned).collect(),
            // The records of runs hold what no command needs to see.
            hidden: vec![OURS.to_owned()],
            readable,
            network,
            exec,
            limits: self.parts.settings.limits(),
        }
    }

    fn behind(&self, wall: Wall, reach: &Reach, launched: Launched, mark: &str) -> Result<Ready, Fault> {
        let Launched { argv, workdir, mut env, tty } = launched;
        env.push((MARK.into(), mark.into()));
        let threshold = sandbox::threshold().map_err(|error| unavailable(&error))?;
        let bell = threshold.as_ref().map(|(_, bell)| bell.number());
        let launch = Launch { argv, workdir, env, tty, bell };
        let prepared = sandbox::command(wall, reach, &launch, &self.parts.launcher)?;
        Ok(Ready { prepared, threshold })
    }

    /// Built from nothing: what this process has in its own environment, secrets included, is not handed on.
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
            // Notes named `HEAD`, `config`, `objects` and `refs` would be a repository to git, with settings that
            // start programs. With this it takes only a `.git` for one, and `git status` starts no monitor.
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

impl Closing for Session {
    fn close<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Vec<Closed>> {
        Box::pin(async move {
            let Some(tasks) = self.every_task().remove(&Some(run.clone())) else { return Vec::new() };
            let stopped: BTreeSet<TaskId> =
                tasks.stop_all(GRACE).await.into_iter().map(|(id, _)| id).collect();
            let mut closed = Vec::new();
            for task in tasks.list() {
                let was_running = stopped.contains(&task.id);
                let seen = tasks.wait_new(task.id, Duration::ZERO, HEAD_BYTES).await.ok();
                // What is long is in an artifact; the rest would be nowhere.
                let unread = seen.as_ref().map(unread).unwrap_or_default();
                let (artifacts, warnings, lost) = match seen.and_then(|seen| seen.end).as_deref() {
                    Some(Ok(finished)) => (artifacts_of(finished), finished.warnings.clone(), None),
                    Some(Err(fault)) => (Vec::new(), Vec::new(), Some(fault.message.clone())),
                    None => (Vec::new(), Vec::new(), None),
                };
                let is_silent = artifacts.is_empty() && unread.is_empty() && warnings.is_empty();
                if was_running || lost.is_some() || !is_silent {
                    let mut message = farewell(&task, was_running, lost.as_deref());
                    for warning in warnings {
                        message.push_str(&format!(". Warning: {warning}"));
                    }
                    closed.push(Closed { message, artifacts, unread });
                }
            }
            closed
        })
    }
}

fn artifacts_of(finished: &Finished) -> Vec<Artifact> {
    let streams = [Some(&finished.stdout), finished.stderr.as_ref()].into_iter().flatten();
    streams.filter_map(|stream| stream.artifact.clone()).collect()
}

/// What a task printed that nobody has asked for.
fn unread(seen: &Retrieved) -> BTreeMap<String, String> {
    let streams = [("stdout", Some(&seen.output.stdout)), ("stderr", seen.output.stderr.as_ref())];
    let printed = streams.into_iter().filter_map(|(name, fresh)| Some((name, fresh?)));
    let printed = printed.filter(|(_, fresh)| fresh.path.is_none() && !fresh.head.is_empty());
    printed
        .map(|(name, fresh)| (name.to_owned(), String::from_utf8_lossy(&fresh.head).into_owned()))
        .collect()
}

fn farewell(task: &TaskInfo, was_running: bool, lost: Option<&str>) -> String {
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
    use toolkit::{ArtifactSink, CancelToken, Closing, OpenArtifact, ToolCx};

    use super::{Lifetime, Session, SessionParts};
    use crate::process::{
        Cause, Cursor, Enclosure, Input, Job, Limits, RetrievalStatus, Running, Spawner, Tasks,
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
    fn job(name: &str, argv: &[&str]) -> Job {
        let mut command = Command::new(argv[0]);
        command.args(&argv[1..]).env_clear();
        Job {
            command,
            shown: name.to_owned(),
            marker: format!("session-{}-{name}", std::process::id()),
            started: Timestamp::UNIX_EPOCH,
            input: Input::Nothing,
            terminal: None,
            enclosure: Enclosure::Loose,
            threshold: None,
            keep: Box::new(()),
            limits: Limits { timeout: None, grace: Duration::ZERO, output_bytes: u64::MAX },
            artifacts: Arc::new(Nowhere),
        }
    }

    async fn starts_task(session: &Session, run: &RunId, name: &str) {
        let job = job(name, &["/bin/sleep", "1000"]);
        let running = Running::start(&Spawner::new().unwrap(), job).await.unwrap();
        session.place_for_tasks(&call_of(run)).promote(running);
    }

    fn tasks_of(session: &Session, run: &RunId) -> Vec<String> {
        let tasks = session.tasks(&call_of(run)).list();
        tasks.iter().map(|task| format!("{} {} {:?}", task.id, task.command, task.state)).collect()
    }

    #[tokio::test]
    async fn a_run_sees_and_ends_its_own_tasks_and_no_others() {
        let session = Session::new(SessionParts {
            root: "/".into(),
            launcher: "/nowhere".into(),
            settings: CommandSettings::default(),
            denied_programs: Vec::new(),
            passed_on: Vec::new(),
            lifetime: Lifetime::Session,
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

    /// A sandbox that says in two pieces why it was not built, and a task that is asked in between.
    #[tokio::test]
    async fn what_stands_before_a_command_is_never_taken_for_what_it_prints() {
        let threshold = sandbox::threshold().unwrap();
        if threshold.is_none() {
            return; // Nothing stands before a command on this system.
        }
        let mut job = job("a", &["/bin/sh", "-c", "printf 'tollgate: ' >&2; read -r word; echo $word >&2"]);
        job.input = Input::Open(Vec::new());
        job.threshold = threshold;
        let running = Running::start(&Spawner::new().unwrap(), job).await.unwrap();
        let printed = running.news(&Cursor::default()).await;
        assert_ne!(printed, Cursor::default());
        let tasks = Tasks::new();
        let id = tasks.promote(running);
        let looked = tasks.wait_new(id, Duration::ZERO, 100).await.unwrap();
        assert_eq!((looked.status, looked.output.is_empty()), (RetrievalStatus::NotReady, true));
        tasks.input(id, b"no place\n", true).unwrap();
        let looked = tasks.wait_new(id, Duration::from_secs(60), 100).await.unwrap();
        let end = looked.end.unwrap();
        let why = &end.as_ref().as_ref().unwrap_err().message;
        assert!(why.ends_with("not built: tollgate: no place"), "{why}");
    }

    /// A sandbox that complains and then hangs, until somebody ends it.
    #[tokio::test]
    async fn what_stands_before_a_command_that_is_stopped_is_not_its_output_either() {
        let threshold = sandbox::threshold().unwrap();
        if threshold.is_none() {
            return; // Nothing stands before a command on this system.
        }
        let mut job = job("a", &["/bin/sh", "-c", "echo 'a complaint' >&2; read -r word"]);
        job.input = Input::Open(Vec::new());
        job.threshold = threshold;
        let running = Running::start(&Spawner::new().unwrap(), job).await.unwrap();
        running.news(&Cursor::default()).await;
        let tasks = Tasks::new();
        let id = tasks.promote(running);
        let end = tasks.stop(id, Duration::ZERO).await.unwrap();
        let finished = end.as_ref().as_ref().unwrap();
        assert_eq!((finished.cause, finished.stderr.as_ref().unwrap().bytes), (Cause::Stopped, 0));
        let looked = tasks.wait_new(id, Duration::ZERO, 100).await.unwrap();
        assert!(looked.output.is_empty());
    }

    /// What came before the command is given out with it, also if the command itself is silent.
    #[tokio::test]
    async fn a_command_that_is_reached_is_noticed_though_it_prints_nothing() {
        let Some((threshold, bell)) = sandbox::threshold().unwrap() else {
            return; // Nothing stands before a command on this system.
        };
        let ring =
            format!("printf echo; read -r word; printf ! > /proc/self/fd/{}; sleep 1000", bell.number());
        let mut job = job("a", &["/bin/sh", "-c", &ring]);
        job.input = Input::Open(Vec::new());
        job.threshold = Some((threshold, bell));
        let running = Running::start(&Spawner::new().unwrap(), job).await.unwrap();
        running.news(&Cursor::default()).await;
        let tasks = Tasks::new();
        let id = tasks.promote(running);
        let looked = tasks.wait_new(id, Duration::ZERO, 100).await.unwrap();
        assert_eq!((looked.status, looked.output.is_empty()), (RetrievalStatus::NotReady, true));
        let (looked, _) = tokio::join!(tasks.wait_new(id, Duration::from_secs(60), 100), async {
            tasks.input(id, b"go\n", true)
        });
        let looked = looked.unwrap();
        assert_eq!((looked.status, &*looked.output.stdout.head), (RetrievalStatus::Success, &b"echo"[..]));
    }
}
