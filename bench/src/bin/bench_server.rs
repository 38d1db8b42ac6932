//! `bench-server MODE [TOOLS]`: one of the servers that are compared, on a free port or on stdio.

#![allow(clippy::print_stdout, reason = "whoever measures reads the port there")]

use std::error::Error;
use std::net::Ipv4Addr;
use std::process::ExitCode;

use ::candor::AskLevel;
use candor_bench::LISTENING;
use candor_bench::peers::{bare_axum, bare_stdio, bytes, candor, rmcp};
use tokio::net::TcpListener;

const USAGE: &str = "\
Usage: bench-server MODE [TOOLS]

HTTP, at /mcp of the port that is printed:
  candor, candor-ledger, candor-gate, rmcp, rmcp-session, bare-axum, bytes
stdio:
  candor-stdio, bare-stdio

TOOLS, 10 if not given, is how many candor registers, or `bytes` lists.";

/// What a usual server has.
const USUAL_TOOLS: usize = 10;

/// One thread: one core is what is measured.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (mode, tools) = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [mode] => (mode, Ok(USUAL_TOOLS)),
        [mode, tools] => (mode, tools.parse()),
        _ => ("", Ok(0)),
    };
    let outcome = match tools {
        Ok(tools) => serve(mode, tools).await,
        Err(_) => Err(USAGE.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(mode: &str, tools: usize) -> Result<(), Box<dyn Error>> {
    match mode {
        "bare-stdio" => bare_stdio::serve().await?,
        "candor-stdio" => candor::serve_stdio(tools).await?,
        "bare-axum" => bare_axum::serve(listen().await?).await?,
        "bytes" => bytes::serve(listen().await?, tools).await?,
        "candor" => candor::serve(listen().await?, tools).await?,
        "candor-token" => candor::serve_with_token(listen().await?, tools).await?,
        "candor-ledger" => {
            candor::serve_with_ledger(listen().await?, tools, AskLevel::Never).await?;
        }
        "candor-gate" => {
            candor::serve_with_ledger(listen().await?, tools, AskLevel::Destructive).await?;
        }
        "rmcp" => rmcp::serve(listen().await?, rmcp::Answers::Json).await?,
        "rmcp-session" => rmcp::serve(listen().await?, rmcp::Answers::Events).await?,
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

/// The port can be reached from here on; who comes early waits in the queue of the listener.
async fn listen() -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("{LISTENING}{}", listener.local_addr()?.port());
    Ok(listener)
}
