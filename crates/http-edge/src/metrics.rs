//! Metrics of the server, in the text format of Prometheus.
//!
//! A label is a word from a closed list or a route pattern from the code, so that neither the number of series nor their
//! names depend on requests. Names of tools, models and notes are never labels.

use std::sync::Arc;
use std::time::Duration;

use backend::{BackendErrorKind, TokenUsage};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// The content type of [`Metrics::render`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Histogram buckets, from a local answer to a long turn of a slow model.
const SECONDS: [f64; 14] =
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0, 600.0];

/// An event in the output of a model, or in the part of it that a client sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputEvent {
    /// A call that reached the client.
    Call,
    /// A block that was repaired.
    Repair,
    /// A block that could not be parsed and stayed text.
    ParseFailure,
    /// An answer that failed because the model broke a requirement of the request twice. A first try that the second
    /// one corrected is not counted.
    StrictFailure,
    /// A call of an unknown tool.
    UnknownName,
    /// A call that a client sent back in the input of a request that continues after it.
    Echo,
}

impl OutputEvent {
    fn as_str(self) -> &'static str {
        match self {
            OutputEvent::Call => "call",
            OutputEvent::Repair => "repair",
            OutputEvent::ParseFailure => "parse_failure",
            OutputEvent::StrictFailure => "strict_failure",
            OutputEvent::UnknownName => "unknown_name",
            OutputEvent::Echo => "echo",
        }
    }
}

/// How an answer ended, however many turns of the model it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    Completed,
    Incomplete,
    Failed,
    /// The client disconnected, or cancelled the answer.
    Interrupted,
}

impl TurnEnd {
    fn as_str(self) -> &'static str {
        match self {
            TurnEnd::Completed => "completed",
            TurnEnd::Incomplete => "incomplete",
            TurnEnd::Failed => "failed",
            TurnEnd::Interrupted => "interrupted",
        }
    }
}

/// The labels of an answered request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: RoutePattern,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabel {
    route: RoutePattern,
}

/// The label of a family that counts words of a closed list.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabel {
    kind: &'static str,
}

/// A route as written in the code, `/v1/responses/{id}`; never the path of a request.
pub type RoutePattern = Arc<str>;

type RouteHistograms = Family<RouteLabel, Histogram, fn() -> Histogram>;
type KindCounters = Family<KindLabel, Counter>;

/// All metrics of one server.
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    in_flight: Gauge,
    connections: Gauge,
    refused: KindCounters,
    first_byte: RouteHistograms,
    duration: RouteHistograms,
    model_output: KindCounters,
    backend_errors: KindCounters,
    turns: KindCounters,
    tokens: KindCounters,
}

impl Metrics {
    pub fn new() -> Metrics {
        let mut registry = Registry::with_prefix("tollgate");
        let timings = || RouteHistograms::new_with_constructor(|| Histogram::new(SECONDS));
        let metrics = Metrics {
            requests: Family::default(),
            in_flight: Gauge::default(),
            connections: Gauge::default(),
            refused: Family::default(),
            first_byte: timings(),
            duration: timings(),
            model_output: Family::default(),
            backend_errors: Family::default(),
            turns: Family::default(),
            tokens: Family::default(),
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
            metrics.model_output.clone(),
        );
        registry.register(
            "backend_errors",
            "Turns that a backend did not start or did not finish",
            metrics.backend_errors.clone(),
        );
        registry.register(
            "turns",
            "Answers that were begun, by how they ended; one can take several turns of the model",
            metrics.turns.clone(),
        );
        registry.register(
            "tokens",
            "Tokens of all turns, as the backends report them",
            metrics.tokens.clone(),
        );
        Metrics { registry, ..metrics }
    }

    /// Counts a request that was answered to its end, or until the client disconnected.
    pub fn answered(&self, method: &'static str, route: &RoutePattern, status: u16, took: Duration) {
        self.requests.get_or_create(&RequestLabels { method, route: route.clone(), status }).inc();
        self.duration.get_or_create(&RouteLabel { route: route.clone() }).observe(took.as_secs_f64());
    }

    pub fn first_byte(&self, route: &RoutePattern, took: Duration) {
        self.first_byte.get_or_create(&RouteLabel { route: route.clone() }).observe(took.as_secs_f64());
    }

    /// Counts a refused request or connection; the reason is a code of the API.
    pub fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&KindLabel { kind: reason }).inc();
    }

    /// Counts a request as in flight until the guard is dropped.
    pub fn request_started(&self) -> GaugeGuard {
        GaugeGuard::new(&self.in_flight)
    }

    /// Counts a connection as open until the guard is dropped.
    pub fn connection_opened(&self) -> GaugeGuard {
        GaugeGuard::new(&self.connections)
    }

    pub fn model_output(&self, event: OutputEvent, times: u64) {
        if times > 0 {
            self.model_output.get_or_create(&KindLabel { kind: event.as_str() }).inc_by(times);
        }
    }

    pub fn backend_failed(&self, kind: BackendErrorKind) {
        self.backend_errors.get_or_create(&KindLabel { kind: kind.as_str() }).inc();
    }

    /// Counts an answer that ended, with the tokens of all its turns.
    pub fn turn_ended(&self, end: TurnEnd, usage: TokenUsage) {
        self.turns.get_or_create(&KindLabel { kind: end.as_str() }).inc();
        let counts = [
            ("input", usage.input_tokens),
            ("cached_input", usage.cached_input_tokens),
            ("output", usage.output_tokens),
            ("reasoning", usage.reasoning_tokens),
        ];
        for (kind, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            self.tokens.get_or_create(&KindLabel { kind }).inc_by(count);
        }
    }

    /// Returns all metrics as text.
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing into a string does not fail; a metric that fails to print ends the text.
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

/// Counts a gauge up for as long as it lives.
pub struct GaugeGuard(Gauge);

impl GaugeGuard {
    fn new(gauge: &Gauge) -> GaugeGuard {
        gauge.inc();
        GaugeGuard(gauge.clone())
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use backend::{BackendErrorKind, TokenUsage};
    use expect_test::expect;

    use super::{Metrics, OutputEvent, RoutePattern, TurnEnd};

    // Conformance: proxy 14.2
    #[test]
    fn everything_that_is_counted_is_printed_once() {
        let metrics = Metrics::new();
        // No route of ours is called like this; it must not break the text all the same.
        let route = RoutePattern::from("/v1/\"odd\"\n{id}");
        let open = metrics.connection_opened();
        let ended = metrics.request_started();
        metrics.first_byte(&route, Duration::from_millis(3));
        metrics.answered("GET", &route, 200, Duration::from_secs(3));
        drop(ended);
        metrics.refused("host_not_allowed");
        metrics.refused("host_not_allowed");
        for what in [
            OutputEvent::Call,
            OutputEvent::Repair,
            OutputEvent::ParseFailure,
            OutputEvent::StrictFailure,
            OutputEvent::UnknownName,
            OutputEvent::Echo,
        ] {
            metrics.model_output(what, 1);
        }
        metrics.backend_failed(BackendErrorKind::Died);
        let usage =
            TokenUsage { input_tokens: 10, cached_input_tokens: 0, output_tokens: 5, reasoning_tokens: 2 };
        metrics.turn_ended(TurnEnd::Completed, usage);
        metrics.turn_ended(TurnEnd::Interrupted, TokenUsage::default());

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
