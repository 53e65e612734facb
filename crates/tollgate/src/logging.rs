//! Where a server writes what happens: standard error, as text or as lines of JSON.
//!
//! What is logged is chosen where it is logged: names, numbers and words of closed lists, never the text of a note,
//! a header or a token. What other people's crates log is not chosen like that, whole results among it, and left out.

use std::io::{self, Write};

use envelope::{escape_json, escape_line};
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;

/// The least level that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Level {
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

/// Logs from here on. Only the first call counts.
pub(crate) fn start(level: Level, format: LogFormat) {
    let level = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
    };
    let writer = move || LogWriter { format, to: io::stderr() };
    let subscriber = tracing_subscriber::fmt().with_max_level(level).with_writer(writer).with_ansi(false);
    let started = match format {
        LogFormat::Text => start_with(subscriber.finish()),
        LogFormat::Json => start_with(subscriber.json().flatten_event(true).finish()),
    };
    // Somebody else logs already; that is as good.
    let _already = started.is_err();
}

/// Writes every event as one line in which nothing is invisible. An event arrives in one call of `write`.
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
        // In one piece, so that lines of several threads do not mix.
        self.to.write_all(format!("{shown}{}", &text[line.len()..]).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The crates whose words are ours.
const OURS: [&str; 12] = [
    "backend", "engine", "envelope", "gateway", "host", "journal", "plan", "shell", "tollgate", "toolkit",
    "upstream", "vault",
];

fn is_ours(target: &str) -> bool {
    OURS.contains(&target.split("::").next().unwrap_or_default())
}

fn start_with(
    subscriber: impl Subscriber + Send + Sync + 'static,
) -> Result<(), tracing::subscriber::SetGlobalDefaultError> {
    tracing::subscriber::set_global_default(subscriber.with(filter_fn(|what| is_ours(what.target()))))
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use envelope::is_invisible;

    use super::{LogFormat, LogWriter, is_ours};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
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
            let written = Written::default();
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
    fn only_what_was_chosen_here_is_logged() {
        let targets = ["gateway::mcp::face", "tollgate", "rmcp::service", "hyper::proto", "tollgated::x"];
        assert_eq!(targets.map(is_ours), [true, true, false, false, false]);
    }
}
