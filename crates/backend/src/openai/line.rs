//! One connection to a server, and the pool of those that nobody uses.
//!
//! A connection is polled by whoever reads its answer, in the same task: a body that comes in a hundred chunks costs
//! a hundred polls, not a hundred hand-overs between tasks. One that is idle is polled by nobody; whether it still
//! lives is found out when it is wanted again.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body::{Body, Frame};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tower_service::Service;

type Io = MaybeHttpsStream<TokioIo<TcpStream>>;
type Connection = http1::Connection<Io, Full<Bytes>>;

/// A connection that nobody uses for so long is not used again.
const IDLE: Duration = Duration::from_secs(60);
const MOST_IDLE: usize = 1_024;

/// What went wrong, for the log: it names the address.
pub(super) type LineError = Box<dyn std::error::Error + Send + Sync>;

pub(super) struct Line {
    sender: SendRequest<Full<Bytes>>,
    connection: Pin<Box<Connection>>,
    ended: bool,
}

/// All connections to one server.
pub(super) struct Lines {
    connector: HttpsConnector<HttpConnector>,
    server: Uri,
    idle: Mutex<Vec<(Line, Instant)>>,
}

/// The body of an answer with the connection that it arrives on.
pub(super) struct LineBody {
    body: Incoming,
    /// Given back when the body is read to its end.
    line: Option<Line>,
    lines: Arc<Lines>,
}

impl Lines {
    pub(super) fn new(connector: HttpsConnector<HttpConnector>, server: Uri) -> Lines {
        Lines { connector, server, idle: Mutex::default() }
    }

    /// Sends a request. One that an idle connection did not take is sent again on a new one; one that it took is not.
    pub(super) async fn send(
        self: &Arc<Lines>,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<LineBody>, LineError> {
        while let Some(mut line) = self.take_idle() {
            match line.send(request).await {
                Ok(response) => return Ok(self.answering(line, response)),
                Err(Unsent::Back(unsent)) => request = *unsent,
                Err(Unsent::Lost(error)) => return Err(error),
            }
        }
        let mut line = self.connect().await?;
        match line.send(request).await {
            Ok(response) => Ok(self.answering(line, response)),
            Err(Unsent::Back(_)) => Err("the server closed the connection at once".into()),
            Err(Unsent::Lost(error)) => Err(error),
        }
    }

    async fn connect(&self) -> Result<Line, LineError> {
        let io = self.connector.clone().call(self.server.clone()).await?;
        let (sender, connection) = http1::handshake(io).await?;
        Ok(Line { sender, connection: Box::pin(connection), ended: false })
    }

    fn answering(self: &Arc<Lines>, line: Line, response: Response<Incoming>) -> Response<LineBody> {
        response.map(|body| LineBody { body, line: Some(line), lines: self.clone() })
    }

    fn take_idle(&self) -> Option<Line> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let (line, since) = idle.pop()?;
        if since.elapsed() < IDLE {
            return Some(line);
        }
        // The last is the youngest.
        idle.clear();
        None
    }

    fn give_back(&self, line: Line) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push((line, Instant::now()));
        }
    }
}

enum Unsent {
    /// The connection was closed before it took the request.
    Back(Box<Request<Full<Bytes>>>),
    Lost(LineError),
}

impl Line {
    async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Unsent> {
        // What the server did while nobody looked.
        std::future::poll_fn(|cx| {
            self.drive(cx);
            Poll::Ready(())
        })
        .await;
        if self.ended || self.sender.is_closed() {
            return Err(Unsent::Back(Box::new(request)));
        }
        let Line { sender, connection, ended } = self;
        let mut sent = std::pin::pin!(sender.try_send_request(request));
        let answer = std::future::poll_fn(|cx| {
            if !*ended && connection.as_mut().poll(cx).is_ready() {
                *ended = true;
            }
            sent.as_mut().poll(cx)
        })
        .await;
        answer.map_err(|mut failed| match failed.take_message() {
            Some(request) => Unsent::Back(Box::new(request)),
            None => Unsent::Lost(failed.into_error().into()),
        })
    }

    fn drive(&mut self, cx: &mut Context<'_>) {
        if !self.ended && self.connection.as_mut().poll(cx).is_ready() {
            self.ended = true;
        }
    }
}

impl Body for LineBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let mut frame = Pin::new(&mut self.body).poll_frame(cx);
        if frame.is_pending()
            && let Some(line) = &mut self.line
        {
            line.drive(cx);
            frame = Pin::new(&mut self.body).poll_frame(cx);
        }
        if let Poll::Ready(None) = frame
            && let Some(mut line) = self.line.take()
        {
            // The connection notices the end of the body when it is polled once more.
            line.drive(cx);
            if !line.ended && line.sender.is_ready() {
                self.lines.give_back(line);
            }
        }
        frame
    }
}
