//! Serving a host over stdin and stdout.

use candor_server::Engine;
use candor_server::protocol::Principal;

use super::stdin;
use crate::Result;

pub(super) async fn serve(engine: &Engine) -> Result<()> {
    let output = take_stdout()?;
    let stopping = engine.clone();
    // Told to stop, the server takes nothing more and lets running requests finish for a while.
    tokio::spawn(async move {
        super::http::stop_signal().await;
        stopping.stop();
    });
    Ok(candor_server::transport::stdio::serve(engine, os_user(), stdin::open(), output).await?)
}

/// Takes stdout for the protocol alone: whatever else the program prints goes to stderr from here on.
#[cfg(unix)]
fn take_stdout() -> Result<tokio::fs::File> {
    let protocol = rustix::io::dup(rustix::stdio::stdout()).map_err(std::io::Error::from)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr()).map_err(std::io::Error::from)?;
    Ok(tokio::fs::File::from_std(std::fs::File::from(protocol)))
}

#[cfg(not(unix))]
fn take_stdout() -> Result<tokio::io::Stdout> {
    Ok(tokio::io::stdout())
}

/// Over stdio the caller is whoever started the program.
#[cfg(unix)]
fn os_user() -> Principal {
    Principal::new(format!("uid:{}", rustix::process::geteuid().as_raw()))
}

#[cfg(not(unix))]
fn os_user() -> Principal {
    Principal::new(format!("user:{}", std::env::var("USERNAME").unwrap_or_default()))
}
