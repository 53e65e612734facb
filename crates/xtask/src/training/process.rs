//! The instrumented program while it runs.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};

/// A process that is killed when this is dropped.
pub(super) struct TrainingProcess {
    child: Child,
    /// Its arguments, for errors.
    words: String,
    /// The file with its standard error.
    said: PathBuf,
}

impl TrainingProcess {
    /// Starts the program without the developer's settings, runs and variables, which could send its profiles
    /// elsewhere.
    #[allow(clippy::disallowed_methods, reason = "a developer's command starts what it has built")]
    pub(super) fn new(program: &Path, world: &Path, words: &[&str]) -> anyhow::Result<TrainingProcess> {
        let said = world.join(format!("{}.stderr", words.first().unwrap_or(&"tollgate")));
        let error = File::create(&said).with_context(|| format!("cannot write {}", said.display()))?;
        let kept =
            ["PATH", "LANG", "TMPDIR"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        let child = Command::new(program)
            .args(words)
            .current_dir(world)
            .env_clear()
            .envs(kept)
            .env("HOME", world)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(error)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        Ok(TrainingProcess { child, words: words.join(" "), said })
    }

    /// Returns the pipes of the process, once.
    pub(super) fn pipes(&mut self) -> anyhow::Result<(ChildStdin, ChildStdout)> {
        let pipes = self.child.stdin.take().zip(self.child.stdout.take());
        pipes.with_context(|| format!("the pipes of `tollgate {}` are taken", self.words))
    }

    /// Waits until the process has exited. Returns an error if it failed.
    pub(super) fn wait(&mut self) -> anyhow::Result<()> {
        // Drains the output, so that the process does not block on it.
        let rest = self.child.stdout.take().map(|mut out| std::io::copy(&mut out, &mut std::io::sink()));
        rest.transpose().context("its output cannot be read")?;
        let status = self.child.wait().context("it cannot be waited for")?;
        let (words, said) = (&self.words, self.said.display());
        ensure!(status.success(), "`tollgate {words}` ended with {status}; what it said is in {said}");
        Ok(())
    }

    /// Ends the process with a signal, and waits.
    #[allow(clippy::disallowed_methods, reason = "a developer's command ends what it has started")]
    pub(super) fn end(&mut self) -> anyhow::Result<()> {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        ensure!(told.context("`kill` cannot be started")?.success(), "`kill` failed");
        self.wait()
    }
}

impl Drop for TrainingProcess {
    fn drop(&mut self) {
        // It may have exited already.
        let _gone = self.child.kill();
        let _collected = self.child.wait();
    }
}
