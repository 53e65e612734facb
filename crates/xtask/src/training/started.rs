//! The program while it is used.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};

/// Ended with us, whatever happens.
pub(super) struct Started {
    child: Child,
    /// What it was started with, for whoever reads that it failed.
    words: String,
    /// What it said on its standard error.
    said: PathBuf,
}

impl Started {
    /// Starts it where it finds nothing of whoever builds it: no settings, no runs, and no variables that would send its
    /// counts elsewhere.
    #[allow(clippy::disallowed_methods, reason = "a developer's command starts what it has built")]
    pub(super) fn new(program: &Path, world: &Path, words: &[&str]) -> anyhow::Result<Started> {
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
        Ok(Started { child, words: words.join(" "), said })
    }

    /// Its ends of the pipes, once.
    pub(super) fn pipes(&mut self) -> anyhow::Result<(ChildStdin, ChildStdout)> {
        let pipes = self.child.stdin.take().zip(self.child.stdout.take());
        pipes.with_context(|| format!("the pipes of `tollgate {}` are taken", self.words))
    }

    /// Waits until it has ended by itself, and well.
    pub(super) fn wait(&mut self) -> anyhow::Result<()> {
        // Nobody wants what is left of its output, and it must not wait for that.
        let rest = self.child.stdout.take().map(|mut out| std::io::copy(&mut out, &mut std::io::sink()));
        rest.transpose().context("its output cannot be read")?;
        let status = self.child.wait().context("it cannot be waited for")?;
        let (words, said) = (&self.words, self.said.display());
        ensure!(status.success(), "`tollgate {words}` ended with {status}; what it said is in {said}");
        Ok(())
    }

    /// Tells it to end, and waits.
    #[allow(clippy::disallowed_methods, reason = "a developer's command ends what it has started")]
    pub(super) fn end(&mut self) -> anyhow::Result<()> {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        ensure!(told.context("`kill` cannot be started")?.success(), "`kill` failed");
        self.wait()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // Nothing is left to do if it is gone already.
        let _gone = self.child.kill();
        let _collected = self.child.wait();
    }
}
