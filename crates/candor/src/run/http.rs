//! Serves HTTP.

use std::io::IsTerminal as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::routing::get;
use candor_console::Console;
use candor_server::RunningServer;
use candor_server::auth::BearerTokens;
use candor_server::transport::http::{AllowedHosts, Http, PublicUrl, endpoint};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::args::{self, ServeArgs};
use super::{Serving, misplaced, value};
use crate::{Error, Result};

/// The port that a server tries first if no flag names an address.
const DEFAULT_PORT: u16 = 7332;

/// How many ports a server tries, from the default one on.
const PORTS_TRIED: u16 = 100;

/// Serves until the stop signal. `telling` runs the message about a slow shutdown, until the set is dropped.
pub(super) async fn serve(
    engine: RunningServer,
    args: &ServeArgs,
    mut serving: Serving,
    telling: &mut JoinSet<()>,
) -> Result<()> {
    let mut http = Http::default();
    http.replica.clone_from(&args.replica);
    http.authenticator = engine.authenticator().cloned();
    if let (Some(path), true) = (&args.tokens, http.authenticator.is_some()) {
        return Err(own_authenticator(path));
    }
    if let Some(path) = &args.tokens {
        let tokens = BearerTokens::from_lines(&args::read(path, "--tokens")?)
            .map_err(|e| args::in_file(path, e))?;
        if tokens.is_empty() {
            return Err(args::in_file(path, "has no tokens; make one with `candor token NAME`"));
        }
        http.authenticator = Some(Arc::new(tokens));
    }
    let beyond = args.http.filter(|address| !address.ip().is_loopback());
    if let (Some(address), None) = (beyond, &http.authenticator) {
        return Err(Error::usage(format!(
            "--http {address} exposes this server to other machines. Add --tokens FILE, or listen on 127.0.0.1."
        )));
    }
    let proxied = args.public_url.as_ref().filter(|url| !is_loopback(url));
    if let (Some(url), None) = (proxied, &http.authenticator) {
        return Err(Error::usage(format!(
            "--public-url {url} exposes this server to anyone who reaches the proxy. Add --tokens FILE."
        )));
    }
    let listener = bind(args.http).await?;
    let address = listener.local_addr()?;
    http.hosts = match &args.public_url {
        Some(url) => AllowedHosts::Public(url.clone()),
        // The names of this machine are unknown here; the tokens keep other clients out.
        None if beyond.is_some() => AllowedHosts::Any,
        None => AllowedHosts::Loopback,
    };

    let url =
        args.public_url.as_ref().map_or_else(|| format!("http://{address}"), ToString::to_string);
    // Handle signals before the address is printed.
    let stop = serving.stop()?;
    for line in &serving.about {
        eprintln!("{line}");
    }
    let console =
        (!args.no_console).then(|| Console::of(engine.clone()).allow_execute().reached(&http));
    if let Some(console) = &console {
        // A reader of the launch token can decide about calls of others, and stderr may go to a journal if it is not a terminal.
        // With operator tokens, the launch token is not needed.
        if http.authenticator.is_some() && !std::io::stderr().is_terminal() {
            eprintln!(
                "  console  {url}/   (log in with an operator's token{})",
                if args.tokens.is_some() { ": candor token NAME --operator makes one" } else { "" }
            );
        } else {
            eprintln!("  console  {url}/#token={}   (open this)", console.launch_token());
        }
    }
    eprintln!("  mcp      {url}/mcp");
    if let Some(store) = engine.store() {
        eprintln!("  ledger   {}", store.describe());
    }
    for line in serving.tell(address) {
        eprintln!("{line}");
    }
    eprintln!("listening on http://{address}");
    misplaced::watch_stdin();

    let prefix = args.public_url.as_ref().map_or("", PublicUrl::prefix);
    let app = app(&engine, http, console, prefix);
    let limits = engine.limits().clone();
    let drain = limits.drain;
    let stopped = async {
        stop.await;
        engine.stop();
        telling.spawn(tell_of_drain(drain));
    };
    Ok(candor_server::transport::http::serve(listener, app, &limits, stopped).await?)
}

/// Returns the error for `--tokens` on a server with its own authenticator: one of them would silently not count.
fn own_authenticator(path: &Path) -> Error {
    let place = value::variable("--tokens").map_or_else(
        || format!("--tokens {}", path.display()),
        |variable| format!("{variable}={}", path.display()),
    );
    Error::usage(format!(
        "{place} cannot be used: this server authenticates callers itself. Remove it"
    ))
}

/// Returns true if the URL leads to this machine, so that no proxy exposes the server to others through it.
fn is_loopback(url: &PublicUrl) -> bool {
    let uri = url.to_string().parse::<Uri>().ok();
    uri.as_ref().and_then(Uri::host).is_some_and(|host| {
        let address = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    })
}

/// Tells an operator after a second why the server has not ended yet.
async fn tell_of_drain(drain: Duration) {
    tokio::time::sleep(Duration::from_secs(1)).await;
    eprintln!("stopping: what still runs has {} s to finish (--drain)", drain.as_secs_f32());
}

/// Returns all routes, at the root and, for proxies that keep the public path, under that path.
fn app(engine: &RunningServer, http: Http, console: Option<Console>, prefix: &str) -> Router {
    let ready = engine.clone();
    let mut routes = Router::new()
        .route("/mcp", endpoint(engine.clone(), http))
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(move || async move { readiness(&ready) }));
    if let Some(console) = console {
        routes = routes.merge(console.router());
    }
    // Not `nest`, which would not match the prefix with a slash after it.
    if prefix.is_empty() { routes } else { routes.clone().nest_service(prefix, routes) }
}

/// Returns 503 while the server is stopping or its ledger is unavailable: no new requests should arrive.
fn readiness(engine: &RunningServer) -> (StatusCode, &'static str) {
    if engine.is_stopping() {
        (StatusCode::SERVICE_UNAVAILABLE, "stopping")
    } else if engine.store().is_some_and(|store| store.check().is_err()) {
        (StatusCode::SERVICE_UNAVAILABLE, "ledger unavailable")
    } else {
        (StatusCode::OK, "ready")
    }
}

pub(super) async fn bind(address: Option<SocketAddr>) -> Result<TcpListener> {
    if let Some(address) = address {
        return TcpListener::bind(address).await.map_err(|e| match e.kind() {
            std::io::ErrorKind::AddrInUse => Error::new(format!(
                "{address} is taken by another program: choose another port, or 0 for any free one"
            )),
            _ => Error::new(format!("cannot listen on {address}: {e}")),
        });
    }
    for port in DEFAULT_PORT..DEFAULT_PORT + PORTS_TRIED {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Ok(listener) => return Ok(listener),
            Err(e) if e.kind() == std::io::ErrorKind::AddrInUse => {}
            Err(e) => {
                return Err(Error::new(format!("cannot listen on 127.0.0.1:{port}: {e}")));
            }
        }
    }
    let last = DEFAULT_PORT + PORTS_TRIED - 1;
    Err(Error::new(format!(
        "ports {DEFAULT_PORT} to {last} are all taken: choose one with --http 127.0.0.1:PORT"
    )))
}

/// Returns a future that ends on a stop signal. Signals count from this call on, not only from the first poll.
///
/// # Errors
/// Returns an error if the process cannot listen for signals.
pub fn stop_signal() -> std::io::Result<impl Future<Output = ()> + Send> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        Ok(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
