//! What the server counts, for whoever watches it: the text that Prometheus reads.
//!
//! A label is a word from a closed list or a route as it was written in the code, so that neither the number of
//! series nor their names can come from a request. No name of a tool, of a model or of a note is ever a label.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use backend::{ErrorKind, Usage};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// The content type of [`Metrics::render`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// From a local answer to a long turn of a slow model.
const SECONDS: [f64; 14] =
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0, 600.0];

/// What was seen while answers were made: in the text of models, and in what clients sent back of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// A call that reached the client.
    Call,
    /// A block that was mended before it could be read.
    Repair,
    /// A block that could not be read and stayed text.
    ParseFailure,
    /// An answer that failed because the model broke a promise of the request, and broke one again when it was
    /// asked once more. A first try that was mended by the second is not counted.
    StrictFailure,
    /// A call of a tool that the request does not have.
    UnknownName,
    /// A call that a client sent back in the input of its request, as it does to continue after it.
    Echo,
}

impl Seen {
    /// `Echo` is the last.
    const COUNT: usize = Seen::Echo as usize + 1;

    fn as_str(self) -> &'static str {
        match self {
            Seen::Call => "call",
            Seen::Repair => "repair",
            Seen::ParseFailure => "parse_failure",
            Seen::StrictFailure => "strict_failure",
            Seen::UnknownName => "unknown_name",
            Seen::Echo => "echo",
        }
    }
}

/// How an answer ended, however many turns of the model it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    Completed,
    Incomplete,
    Failed,
    /// The client went away, or asked for it.
    Interrupted,
}

impl TurnEnd {
    /// `Interrupted` is the last.
    const COUNT: usize = TurnEnd::Interrupted as usize + 1;

    fn as_str(self) -> &'static str {
        match self {
            TurnEnd::Completed => "completed",
            TurnEnd::Incomplete => "incomplete",
            TurnEnd::Failed => "failed",
            TurnEnd::Interrupted => "interrupted",
        }
    }
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    route: Route,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OnRoute {
    route: Route,
}

/// The one label of a family that counts words of a closed list.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Word {
    kind: &'static str,
}

/// A route as it is written in the code, `/v1/responses/{id}`; never the path of a request.
pub type Route = Arc<str>;

type Timings = Family<OnRoute, Histogram, fn() -> Histogram>;
type Words = Family<Word, Counter>;

/// Words that are counted for every answer. Each is looked up once, and is not there before it is counted.
struct OftenCounted<const WORDS: usize> {
    family: Words,
    known: [OnceLock<Counter>; WORDS],
}

impl<const WORDS: usize> OftenCounted<WORDS> {
    /// Counts the word that has this place among all.
    fn count(&self, place: usize, kind: &'static str, times: u64) {
        self.known[place].get_or_init(|| self.family.get_or_create_owned(&Word { kind })).inc_by(times);
    }
}

impl<const WORDS: usize> Default for OftenCounted<WORDS> {
    fn default() -> OftenCounted<WORDS> {
        OftenCounted { family: Family::default(), known: [const { OnceLock::new() }; WORDS] }
    }
}

/// All counters of one server. Cheap to share; counting takes no lock that anybody waits for long.
pub struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    in_flight: Gauge,
    connections: Gauge,
    refused: Words,
    first_byte: Timings,
    duration: Timings,
    seen: OftenCounted<{ Seen::COUNT }>,
    backend_errors: Words,
    turns: OftenCounted<{ TurnEnd::COUNT }>,
    tokens: OftenCounted<4>,
}

