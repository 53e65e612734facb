//! The response of a server as the events of a turn.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use super::Wire;
use super::api_key::ApiKey;
use super::chat_parser::ChatParser;
use super::pending_events::PendingEvents;
use super::response_body::ResponseBody;
use super::responses_parser::ResponsesParser;
use super::sse_parser::SseParser;
use crate::{BackendError, BackendErrorKind, TurnEvent};

/// Chunks that are read at most before their events are handed on.
const MAX_CHUNKS: usize = 128;

/// Dropping it closes the connection, which makes the server stop.
pub(super) struct EventStream {
    body: ResponseBody,
    sse: SseParser,
    parser: EventParser,
    pending: PendingEvents,
    over: bool,
}

enum EventParser {
    Responses(ResponsesParser),
    Chat(ChatParser),
}

impl EventParser {
    /// Parses the data of one event; returns whether it is the last.
    fn parse(&mut self, data: &[u8], pending: &mut PendingEvents) -> bool {
        match self {
            EventParser::Responses(parser) => parser.parse(data, pending),
            EventParser::Chat(parser) => parser.parse(data, pending),
        }
    }

    /// Returns the end of a turn whose server closed the connection without a last event, as some do on the older wire.
    fn end(&mut self) -> Option<TurnEvent> {
        match self {
            EventParser::Responses(_) => None,
            EventParser::Chat(parser) => parser.end(),
        }
    }
}

impl EventStream {
    pub(super) fn new(body: ResponseBody, wire: Wire, key: ApiKey) -> EventStream {
        let parser = match wire {
            Wire::Responses => EventParser::Responses(ResponsesParser::new(key)),
            Wire::Chat => EventParser::Chat(ChatParser::new(key)),
        };
        EventStream {
            body,
            sse: SseParser::default(),
            parser,
            pending: PendingEvents::default(),
            over: false,
        }
    }

    /// Parses all chunks that have arrived, so that text that arrived together becomes one event. Pending if no chunk
    /// has arrived.
    fn poll_chunks(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for count in 0..MAX_CHUNKS {
            match self.body.poll_chunk(cx) {
                Poll::Ready(Some(Ok(chunk))) => self.feed(&chunk),
                Poll::Ready(Some(Err(_)) | None) => self.end_early(),
                Poll::Pending if count == 0 => return Poll::Pending,
                Poll::Pending => return Poll::Ready(()),
            }
            if self.over {
                self.read_to_end(cx);
                break;
            }
        }
        Poll::Ready(())
    }

    fn feed(&mut self, chunk: &[u8]) {
        let EventStream { sse, parser, pending, over, .. } = self;
        *over = sse.feed(chunk, |data| parser.parse(data, pending)).unwrap_or_else(|error| {
            pending.error(error);
            true
        });
    }

    /// Reads what has arrived behind the last event: a connection can be used again only if its body was read to the
    /// end.
    fn read_to_end(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(Ok(_))) = self.body.poll_chunk(cx) {}
    }

    /// Ends a turn whose body ended before its last event.
    fn end_early(&mut self) {
        self.over = true;
        match self.parser.end() {
            Some(end) => self.pending.event(end),
            None => {
                let message = "the model's server broke off its answer";
                self.pending.error(BackendError::new(BackendErrorKind::Died, message));
            }
        }
    }
}

impl Stream for EventStream {
    type Item = Result<TurnEvent, BackendError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.pending.take() {
                return Poll::Ready(Some(event));
            }
            if self.over {
                return Poll::Ready(None);
            }
            if self.poll_chunks(cx).is_pending() {
                self.pending.shrink();
                return Poll::Pending;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener};
    use std::sync::mpsc;

    use proptest::prelude::{Just, Strategy, prop, prop_assert_eq, prop_oneof, proptest};

    use super::super::connection_tests::{request, turn};
    use super::super::{OpenAi, OpenAiSettings};
    use super::{EventParser, PendingEvents, ResponsesParser, SseParser, Wire};
    use crate::TextModel;

    const HI: &str =
        "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Hi\"}\n\n";
    const DONE: &str = "data: {\"type\":\"response.completed\",\"response\":{}}\n\n";
    const CHAT_HI: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
    const CHAT_STOP: &str = "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n";

