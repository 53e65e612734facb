//! Runs developer tools, and measures time.

use std::borrow::Cow;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// A command line that can be run, and printed so that a developer can repeat it.
#[derive(Debug, Clone)]
pub(crate) struct ToolCommand {
    pub(crate) env: Vec<(&'static str, String)>,
    pub(crate) words: Vec<String>,
}

impl ToolCommand {
    pub(crate) fn new(words: &[&str]) -> ToolCommand {
        ToolCommand { env: Vec::new(), words: words.iter().map(|word| (*word).to_owned()).collect() }
    }

    pub(crate) fn env(mut self, env: &[(&'static str, &str)]) -> ToolCommand {
        self.env = env.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self
    }

    #[allow(clippy::disallowed_methods, reason = "a developer's command starts cargo as the developer would")]
    fn command(&self) -> anyhow::Result<Command> {
        let (program, rest) = self.words.split_first().context("an empty command line")?;
        // Inside `cargo xtask`, CARGO is the path of the cargo that runs this; another one would rebuild everything.
        let program = match program.as_str() {
            "cargo" => std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            other => other.into(),
        };
        let mut command = Command::new(program);
        command.args(rest).current_dir(root()).envs(self.env.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    /// Runs the command with the terminal of this process. Returns whether it succeeded.
    pub(crate) fn run(&self) -> anyhow::Result<bool> {
        let status = self.command()?.status().with_context(|| format!("cannot start `{self}`"))?;
        Ok(status.success())
    }

    /// Runs the command and passes every line of its standard error on to `line` as it comes.
    pub(crate) fn run_reading(&self, mut line: impl FnMut(&str)) -> anyhow::Result<bool> {
        let mut child = self
            .command()?
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{self}`"))?;
        if let Some(stderr) = child.stderr.take() {
            let mut reader = BufReader::new(stderr);
            let mut bytes = Vec::new();
            // Bytes, not `lines()`: a test may print invalid UTF-8.
            while reader.read_until(b'\n', &mut bytes)? > 0 {
                line(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']));
                bytes.clear();
            }
        }
        Ok(child.wait()?.success())
    }

    /// Runs the command and returns its standard output. Returns an error if it fails.
    pub(crate) fn read(&self) -> anyhow::Result<String> {
        let output = self
            .command()?
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot start `{self}`"))?;
        if !output.status.success() {
            bail!("`{self}` failed:\n{}", String::from_utf8_lossy(&output.stderr).trim_end());
        }
        String::from_utf8(output.stdout).with_context(|| format!("`{self}` did not answer in UTF-8"))
    }

    /// Returns whether the command can be started and succeeds. Its output is dropped.
    pub(crate) fn works(&self) -> bool {
        self.read().is_ok()
    }
}

impl std::fmt::Display for ToolCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, value) in &self.env {
            write!(f, "{name}={} ", quoted(value))?;
        }
        for (index, word) in self.words.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{}", quoted(word))?;
        }
        Ok(())
    }
}

/// Quotes a word for a shell.
pub(crate) fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@+".contains(&byte);
    if word.bytes().all(plain) {
        return word.into();
    }
    if !word.contains(char::is_control) {
        return format!("'{}'", word.replace('\'', r"'\''")).into();
    }
    let escaped = word.chars().map(|c| match c {
        '\'' | '\\' => format!("\\{c}"),
        control if control.is_ascii_control() => format!("\\x{:02x}", u32::from(control)),
        other => other.to_string(),
    });
    format!("$'{}'", escaped.collect::<String>()).into()
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// Writes a file of the workspace.
#[allow(clippy::disallowed_methods, reason = "a developer's command writes a document of the workspace")]
pub(crate) fn write(path: impl AsRef<Path>, text: &str) -> anyhow::Result<()> {
    let path = root().join(path);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Removes a folder with its contents, if it exists.
pub(crate) fn remove(folder: &Path) -> anyhow::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Runs `work` and returns its result and its duration.
#[allow(clippy::disallowed_methods, reason = "a stage reports its duration to a person; nothing replays it")]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begin = Instant::now();
    let done = work();
    (done, begin.elapsed())
}

#[cfg(test)]
mod tests {
    use super::ToolCommand;

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let command = ToolCommand::new(&["cargo", "test", "--workspace"]).env(&[("RUN_SLOW_TESTS", "1")]);
        assert_eq!(command.to_string(), "RUN_SLOW_TESTS=1 cargo test --workspace");
        let command = ToolCommand::new(&["cargo", "nextest", "run", "-E", "not (binary(/^a$/))"]);
        assert_eq!(command.to_string(), "cargo nextest run -E 'not (binary(/^a$/))'");
        let command = ToolCommand::new(&["cargo", "build"]).env(&[("A", "it's"), ("B", "-a\u{1f}-é\\")]);
        assert_eq!(command.to_string(), r"A='it'\''s' B=$'-a\x1f-é\\' cargo build");
    }
}
