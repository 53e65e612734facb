//! The log of a server: written to standard error, as text or as lines of JSON.
//!
//! Call sites choose what is logged: names, numbers and words of closed lists, never the text of a note, a header or a
//! token. Other crates do not, and may log whole results, so their lines are left out.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use envelope::{escape_json, escape_line};
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;

/// The minimum level that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// Starts the log. Only the first call has an effect.
pub(crate) fn start(level: LogLevel, format: LogFormat) {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let writer = move || LogWriter { format, to: io::stderr() };
    let subscriber = tracing_subscriber::fmt().with_max_level(level).with_writer(writer).with_ansi(false);
    let started = match format {
        LogFormat::Text => start_with(subscriber.finish()),
        LogFormat::Json => start_with(subscriber.json().flatten_event(true).finish()),
    };
    // A subscriber that is set already is as good.
    let _already = started.is_err();
}

/// Maximum size of the log lines that are held back while a question is open.
const MAX_HELD_BYTES: usize = 256 * 1024;

/// Log lines that wait until the open question is answered.
static LOG_BUFFER: Mutex<LogBuffer> = Mutex::new(LogBuffer { holders: 0, lines: Vec::new(), dropped: 0 });

struct LogBuffer {
    holders: u32,
    lines: Vec<u8>,
    /// Number of lines that did not fit.
    dropped: u64,
}

impl LogBuffer {
    /// Stores a line if lines are held back now. Returns whether they are.
    fn keep(&mut self, line: &[u8]) -> bool {
        if self.holders == 0 {
            return false;
        }
        if self.lines.len() + line.len() > MAX_HELD_BYTES {
            self.dropped += 1;
        } else {
            self.lines.extend_from_slice(line);
        }
        true
    }

    /// Returns the stored lines when the last hold ends.
    fn release(&mut self) -> Vec<u8> {
        self.holders = self.holders.saturating_sub(1);
        if self.holders > 0 {
            return Vec::new();
        }
        let mut lines = std::mem::take(&mut self.lines);
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            lines.extend_from_slice(
                format!("{dropped} log lines were left out while a question waited\n").as_bytes(),
            );
        }
        lines
    }
}

/// Holds log lines back until the guard is dropped, so that they do not scroll a question away.
#[must_use]
pub(crate) fn hold_lines() -> LogHold {
    log_buffer().holders += 1;
    LogHold
}

pub(crate) struct LogHold;

impl Drop for LogHold {
    fn drop(&mut self) {
        let mut held = log_buffer();
        let lines = held.release();
        // Written while the lock is held, so that no newer line comes first.
        let _gone = io::stderr().lock().write_all(&lines);
    }
}

fn log_buffer() -> MutexGuard<'static, LogBuffer> {
    LOG_BUFFER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes every event as one line without invisible characters, or stores it while lines are held back. An event
/// arrives in one call of `write`.
struct LogWriter<W> {
    format: LogFormat,
    to: W,
}

impl<W: Write> Write for LogWriter<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let shown = match self.format {
            LogFormat::Text => escape_line(line),
            LogFormat::Json => escape_json(line),
        };
        let shown = format!("{shown}{}", &text[line.len()..]);
        let mut held = log_buffer();
        if !held.keep(shown.as_bytes()) {
            // In one write, so that lines of several threads do not mix.
            self.to.write_all(shown.as_bytes())?;
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The crates whose log lines are shown.
const OWN_CRATES: &[&str] = &[
    "app",
    "backend",
    "call_session",
    "command_line",
    "engine",
    "envelope",
    "host",
    "http_edge",
    "journal",
    "mcp_client",
    "mcp_server",
    "notes",
    "plan",
    "receipts",
    "responses",
    "sentinel",
    "shell",
    "tollgate",
    "toolkit",
    "vault",
];

fn is_own_crate(target: &str) -> bool {
    OWN_CRATES.contains(&target.split("::").next().unwrap_or_default())
}

fn start_with(
    subscriber: impl Subscriber + Send + Sync + 'static,
) -> Result<(), tracing::subscriber::SetGlobalDefaultError> {
    tracing::subscriber::set_global_default(subscriber.with(filter_fn(|what| is_own_crate(what.target()))))
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use envelope::is_invisible;

    use super::{LogBuffer, LogFormat, LogWriter, MAX_HELD_BYTES, is_own_crate};

    #[derive(Clone, Default)]
    struct CapturedLog(Arc<Mutex<Vec<u8>>>);

    impl Write for CapturedLog {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_event_is_one_line_and_nothing_in_it_is_invisible() {
        let hostile: String =
            ('\0'..=char::MAX).filter(|&c| is_invisible(c)).flat_map(|c| ['a', c]).collect();
        for format in [LogFormat::Text, LogFormat::Json] {
            let written = CapturedLog::default();
            let to = written.clone();
            let subscriber = tracing_subscriber::fmt()
                .with_ansi(false)
                .with_writer(move || LogWriter { format, to: to.clone() });
            let log = || tracing::warn!(error = %hostile, "an {hostile} event");
            match format {
                LogFormat::Text => tracing::subscriber::with_default(subscriber.finish(), log),
                LogFormat::Json => tracing::subscriber::with_default(subscriber.json().finish(), log),
            }
            let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
            let line = text.strip_suffix('\n').unwrap();
            assert!(line.contains("2800") && !line.contains(is_invisible), "{format:?}");
        }
    }

    #[test]
    fn lines_are_held_back_within_bounds_and_come_in_their_order() {
        let mut held = LogBuffer { holders: 0, lines: Vec::new(), dropped: 0 };
        assert!(!held.keep(b"at once\n"), "nobody holds it back");
        held.holders = 2;
        assert!(held.keep(b"first\n") && held.keep(b"second\n"));
        assert_eq!(held.release(), b"", "the other question still stands");
        assert!(held.keep(&vec![b'x'; MAX_HELD_BYTES]), "left out, and not written over the question");
        assert!(held.keep(b"third\n"));
        let lines = String::from_utf8(held.release()).unwrap();
        assert_eq!(lines, "first\nsecond\nthird\n1 log lines were left out while a question waited\n");
        assert!(!held.keep(b"at once\n"));
    }

    #[test]
    fn only_what_was_chosen_here_is_logged() {
        let targets = ["mcp_server::server", "tollgate", "rmcp::service", "hyper::proto", "tollgated::x"];
        assert_eq!(targets.map(is_own_crate), [true, true, false, false, false]);
    }
}
