//! Connections to servers that answer in every way that HTTP knows, over real sockets.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::{OpenAi, OpenAiSettings};
use crate::{
    BackendError, HistoryEntry, MessagePart, MessageRole, ModelTurn, ReasoningSettings, SamplingSettings,
    TextModel, TurnEvent,
};

pub(super) const HI: &str =
    "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Hi\"}\n\n";
pub(super) const DONE: &str = "data: {\"type\":\"response.completed\",\"response\":{}}\n\n";

pub(super) fn turn(said: String) -> ModelTurn {
    ModelTurn {
        model: "m".to_owned(),
        instructions: String::new(),
        history: vec![HistoryEntry::Message {
            role: MessageRole::User,
            parts: vec![MessagePart::Text(said)],
        }],
        tools: Vec::new(),
        reasoning: ReasoningSettings::default(),
        verbosity: None,
        sampling: SamplingSettings::default(),
        output_schema: None,
    }
}

/// The next request, or nothing when the client has hung up.
pub(super) fn request(socket: &mut impl Read) -> Option<String> {
    let mut asked = Vec::new();
    let mut byte = [0];
    while !asked.ends_with(b"\r\n\r\n") {
        if socket.read(&mut byte).unwrap() == 0 {
            return None;
        }
        asked.push(byte[0]);
    }
    let head = String::from_utf8(asked).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    socket.read_exact(&mut body).unwrap();
    Some(head)
}

/// Answers with `answers[n]` one after the other on its nth connection and then hangs up; gives the heads of the
/// requests.
fn server(answers: Vec<Vec<String>>) -> (OpenAi, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let model = OpenAi::new(OpenAiSettings::new(format!("http://{}/v1", listener.local_addr().unwrap())));
    let served = std::thread::spawn(move || {
        let mut asked = Vec::new();
        for answers in answers {
            let (mut socket, _) = listener.accept().unwrap();
            for answer in answers {
                asked.push(request(&mut socket).unwrap());
                // In two writes, as far as the system lets them be two.
                let (first, rest) = answer.split_at(answer.len() / 3);
                socket.write_all(first.as_bytes()).unwrap();
                socket.write_all(rest.as_bytes()).unwrap();
            }
        }
        asked
    });
    (model.unwrap(), served)
}

pub(super) async fn events_of(model: &OpenAi) -> Result<Vec<TurnEvent>, BackendError> {
    let mut stream = model.start(turn("Hello".to_owned())).await?;
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event?);
    }
    Ok(events)
}

pub(super) fn hi() -> Vec<TurnEvent> {
    vec![TurnEvent::Text("Hi".to_owned()), TurnEvent::Done(crate::FinishReason::Stop)]
}

fn chunked(parts: &[&str]) -> String {
    let chunks: String = parts.iter().map(|part| format!("{:x}\r\n{part}\r\n", part.len())).collect();
    format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n")
}