    /// Returns the events of a body whose first bytes come with the head. The rest follows at once, or if it is `late`,
    /// after the first event. The connection must not be kept.
    async fn events_of(wire: Wire, body: &str, cut: usize, late: bool) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (go_on, gone_on) = mpsc::channel();
        let (first, rest) = body.split_at(cut);
        let first = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{first}");
        let rest = rest.to_owned();
        let served = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            request(&mut socket).unwrap();
            socket.write_all(first.as_bytes()).unwrap();
            gone_on.recv().unwrap();
            // The client may hang up before the rest is sent.
            let _sent = socket.write_all(rest.as_bytes()).and_then(|()| socket.shutdown(Shutdown::Write));
            // Until it does, so that it sees an end and no reset.
            let _closed = socket.read(&mut [0]);
        });
        let model = OpenAi::new(OpenAiSettings { wire, ..OpenAiSettings::new(url) }).unwrap();
        if !late {
            go_on.send(()).unwrap();
        }
        let mut stream = model.start(turn("Hello".to_owned())).await.unwrap();
        let mut shown = String::new();
        while let Some(event) = stream.next().await {
            shown += &match event {
                Ok(event) => format!("{event:?} "),
                Err(error) => format!("{:?} ", error.kind),
            };
            // Fails the second time, because the server waits only once.
            let _sent = go_on.send(());
        }
        drop(stream);
        assert!(!model.client.has_idle_connection(), "nobody knows where the next answer would begin");
        served.join().unwrap();
        shown.trim_end().to_owned()
    }

    async fn is_heard_however_it_is_cut(wire: Wire, parts: &[&str], behind: &str, expected: &str) {
        let chunks: String = parts.iter().map(|part| format!("{:x}\r\n{part}\r\n", part.len())).collect();
        let body = chunks + behind;
        for cut in 0..=body.len() {
            assert_eq!(
                events_of(wire, &body, cut, false).await,
                expected,
                "{behind:?}, cut at {cut} of {}",
                body.len()
            );
        }
    }

    #[tokio::test]
    async fn what_came_before_a_malformed_chunk_is_heard_first() {
        for behind in ["zz\r\n", "0\n\n", "5\r\nabcdefg", "\r\n0\r\n\r\n"] {
            is_heard_however_it_is_cut(Wire::Responses, &[HI], behind, r#"Text("Hi") Died"#).await;
            is_heard_however_it_is_cut(Wire::Chat, &[CHAT_HI], behind, r#"Text("Hi") Died"#).await;
            is_heard_however_it_is_cut(Wire::Chat, &[CHAT_HI, CHAT_STOP], behind, r#"Text("Hi") Done(Stop)"#)
                .await;
        }
    }

    #[tokio::test]
    async fn a_malformed_chunk_behind_a_whole_answer_costs_nothing_of_it() {
        for behind in ["zz\r\n", "0\n\n", "5\r\nabcdefg", "\r\n0\r\n\r\n"] {
            is_heard_however_it_is_cut(Wire::Responses, &[HI, DONE], behind, r#"Text("Hi") Done(Stop)"#)
                .await;
            let chat = [CHAT_HI, CHAT_STOP, "data: [DONE]\n\n"];
            is_heard_however_it_is_cut(Wire::Chat, &chat, behind, r#"Text("Hi") Done(Stop)"#).await;
        }
    }

    #[tokio::test]
    async fn words_are_told_together_if_they_came_together_and_not_otherwise() {
        let chunk = |part: &str| format!("{:x}\r\n{part}\r\n", part.len());
        let hi = chunk(HI);
        let body = [hi.as_str(), &hi, &hi, &chunk(DONE), "zz\r\n"].concat();
        for (cut, late, expected) in [
            (0, false, r#"Text("HiHiHi") Done(Stop)"#),
            (hi.len(), true, r#"Text("Hi") Text("HiHi") Done(Stop)"#),
            (2 * hi.len() + 20, true, r#"Text("HiHi") Text("Hi") Done(Stop)"#),
            (3 * hi.len(), true, r#"Text("HiHiHi") Done(Stop)"#),
        ] {
            assert_eq!(events_of(Wire::Responses, &body, cut, late).await, expected, "cut at {cut}");
        }
    }

    /// Returns the events of a text that arrives in pieces of a size. If `forgetful` is set, every event is parsed as
    /// if it were the first.
    fn events_of_pieces(text: &str, size: usize, forgetful: bool) -> String {
        let (mut sse, mut pending) = (SseParser::default(), PendingEvents::default());
        let fresh = || EventParser::Responses(ResponsesParser::default());
        let mut parser = fresh();
        for piece in text.as_bytes().chunks(size) {
            let over = sse.feed(piece, |data| {
                if forgetful {
                    parser = fresh();
                }
                parser.parse(data, &mut pending)
            });
            if over.unwrap() {
                break;
            }
        }
        format!("{pending:?}")
    }

    /// Events in all their spellings, and other lines.
    fn streams() -> impl Strategy<Value = String> {
        let before = prop_oneof![
            4 => Just("event: a\ndata: "),
            2 => Just("data: "),
            1 => Just("data:"),
            1 => Just(""),
            1 => Just(": x\ndata: "),
            1 => Just("id: 1\r\ndata: "),
        ];
        let behind = prop_oneof![
            6 => Just("\n\n"),
            1 => Just("\r\n\r\n"),
            1 => Just("\r\n\n"),
            1 => Just("\nid: 1\n\n"),
            1 => Just("\n"),
        ];
        let words = prop_oneof![3 => "[a-z]{0,9}", 1 => r#"(\\n|\\"|[a-z]){0,4}"#];
        let event = (before, words, 0_u32..200, behind).prop_map(|(before, words, number, behind)| {
            let kind = r#""type":"response.output_text.delta""#;
            format!(r#"{before}{{{kind},"sequence_number":{number},"delta":"{words}"}}{behind}"#)
        });
        prop::collection::vec(event, 0..9).prop_map(|events| events.concat())
    }

    proptest! {
        #[test]
        fn what_is_heard_depends_neither_on_pieces_nor_on_what_was_heard_before(text in streams()) {
            let expected = events_of_pieces(&text, usize::MAX, true);
            for size in [1, 2, 3, 7, 20, 50, 64, 90, 200, usize::MAX] {
                prop_assert_eq!(&events_of_pieces(&text, size, false), &expected, "in pieces of {}", size);
            }
        }
    }
}