impl Metrics {
    pub fn new() -> Metrics {
        let mut registry = Registry::with_prefix("tollgate");
        let timings = || Timings::new_with_constructor(|| Histogram::new(SECONDS));
        let metrics = Metrics {
            requests: Family::default(),
            in_flight: Gauge::default(),
            connections: Gauge::default(),
            refused: Family::default(),
            first_byte: timings(),
            duration: timings(),
            seen: OftenCounted::default(),
            backend_errors: Family::default(),
            turns: OftenCounted::default(),
            tokens: OftenCounted::default(),
            registry: Registry::default(),
        };
        registry.register(
            "http_requests",
            "Requests answered, by route and status",
            metrics.requests.clone(),
        );
        registry.register("http_in_flight", "Requests being answered", metrics.in_flight.clone());
        registry.register("http_connections", "Connections that are open", metrics.connections.clone());
        registry.register("http_refused", "Requests and connections refused", metrics.refused.clone());
        registry.register_with_unit(
            "http_first_byte",
            "From a request's head to the first byte of its answer's body",
            Unit::Seconds,
            metrics.first_byte.clone(),
        );
        registry.register_with_unit(
            "http_duration",
            "From a request's head to the end of its answer",
            Unit::Seconds,
            metrics.duration.clone(),
        );
        registry.register(
            "model_output",
            "Calls in the text of models (call, repair, parse_failure, unknown_name), answers that failed \
             their second try (strict_failure), and calls that clients sent back (echo)",
            metrics.seen.family.clone(),
        );
        registry.register(
            "backend_errors",
            "Turns that a backend did not start or did not finish",
            metrics.backend_errors.clone(),
        );
        registry.register(
            "turns",
            "Answers that were begun, by how they ended; one can take several turns of the model",
            metrics.turns.family.clone(),
        );
        registry.register(
            "tokens",
            "Tokens of all turns, as the backends report them",
            metrics.tokens.family.clone(),
        );
        Metrics { registry, ..metrics }
    }

    /// One request was answered to its end, or until the client went away.
    pub fn answered(&self, method: &'static str, route: &Route, status: u16, took: Duration) {
        self.requests.get_or_create(&Answered { method, route: route.clone(), status }).inc();
        self.duration.get_or_create(&OnRoute { route: route.clone() }).observe(took.as_secs_f64());
    }

    pub fn first_byte(&self, route: &Route, took: Duration) {
        self.first_byte.get_or_create(&OnRoute { route: route.clone() }).observe(took.as_secs_f64());
    }

    /// A request, or a connection, that was turned away; the reason is a code of the API.
    pub fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&Word { kind: reason }).inc();
    }

    /// A request came in; it counts as in flight until the guard is dropped.
    pub fn request_started(&self) -> Counted {
        Counted::up(&self.in_flight)
    }

    /// A connection was opened; it counts as open until the guard is dropped.
    pub fn connection_opened(&self) -> Counted {
        Counted::up(&self.connections)
    }

    pub fn seen(&self, what: Seen) {
        self.seen.count(what as usize, what.as_str(), 1);
    }

    pub fn backend_failed(&self, kind: ErrorKind) {
        self.backend_errors.get_or_create(&Word { kind: kind.as_str() }).inc();
    }

    /// An answer came to its end, with what all its turns used together.
    pub fn turn_ended(&self, end: TurnEnd, usage: Usage) {
        self.turns.count(end as usize, end.as_str(), 1);
        let counts = [
            ("input", usage.input_tokens),
            ("cached_input", usage.cached_input_tokens),
            ("output", usage.output_tokens),
            ("reasoning", usage.reasoning_tokens),
        ];
        for (place, (kind, count)) in counts.into_iter().enumerate().filter(|(_, (_, count))| *count > 0) {
            self.tokens.count(place, kind, count);
        }
    }

    /// Everything, as text.
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing into a string does not fail; a metric that fails to print is left out with what follows.
        if encode(&mut text, &self.registry).is_err() {
            tracing::error!("the metrics cannot be written");
        }
        text
    }
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics::new()
    }
}

/// Counts one up for as long as it lives.
pub struct Counted(Gauge);