pub(super) fn with_length(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn one_connection_serves_answers_of_every_form_whose_end_is_known() {
    let (model, served) = server(vec![vec![
        chunked(&[HI, DONE]),
        with_length(&format!("{HI}{DONE}")),
        format!(
            "HTTP/1.1 100 Continue\r\n\r\n{}",
            chunked(&[&HI[..10], &HI[10..], DONE, "data: [DONE]\n\n"])
        ),
        with_length(r#"{"data":[{"id":"a"}]}"#),
    ]]);
    for _ in 0..3 {
        assert_eq!(events_of(&model).await.unwrap(), hi());
    }
    assert_eq!(model.models().await.unwrap()[0].id, "a");
    let asked = served.join().unwrap();
    let address = asked[0].lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned();
    assert_eq!(
        asked[3],
        format!(
            "GET /v1/models HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json\r\n\r\n"
        )
    );
}

#[tokio::test]
async fn an_idle_connection_is_closed_in_time_without_another_request() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (finished, wait) = mpsc::channel::<()>();
    let served = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        request(&mut socket).unwrap();
        socket.write_all(with_length(r#"{"data":[{"id":"a"}]}"#).as_bytes()).unwrap();
        // The server keeps the connection open.
        wait.recv().unwrap();
    });
    let model = OpenAi::new(OpenAiSettings::new(url)).unwrap();
    assert_eq!(model.models().await.unwrap().len(), 1);
    assert!(model.client.has_idle_connection());
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert!(!model.client.has_idle_connection());
    finished.send(()).unwrap();
    served.join().unwrap();
}

#[tokio::test]
async fn how_long_a_server_wants_to_be_left_alone_is_handed_on() {
    let mut waits = Vec::new();
    for header in
        ["", "retry-after: 17\r\n", "retry-after: 1.5\r\n", "retry-after: 999999999999999999999\r\n"]
    {
        let answer = format!("HTTP/1.1 429 Slow Down\r\n{header}content-length: 0\r\n\r\n");
        let (model, served) = server(vec![vec![answer]]);
        waits.push(events_of(&model).await.unwrap_err().retry_after);
        served.join().unwrap();
    }
    // A date, a fraction and a number without end are not handed on: clients read whole seconds.
    assert_eq!(waits, [None, Some(Duration::from_secs(17)), None, None]);
}

#[tokio::test]
async fn a_connection_that_cannot_be_trusted_with_another_request_gets_none() {
    let until_close = format!("HTTP/1.1 200 OK\r\n\r\n{HI}{DONE}");
    let closing = chunked(&[HI, DONE]).replacen("\r\n", "\r\nconnection: close\r\ncontent-length: 7\r\n", 1);
    let more_than_asked_for = chunked(&[HI, DONE]) + "HTTP/1.1 200 OK\r\n";
    let (model, served) =
        server(vec![vec![until_close], vec![closing], vec![more_than_asked_for], vec![chunked(&[HI, DONE])]]);
    for _ in 0..4 {
        assert_eq!(events_of(&model).await.unwrap(), hi());
    }
    assert_eq!(served.join().unwrap().len(), 4);
}

#[tokio::test]
async fn an_answer_that_ends_too_early_or_is_no_answer_is_told_apart_from_a_whole_one() {
    let cut = |answer: String| answer[..answer.len() - 20].to_owned();
    let (model, served) = server(vec![
        vec![cut(chunked(&[HI, DONE]))],
        vec![cut(with_length(&format!("{HI}{DONE}")))],
        vec![chunked(&[HI, DONE]).replace("\r\n\r\n", "\r\n\r\nx")],
        vec!["nonsense\r\n\r\n".to_owned()],
        vec!["HTTP/1.1 200 OK\r\ncontent-le".to_owned()],
    ]);
    let mut shown = Vec::new();
    for _ in 0..5 {
        shown.push(events_of(&model).await.unwrap_err().kind);
    }
    use crate::BackendErrorKind::{Died, Unavailable};
    assert_eq!(shown, [Died, Died, Died, Unavailable, Unavailable]);
    served.join().unwrap();
}

#[tokio::test]
async fn a_server_that_answers_before_it_has_read_everything_is_heard() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (finished, wait) = mpsc::channel::<()>();
    let served = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut some = [0; 100];
        socket.read_exact(&mut some).unwrap();
        socket.write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n").unwrap();
        // The rest is never read.
        wait.recv().unwrap();
    });
    let model = OpenAi::new(OpenAiSettings::new(url)).unwrap();
    let answer = model.start(turn("x".repeat(32 << 20))).await;
    let error = answer.err().expect("it was refused");
    assert_eq!(error.to_string(), "the model's server answered 413");
    finished.send(()).unwrap();
    served.join().unwrap();
}

