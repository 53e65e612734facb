//! Standard input and output as a client holds them: waited for by the runtime itself where they are pipes or sockets,
//! which saves two changes of thread a message. Anything else, such as a terminal or a file, is read by a thread.
//!
//! Making them ready for that changes how everybody sees this end who shares it, which with a pipe or a socket is this
//! process alone; a terminal is shared with the shell, and left as it is.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;

use rustix::fs::{FileType, fstat};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Where a client's messages come from.
pub(super) type Input = Box<dyn AsyncRead + Send + Unpin>;
/// Where the answers go.
pub(super) type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Standard input and output. To be called within a runtime, once.
pub fn standard() -> (Input, Output) {
    let input = ready_input().unwrap_or_else(|_| Box::new(tokio::io::stdin()));
    let output = ready_output().unwrap_or_else(|_| Box::new(tokio::io::stdout()));
    (input, output)
}

fn ready_input() -> io::Result<Input> {
    let end = io::stdin().as_fd().try_clone_to_owned()?;
    let kind = kind(&end)?;
    if kind == FileType::Fifo {
        return Ok(Box::new(pipe::Receiver::from_owned_fd(end)?));
    }
    Ok(Box::new(socket(end, kind)?))
}

fn ready_output() -> io::Result<Output> {
    let end = io::stdout().as_fd().try_clone_to_owned()?;
    let kind = kind(&end)?;
    if kind == FileType::Fifo {
        return Ok(Box::new(pipe::Sender::from_owned_fd(end)?));
    }
    Ok(Box::new(socket(end, kind)?))
}

fn kind(end: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(end)?.st_mode))
}

fn socket(end: OwnedFd, kind: FileType) -> io::Result<UnixStream> {
    if kind != FileType::Socket {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let stream = StdStream::from(end);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}