impl Counted {
    fn up(gauge: &Gauge) -> Counted {
        gauge.inc();
        Counted(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use backend::{ErrorKind, Usage};
    use expect_test::expect;

    use super::{Metrics, Route, Seen, TurnEnd};

    #[test]
    fn everything_that_is_counted_is_printed_once() {
        let metrics = Metrics::new();
        // No route of ours is called like this; it must not break the text all the same.
        let route = Route::from("/v1/\"odd\"\n{id}");
        let open = metrics.connection_opened();
        let ended = metrics.request_started();
        metrics.first_byte(&route, Duration::from_millis(3));
        metrics.answered("GET", &route, 200, Duration::from_secs(3));
        drop(ended);
        metrics.refused("host_not_allowed");
        metrics.refused("host_not_allowed");
        for what in
            [Seen::Call, Seen::Repair, Seen::ParseFailure, Seen::StrictFailure, Seen::UnknownName, Seen::Echo]
        {
            metrics.seen(what);
        }
        metrics.backend_failed(ErrorKind::Died);
        let usage = Usage { input_tokens: 10, cached_input_tokens: 0, output_tokens: 5, reasoning_tokens: 2 };
        metrics.turn_ended(TurnEnd::Completed, usage);
        metrics.turn_ended(TurnEnd::Interrupted, Usage::default());

        let text = metrics.render();
        let mut lines: Vec<&str> =
            text.lines().filter(|line| !line.starts_with('#') && !line.contains("_bucket{")).collect();
        lines.sort_unstable();
        expect![[r#"
            tollgate_backend_errors_total{kind="died"} 1
            tollgate_http_connections 1
            tollgate_http_duration_seconds_count{route="/v1/\"odd\"\n{id}"} 1
            tollgate_http_duration_seconds_sum{route="/v1/\"odd\"\n{id}"} 3.0
            tollgate_http_first_byte_seconds_count{route="/v1/\"odd\"\n{id}"} 1
            tollgate_http_first_byte_seconds_sum{route="/v1/\"odd\"\n{id}"} 0.003
            tollgate_http_in_flight 0
            tollgate_http_refused_total{kind="host_not_allowed"} 2
            tollgate_http_requests_total{method="GET",route="/v1/\"odd\"\n{id}",status="200"} 1
            tollgate_model_output_total{kind="call"} 1
            tollgate_model_output_total{kind="echo"} 1
            tollgate_model_output_total{kind="parse_failure"} 1
            tollgate_model_output_total{kind="repair"} 1
            tollgate_model_output_total{kind="strict_failure"} 1
            tollgate_model_output_total{kind="unknown_name"} 1
            tollgate_tokens_total{kind="input"} 10
            tollgate_tokens_total{kind="output"} 5
            tollgate_tokens_total{kind="reasoning"} 2
            tollgate_turns_total{kind="completed"} 1
            tollgate_turns_total{kind="interrupted"} 1
        "#]]
        .assert_eq(&(lines.join("\n") + "\n"));
        let mut help: Vec<&str> = text.lines().filter(|line| line.starts_with("# HELP")).collect();
        help.sort_unstable();
        expect![[r#"
            # HELP tollgate_backend_errors Turns that a backend did not start or did not finish.
            # HELP tollgate_http_connections Connections that are open.
            # HELP tollgate_http_duration_seconds From a request's head to the end of its answer.
            # HELP tollgate_http_first_byte_seconds From a request's head to the first byte of its answer's body.
            # HELP tollgate_http_in_flight Requests being answered.
            # HELP tollgate_http_refused Requests and connections refused.
            # HELP tollgate_http_requests Requests answered, by route and status.
            # HELP tollgate_model_output Calls in the text of models (call, repair, parse_failure, unknown_name), answers that failed their second try (strict_failure), and calls that clients sent back (echo).
            # HELP tollgate_tokens Tokens of all turns, as the backends report them.
            # HELP tollgate_turns Answers that were begun, by how they ended; one can take several turns of the model.
        "#]].assert_eq(&(help.join("\n") + "\n"));
        assert!(text.ends_with("# EOF\n"), "{text}");
        drop(open);
    }
}
