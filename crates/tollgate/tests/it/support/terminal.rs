//! Runs the binary at a terminal, and types.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

/// A command that runs at a terminal of its own, made by `script`.
pub(crate) struct TestTerminal {
    child: Child,
    /// The command itself, of which `script` is only the parent.
    pid: String,
    seen: Vec<u8>,
    /// How much of what was seen has been waited for.
    read: usize,
}

impl TestTerminal {
    pub(crate) fn open(command: &Command) -> TestTerminal {
        let words = [command.get_program()].into_iter().chain(command.get_args());
        let quoted: Vec<String> =
            words.map(|word| format!("'{}'", word.to_str().unwrap().replace('\'', "'\\''"))).collect();
        let mut script = Command::new("script");
        script.args([
            "-q",
            "-e",
            "-f",
            "-c",
            &format!("echo pid $$; exec {}", quoted.join(" ")),
            "/dev/null",
        ]);
        script.current_dir(command.get_current_dir().unwrap());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => script.env(name, value),
                None => script.env_remove(name),
            };
        }
        let child = script
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`script` of util-linux makes the terminal");
        let mut terminal = TestTerminal { child, pid: String::new(), seen: Vec::new(), read: 0 };
        terminal.wait_for("\n");
        terminal.pid = String::from_utf8_lossy(&terminal.seen[..terminal.read]).trim().replace("pid ", "");
        terminal
    }

    /// Waits until the text has come up since the last wait.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        loop {
            let unread = String::from_utf8_lossy(&self.seen[self.read..]).into_owned();
            if let Some(at) = unread.find(text) {
                self.read = (self.read + at + text.len()).min(self.seen.len());
                return;
            }
            let mut bytes = [0; 4096];
            let count = self.child.stdout.as_mut().unwrap().read(&mut bytes).unwrap();
            assert!(count > 0, "`{text}` never came:\n{}", String::from_utf8_lossy(&self.seen));
            self.seen.extend_from_slice(&bytes[..count]);
        }
    }

    /// Types an answer each time the prompt comes up, until the command has ended: everything that was on the screen, and
    /// the exit code. `answer` gets the screen up to the prompt.
    pub(crate) fn answer_all(mut self, prompt: &str, answer: impl Fn(&str) -> &'static str) -> (String, i32) {
        let mut bytes = [0; 4096];
        loop {
            let count = self.child.stdout.as_mut().unwrap().read(&mut bytes).unwrap();
            if count == 0 {
                return self.end();
            }
            self.seen.extend_from_slice(&bytes[..count]);
            let prompt = prompt.as_bytes();
            while let Some(at) = self.seen[self.read..].windows(prompt.len()).position(|text| text == prompt)
            {
                self.read += at + prompt.len();
                let screen = String::from_utf8_lossy(&self.seen[..self.read]).into_owned();
                self.type_in(answer(&screen));
            }
        }
    }

    /// What has come up so far.
    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Ends the command as a crash would.
    pub(crate) fn kill(mut self) {
        assert!(Command::new("kill").args(["-KILL", &self.pid]).status().unwrap().success());
        self.child.wait().unwrap();
    }

    /// Waits for the end: everything that was on the screen, and the exit code.
    pub(crate) fn end(mut self) -> (String, i32) {
        self.child.stdout.as_mut().unwrap().read_to_end(&mut self.seen).unwrap();
        let code = self.child.wait().unwrap().code().unwrap();
        (String::from_utf8_lossy(&self.seen).into_owned(), code)
    }
}
