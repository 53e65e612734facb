//! The bytes of a connection, sealed or not.
//!
//! What is read lies on the stack of whoever reads it and is gone afterwards: streams live long, there are many, and a
//! buffer that waits for the next delta of each would be most of what a stream takes.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

type Connected = MaybeHttpsStream<TokioIo<TcpStream>>;

/// How much is read at once. What a server has said before anybody listened is seldom more. In tests it is, often.
pub(super) const ROOM: usize = if cfg!(test) { 2 * 1024 } else { 32 * 1024 };

pub(super) enum Socket {
    Plain(TcpStream),
    /// Apart, since it is large.
    Sealed(Box<TokioIo<Connected>>),
}

impl Socket {
    pub(super) fn new(connected: Connected) -> Socket {
        match connected {
            MaybeHttpsStream::Http(plain) => Socket::Plain(plain.into_inner()),
            sealed @ MaybeHttpsStream::Https(_) => Socket::Sealed(Box::new(TokioIo::new(sealed))),
        }
    }

    /// Reads what is there; nothing at the end of the connection.
    pub(super) fn poll_read<T>(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Poll<io::Result<T>> {
        let mut space = [const { MaybeUninit::uninit() }; ROOM];
        let mut buffer = ReadBuf::uninit(&mut space);
        ready!(match self {
            Socket::Plain(socket) => Pin::new(socket).poll_read(cx, &mut buffer),
            Socket::Sealed(socket) => Pin::new(&mut **socket).poll_read(cx, &mut buffer),
        })?;
        Poll::Ready(Ok(take(buffer.filled())))
    }

    /// Whether nothing has come and nobody has hung up. The system is asked: the runtime learns of it only later.
    pub(super) fn is_silent(&self) -> bool {
        let tcp = match self {
            Socket::Plain(tcp) => tcp,
            Socket::Sealed(sealed) => match sealed.inner() {
                MaybeHttpsStream::Http(plain) => plain.inner(),
                MaybeHttpsStream::Https(tls) => {
                    let (below, session) = tls.inner().get_ref();
                    // What was opened and not taken, or the word that no more follows, has left the system already.
                    if !session.wants_read() {
                        return false;
                    }
                    below.inner().inner()
                }
            },
        };
        recv(tcp, &mut [0_u8], RecvFlags::PEEK | RecvFlags::DONTWAIT)
            .is_err_and(|error| error == Errno::AGAIN)
    }

    /// Writes all of it. What was written is taken off even where more has to be waited for.
    pub(super) fn poll_write_all(
        &mut self,
        cx: &mut Context<'_>,
        unsent: &mut bytes::buf::Chain<Bytes, Bytes>,
    ) -> Poll<io::Result<()>> {
        while unsent.has_remaining() {
            let mut slices = [IoSlice::new(&[]); 2];
            let count = unsent.chunks_vectored(&mut slices);
            let slices = &slices[..count];
            let written = ready!(match self {
                Socket::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, slices),
                Socket::Sealed(socket) => Pin::new(&mut **socket).poll_write_vectored(cx, slices),
            })?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            unsent.advance(written);
        }
        match self {
            Socket::Plain(_) => Poll::Ready(Ok(())),
            Socket::Sealed(socket) => Pin::new(&mut **socket).poll_flush(cx),
        }
    }
}
