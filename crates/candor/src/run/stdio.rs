//! Serves a host over stdin and stdout.

use std::io::{self, IsTerminal as _, Write};

use candor_server::RunningServer;
#[cfg(unix)]
use candor_server::auth::UID;
#[cfg(not(unix))]
use candor_server::auth::USER;
use candor_server::protocol::Principal;
use candor_server::transport::stdio;
use tokio::io::{AsyncReadExt, DuplexStream, duplex};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::stdin;
use crate::Result;

/// Size in bytes of the buffer for the thread that writes to stdout.
const PIPE: usize = 64 * 1024;

pub(super) async fn serve(
    engine: &RunningServer,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let stdout = take_stdout()?;
    let stopping = engine.clone();
    // After a stop signal, the server accepts no more requests, and running ones get some time to finish.
    tokio::spawn(async move {
        stop.await;
        stopping.stop();
    });
    if io::stdin().is_terminal() {
        // A host connects a pipe, so a user has started this program in a terminal.
        eprintln!(
            "messages of MCP are read from stdin, as a host sends them; without --stdio this serves HTTP. Press Ctrl-C to stop"
        );
    }
    let input = stdin::open();
    #[cfg(unix)]
    if let Some(pipe) = as_own_pipe(&stdout) {
        return Ok(stdio::serve(engine, os_user(), input, pipe).await?);
    }
    let (output, written) = write_aside(stdout);
    stdio::serve(engine, os_user(), input, output).await?;
    // A host that does not read must not keep the process alive.
    let _ = tokio::time::timeout(engine.limits().drain, written).await;
    Ok(())
}

/// Returns stdout as a pipe of the runtime, which then never blocks. Returns `None` if stderr is the same pipe: an `eprintln!`
/// that cannot be written at once would fail.
#[cfg(unix)]
fn as_own_pipe(stdout: &std::fs::File) -> Option<tokio::net::unix::pipe::Sender> {
    use std::os::unix::fs::MetadataExt;
    let stderr = std::fs::File::from(rustix::io::dup(rustix::stdio::stderr()).ok()?);
    let (out, err) = (stdout.metadata().ok()?, stderr.metadata().ok()?);
    if (out.dev(), out.ino()) == (err.dev(), err.ino()) {
        return None;
    }
    tokio::net::unix::pipe::Sender::from_file(stdout.try_clone().ok()?).ok()
}

/// Writes on a separate thread. tokio would write on a thread that the runtime waits for when it ends, so the process could
/// not end while the host does not read. The receiver gets a message when the last byte is written.
fn write_aside(mut output: impl Write + Send + 'static) -> (DuplexStream, oneshot::Receiver<()>) {
    let (input, mut pipe) = duplex(PIPE);
    let (done, written) = oneshot::channel();
    let runtime = Handle::current();
    std::thread::spawn(move || {
        let mut bytes = vec![0; PIPE];
        while let Ok(read @ 1..) = runtime.block_on(pipe.read(&mut bytes)) {
            if output.write_all(&bytes[..read]).and_then(|()| output.flush()).is_err() {
                break;
            }
        }
        let _ = done.send(());
    });
    (input, written)
}

/// Reserves stdout for the protocol: anything else that the program prints goes to stderr from now on.
#[cfg(unix)]
fn take_stdout() -> Result<std::fs::File> {
    let protocol = rustix::io::dup(rustix::stdio::stdout()).map_err(io::Error::from)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr()).map_err(io::Error::from)?;
    Ok(std::fs::File::from(protocol))
}

#[cfg(not(unix))]
fn take_stdout() -> Result<io::Stdout> {
    Ok(io::stdout())
}

/// Returns the principal over stdio: the user that runs the program.
#[cfg(unix)]
fn os_user() -> Principal {
    Principal::new(format!("{UID}{}", rustix::process::geteuid().as_raw()))
}

#[cfg(not(unix))]
fn os_user() -> Principal {
    Principal::new(format!("{USER}{}", std::env::var("USERNAME").unwrap_or_default()))
}
