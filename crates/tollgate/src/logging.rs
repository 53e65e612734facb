//! Where a server writes what happens: standard error, as text or as lines of JSON.
//!
//! What is logged is chosen where it is logged: names, numbers and words of closed lists, never the text of a note,
//! a header or a token. What other people's crates log is not chosen like that, whole results among it, and left out.

use std::io;

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
    let subscriber = tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr).with_ansi(false);
    let started = match format {
        LogFormat::Text => start_with(subscriber.finish()),
        LogFormat::Json => start_with(subscriber.json().flatten_event(true).finish()),
    };
    // Somebody else logs already; that is as good.
    let _already = started.is_err();
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
    use super::is_ours;

    #[test]
    fn only_what_was_chosen_here_is_logged() {
        let targets = ["gateway::mcp::face", "tollgate", "rmcp::service", "hyper::proto", "tollgated::x"];
        assert_eq!(targets.map(is_ours), [true, true, false, false, false]);
    }
}