/// The kinds of the errors that answers lead to, each on a connection of its own.
async fn error_kinds(answers: Vec<String>) -> Vec<crate::BackendErrorKind> {
    let count = answers.len();
    let (model, served) = server(answers.into_iter().map(|answer| vec![answer]).collect());
    let mut kinds = Vec::new();
    for number in 0..count {
        let error = events_of(&model).await.err().unwrap_or_else(|| panic!("answer {number} was taken"));
        kinds.push(error.kind);
    }
    served.join().unwrap();
    kinds
}

#[tokio::test]
async fn a_head_that_can_be_read_in_two_ways_is_none() {
    let head = |lines: &str| format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n{HI}{DONE}");
    let answers = vec![
        head("content-length: 1\r\ncontent-length: 2"),
        head("content-length: +1"),
        head("content-length: 1, 1"),
        head("transfer-encoding: gzip, chunked"),
        head("transfer-encoding: chunked\r\ntransfer-encoding: chunked"),
        "HTTP/1.1 101 Go\r\nupgrade: x\r\n\r\n".to_owned(),
        "HTTP/1.1 2x0 OK\r\n\r\n".to_owned(),
        "SSH-2.0-OpenSSH_9.6\r\n".to_owned(),
        head(&format!("x: {}", "a".repeat(70_000))),
        head(&"x: y\r\n".repeat(101)),
    ];
    let expected = vec![crate::BackendErrorKind::Unavailable; answers.len()];
    assert_eq!(error_kinds(answers).await, expected);
}

#[tokio::test]
async fn what_is_no_chunk_is_an_error() {
    let endless = "a".repeat(20_000);
    let answers: Vec<String> = [
        "\r\n",
        ";x\r\n",
        "g\r\n",
        "-1\r\n",
        "5\n",
        "5\rx",
        "5;x\n",
        "11111111111111111\r\n",
        "1\r\nab",
        "1\r\na\n",
        "1\r\na\rb",
        "0\r\n\rx",
        &format!("0;{endless}"),
    ]
    .iter()
    .map(|body| format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{body}"))
    .collect();
    let expected = vec![crate::BackendErrorKind::Died; answers.len()];
    assert_eq!(error_kinds(answers).await, expected);
}

#[tokio::test]
async fn a_length_beside_chunks_is_believed_by_nobody_and_ends_the_connection() {
    let both = chunked(&[HI, DONE]).replacen("\r\n", "\r\ncontent-length: 7\r\n", 1);
    let (model, served) = server(vec![vec![both], vec![chunked(&[HI, DONE])]]);
    for _ in 0..2 {
        assert_eq!(events_of(&model).await.unwrap(), hi());
    }
    assert_eq!(served.join().unwrap().len(), 2);
}

#[tokio::test]
async fn a_proxy_takes_requests_for_a_server_without_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://user:word@{}", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let asked = request(&mut socket).unwrap();
        socket.write_all(chunked(&[HI, DONE]).as_bytes()).unwrap();
        asked
    });
    let mut settings = OpenAiSettings::new("http://model.example:8080/v1");
    settings.proxy.http = Some(proxy);
    let model = OpenAi::new(settings).unwrap();
    assert_eq!(events_of(&model).await.unwrap(), hi());
    let asked = served.join().unwrap();
    assert!(
        asked.starts_with(
            "POST http://model.example:8080/v1/responses HTTP/1.1\r\nhost: model.example:8080\r\n"
        )
    );
    assert!(asked.contains("proxy-authorization: Basic dXNlcjp3b3Jk\r\n"), "{asked}");
}

#[tokio::test]
async fn a_proxy_is_asked_for_a_tunnel_to_a_server_with_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let asked = request(&mut socket).unwrap();
        socket.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n").unwrap();
        asked
    });
    let mut settings = OpenAiSettings::new("https://model.example/v1");
    settings.proxy.https = Some(proxy);
    let model = OpenAi::new(settings).unwrap();
    assert_eq!(events_of(&model).await.unwrap_err().kind, crate::BackendErrorKind::Unavailable);
    assert!(served.join().unwrap().starts_with("CONNECT model.example:443 HTTP/1.1\r\n"));
}
