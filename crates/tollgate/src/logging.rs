//! Where a server writes what happens: standard error, as text or as lines of JSON.
//!
//! What is logged is chosen where it is logged: names, numbers and words of closed lists, never the text of a note,
//! a header or a token.

use std::io;

use tracing::level_filters::LevelFilter;

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
    let subscriber = tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr).with_ansi(false);
    let started = match format {
        LogFormat::Text => tracing::subscriber::set_global_default(subscriber.finish()),
        LogFormat::Json => {
            tracing::subscriber::set_global_default(subscriber.json().flatten_event(true).finish())
        }
    };
    // Somebody else logs already; that is as good.
    let _already = started.is_err();
}
