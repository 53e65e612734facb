//! The answer of a server as the events of a turn.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use super::answer::Answer;
use super::heard::Heard;
use super::secret::Secret;
use super::sse::{Frames, Listener};
use super::{Wire, chat, responses};
use crate::{BackendError, ErrorKind, TurnEvent};

/// Dropping it closes the connection, which is how a server learns that nobody listens.
pub(super) struct Reply {
    answer: Answer,
    frames: Frames,
    reader: Reader,
    heard: Heard,
    over: bool,
}

enum Reader {
    Responses(responses::Reader),
    Chat(chat::Reader),
}

/// Reads events as they are cut.
struct Listening<'a> {
    reader: &'a mut Reader,
    heard: &'a mut Heard,
}

impl Listener for Listening<'_> {
    fn again(&mut self, text: &[u8]) -> Option<usize> {
        match self.reader {
            Reader::Responses(reader) => reader.read_again(text, self.heard),
            Reader::Chat(_) => None,
        }
    }

    fn event(&mut self, lead: &[u8], data: &[u8]) -> bool {
        match self.reader {
            Reader::Responses(reader) => reader.read(lead, data, self.heard),
            Reader::Chat(reader) => reader.read(data, self.heard),
        }
    }
}

impl Reply {
    pub(super) fn new(answer: Answer, wire: Wire, secret: Secret) -> Reply {
        let reader = match wire {
            Wire::Responses => Reader::Responses(responses::Reader::new(secret)),
            Wire::Chat => Reader::Chat(chat::Reader::new(secret)),
        };
        Reply { answer, frames: Frames::default(), reader, heard: Heard::default(), over: false }
    }

    /// Reads the events that came; says nothing when no more follow, which is known only after some came.
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        let Reply { answer, frames, reader, heard, over } = self;
        let more = answer.poll_more(cx, |bytes| {
            // What follows the last event is no part of the turn.
            if *over {
                return;
            }
            let cut = frames.cut(bytes, &mut Listening { reader, heard });
            *over = cut.unwrap_or_else(|error| {
                heard.error(error);
                true
            });
        });
        more.map(|more| matches!(more, Ok(true)).then_some(()))
    }

    /// Nothing that matters follows, but a connection whose answer was read to its end can be used again. What is not
    /// there yet is not waited for.
    fn read_to_end(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Ok(true)) = self.answer.poll_more(cx, |_| ()) {}
    }

    /// Puts the end behind what came before it. An answer that is over ended well, whatever the connection did then.
    fn break_off(&mut self) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        // Some servers of the older wire say no last word.
        let end = match &mut self.reader {
            Reader::Responses(_) => None,
            Reader::Chat(reader) => reader.end(),
        };
        match end {
            Some(end) => self.heard.event(end),
            None => {
                let message = "the model's server broke off its answer";
                self.heard.error(BackendError::new(ErrorKind::Died, message));
            }
        }
    }
}

impl Stream for Reply {
    type Item = Result<TurnEvent, BackendError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.heard.take() {
                return Poll::Ready(Some(event));
            }
            if self.over {
                return Poll::Ready(None);
            }
            match self.poll_events(cx) {
                Poll::Ready(Some(())) => {}
                Poll::Ready(None) => self.break_off(),
                Poll::Pending => {
                    self.heard.rest();
                    return Poll::Pending;
                }
            }
            if self.over {
                self.read_to_end(cx);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::sync::Arc;
    use std::time::Duration;

    use http::StatusCode;
    use proptest::prelude::{Just, Strategy, prop, prop_assert_eq, prop_oneof, proptest};

    use super::super::answer::Answer;
    use super::super::client;
    use super::super::framing::Framing;
    use super::super::head::Head;
    use super::super::line::Line;
    use super::super::lines::Lines;
    use super::super::socket::Socket;
    use super::{Frames, Heard, Listener, Listening, Reader, Reply, Secret, Wire, responses};
    use crate::TurnStream;

    const HI: &str =
        "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Hi\"}\n\n";
    const DONE: &str = "data: {\"type\":\"response.completed\",\"response\":{}}\n\n";
    const CHAT_HI: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
    const CHAT_STOP: &str = "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n";

    /// What is heard of a body whose first bytes came with the head and whose rest is all there. The
    /// connection must not be kept.
    async fn heard(wire: Wire, body: &str, cut: usize) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_nonblocking(true).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        server.write_all(&body.as_bytes()[cut..]).unwrap();
        server.shutdown(Shutdown::Write).unwrap();

        let line = Line::new(Socket::Plain(tokio::net::TcpStream::from_std(client).unwrap()));
        let lines = Arc::new(Lines::new(client::connector(Duration::from_secs(1)), http::Uri::default()));
        let head = Head { status: StatusCode::OK, framing: Framing::CHUNKED, keeps: true };
        let answer = Answer::new(head, body.as_bytes()[..cut].to_vec(), line, lines.clone());
        let mut stream = TurnStream::new(Reply::new(answer, wire, Secret::default()));
        let mut told = String::new();
        while let Some(event) = stream.next().await {
            told += &match event {
                Ok(event) => format!("{event:?} "),
                Err(error) => format!("{:?} ", error.kind),
            };
        }
        drop(stream);
        assert!(lines.take_idle().is_none(), "nobody knows where the next answer would begin");
        told.trim_end().to_owned()
    }

    async fn is_heard_however_it_is_cut(wire: Wire, parts: &[&str], behind: &str, expected: &str) {
        let chunks: String = parts.iter().map(|part| format!("{:x}\r\n{part}\r\n", part.len())).collect();
        let body = chunks + behind;
        for cut in 0..=body.len() {
            assert_eq!(heard(wire, &body, cut).await, expected, "{behind:?}, cut at {cut} of {}", body.len());
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
        for (cut, expected) in [
            (0, r#"Text("HiHiHi") Done(Stop)"#),
            (hi.len(), r#"Text("Hi") Text("HiHi") Done(Stop)"#),
            (2 * hi.len() + 20, r#"Text("HiHi") Text("Hi") Done(Stop)"#),
            (3 * hi.len(), r#"Text("HiHiHi") Done(Stop)"#),
        ] {
            assert_eq!(heard(Wire::Responses, &body, cut).await, expected, "cut at {cut}");
        }
    }

    /// Reads every event as if it were the first.
    struct Forgetful<'a>(&'a mut Heard);

    impl Listener for Forgetful<'_> {
        fn again(&mut self, _text: &[u8]) -> Option<usize> {
            None
        }

        fn event(&mut self, _lead: &[u8], data: &[u8]) -> bool {
            responses::Reader::default().read(&[], data, self.0)
        }
    }

    /// What is heard of a text that comes in pieces of a size.
    fn heard_in_pieces(text: &str, size: usize) -> String {
        let (mut frames, mut heard) = (Frames::default(), Heard::default());
        let mut reader = Reader::Responses(responses::Reader::default());
        for piece in text.as_bytes().chunks(size) {
            if frames.cut(piece, &mut Listening { reader: &mut reader, heard: &mut heard }).unwrap() {
                break;
            }
        }
        format!("{heard:?}")
    }

    /// Events in all their spellings, and lines that are none.
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
            let (mut frames, mut heard) = (Frames::default(), Heard::default());
            frames.cut(text.as_bytes(), &mut Forgetful(&mut heard)).unwrap();
            let expected = format!("{heard:?}");
            for size in [1, 2, 3, 7, 20, 50, 64, 90, 200, usize::MAX] {
                prop_assert_eq!(&heard_in_pieces(&text, size), &expected, "in pieces of {}", size);
            }
        }
    }
}
