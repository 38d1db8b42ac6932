//! Reads stdin without blocking the end of the program.
//!
//! `tokio::io::stdin` reads on a thread that the runtime waits for, so a program whose stdin stays open could not stop after a
//! signal. Here the runtime itself reads a pipe, and a thread that the runtime does not wait for reads anything else.

use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

const CHUNK: usize = 64 * 1024;

/// Opens stdin in the best way that it allows.
pub(super) fn open() -> Box<dyn AsyncRead + Send + Unpin> {
    #[cfg(unix)]
    if let Ok(pipe) = as_pipe() {
        return Box::new(pipe);
    }
    Box::new(Threaded::start())
}

/// Returns stdin as a pipe of the runtime, or an error if it is not a pipe.
#[cfg(unix)]
fn as_pipe() -> io::Result<tokio::net::unix::pipe::Receiver> {
    let stdin = rustix::io::dup(rustix::stdio::stdin())?;
    tokio::net::unix::pipe::Receiver::from_owned_fd(stdin)
}

/// Stdin, read on a separate thread.
struct Threaded {
    chunks: mpsc::Receiver<io::Result<Vec<u8>>>,
    /// The last chunk, of which `taken` bytes were already returned.
    chunk: Vec<u8>,
    taken: usize,
}

impl Threaded {
    fn start() -> Self {
        let (sender, chunks) = mpsc::channel(4);
        std::thread::spawn(move || {
            let mut stdin = io::stdin().lock();
            loop {
                let mut chunk = vec![0; CHUNK];
                let read = stdin.read(&mut chunk).map(|n| {
                    chunk.truncate(n);
                    chunk
                });
                let last = read.as_ref().map_or(true, Vec::is_empty);
                if sender.blocking_send(read).is_err() || last {
                    return;
                }
            }
        });
        Self { chunks, chunk: Vec::new(), taken: 0 }
    }
}

impl AsyncRead for Threaded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.taken == self.chunk.len() {
            match self.chunks.poll_recv(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(chunk))) => (self.chunk, self.taken) = (chunk, 0),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                Poll::Ready(None) => return Poll::Ready(Ok(())),
            }
        }
        let n = buf.remaining().min(self.chunk.len() - self.taken);
        buf.put_slice(&self.chunk[self.taken..self.taken + n]);
        self.taken += n;
        Poll::Ready(Ok(()))
    }
}
