//! Standard input and output for a client: asynchronous where they are pipes or sockets, which saves two thread
//! switches per message. Anything else, such as a terminal or a file, is read by a thread.
//!
//! Asynchronous I/O sets the non-blocking flag, which affects every process that shares the file description. For a
//! pipe or a socket that is this process alone; a terminal is shared with the shell and left unchanged.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;

use rustix::fs::{FileType, fstat};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Stream of the client's messages.
pub(super) type InputStream = Box<dyn AsyncRead + Send + Unpin>;
/// Stream of the answers.
pub(super) type OutputStream = Box<dyn AsyncWrite + Send + Unpin>;

/// Opens standard input and output. Must be called inside a runtime, once.
pub fn open_standard_io() -> (InputStream, OutputStream) {
    let input = ready_input().unwrap_or_else(|_| Box::new(tokio::io::stdin()));
    let output = ready_output().unwrap_or_else(|_| Box::new(tokio::io::stdout()));
    (input, output)
}

fn ready_input() -> io::Result<InputStream> {
    let end = io::stdin().as_fd().try_clone_to_owned()?;
    let kind = kind(&end)?;
    if kind == FileType::Fifo {
        return Ok(Box::new(pipe::Receiver::from_owned_fd(end)?));
    }
    Ok(Box::new(socket(end, kind)?))
}

fn ready_output() -> io::Result<OutputStream> {
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
